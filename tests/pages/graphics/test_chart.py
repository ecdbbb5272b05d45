"""Are a chart's title, subtitle and source inside the picture, in lines that its width holds, and is it saved with them?"""

import re

import pandas as pd
import vl_convert

from engine import version
from pages.graphics import chart, pictures
from pages.graphics.charts import FIT, layer, nominal, quantity

SPEC = {
    **FIT,
    "height": 60,
    "layer": [layer({"type": "bar"}, x=quantity("amount", axis={"title": "Time [ms]"}), y=nominal("name"))],
}
ROWS = pd.DataFrame({"name": ["cxl", "dram"], "amount": [1.0, 2.0]})
TITLE = "CXL's step is 4.3 times shorter than that of persistent memory beside the host, with 77 % less energy a batch"


def words(svg):
    return [re.sub("<[^>]+>", "", found) for found in re.findall(r"<text[^>]*>(.*?)</text>|<tspan", svg)]


def test_a_saved_picture_holds_its_words():
    svg = pictures.svg(chart.titled(SPEC, TITLE, "Step time by system [ms]", "Kwon et al. 2023"), ROWS)
    said = " ".join(words(svg)).replace("&#39;", "'")
    assert "4.3 times shorter" in said and "Step time by system [ms]" in said
    assert f"Kwon et al. 2023; Emberpool, model {version.MODEL}" in said


def test_a_title_is_broken_into_the_lines_that_its_width_holds():
    spec = chart.titled(SPEC, TITLE, "Step time")
    count = {}
    for width in (250, 420, 1200):
        svg = vl_convert.vegalite_to_svg({**spec, "width": width, "data": {"values": ROWS.to_dict("records")}})
        count[width] = next(len(re.findall("<tspan|<text", one)) for one in re.findall(r"role-title-text.*?</g>", svg, re.DOTALL))
        box = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
        assert box < width + 90, "the title makes the picture wider than its plot"
    assert count[250] > count[420] > count[1200]


def test_quotes_and_backslashes_of_a_title_are_shown_as_they_are():
    svg = pictures.svg(chart.titled(SPEC, r"a\b 'c' <d>"), ROWS)
    assert r"a\b 'c' &lt;d&gt;" in svg
