"""Are a chart's title, subtitle and source inside the picture, in lines that its width holds, and is it saved with them?"""

import re

import pandas as pd
import vl_convert

from engine import version
from pages.graphics import chart, pictures
from pages.graphics.charts import FIT_WIDTH, layer, nominal, quantity
from pages.systems import stack_charts

SPEC = {
    **FIT_WIDTH,
    "height": 60,
    "layer": [layer({"type": "bar"}, x=quantity("amount", axis={"title": "Time [ms]"}), y=nominal("name"))],
}
ROWS = pd.DataFrame({"name": ["cxl", "dram"], "amount": [1.0, 2.0]})
TITLE = "CXL's step is 4.3 times shorter than that of persistent memory beside the host, with 77 % less energy a batch"


def words(svg):
    return [re.sub("<[^>]+>", "", found) for found in re.findall(r"<text[^>]*>(.*?)</text>|<tspan", svg)]


def test_a_saved_picture_holds_its_words():
    svg = pictures.svg(chart.add_titles(SPEC, TITLE, "Step time by system [ms]", "Kwon et al. 2023"), ROWS)
    said = " ".join(words(svg)).replace("&#39;", "'")
    assert "4.3 times shorter" in said and "Step time by system [ms]" in said
    assert f"Kwon et al. 2023; Emberpool, model {version.MODEL}" in said


def test_a_title_is_broken_into_the_lines_that_its_width_holds():
    spec = chart.add_titles(SPEC, TITLE, "Step time")
    count = {}
    for width in (250, 420, 1200):
        svg = vl_convert.vegalite_to_svg({**spec, "width": width, "data": {"values": ROWS.to_dict("records")}})
        count[width] = next(len(re.findall("<tspan|<text", one)) for one in re.findall(r"role-title-text.*?</g>", svg, re.DOTALL))
        box = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
        assert box < width + 90, "the title makes the picture wider than its plot"
    assert count[250] > count[420] > count[1200]


def test_quotes_and_backslashes_of_a_title_are_shown_as_they_are():
    svg = pictures.svg(chart.add_titles(SPEC, r"a\b 'c' <d>"), ROWS)
    assert r"a\b 'c' &lt;d&gt;" in svg


def domains(part):
    """Return the domain of each colour scale, by field."""
    if isinstance(part, list):
        return {field: held for one in part for field, held in domains(one).items()}
    if not isinstance(part, dict):
        return {}
    own = {part["field"]: part["scale"]["domain"]} if isinstance(part.get("scale"), dict) and "domain" in part["scale"] else {}
    return own | domains([*part.values()])


def test_systems_have_their_titles_and_devices_of_the_same_name_keep_theirs_and_their_colours():
    devices = ("gpu", "cxl", "dram")
    rows = pd.DataFrame([{"system": system, "part": part, "amount": 1.0} for system in ("cxl", "all-hbm") for part in devices])
    frame, spec = chart.with_system_titles(rows, stack_charts.energy(devices))
    assert set(frame["system"]) == {"CXL", "All in HBM"} and set(frame["part"]) == set(devices)
    assert set(devices) <= set(domains(spec)["part"]), "a part outside the domain is drawn in no colour"
    assert "All in HBM" in str(spec["encoding"]["y"]["sort"]) and "all-hbm" not in str(spec["encoding"]["y"]["sort"])
