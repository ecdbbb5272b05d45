"""Trust: does the page say beside each knob and number where it comes from, and what it hangs on?"""

import csv
import io

import pytest
from streamlit.testing.v1 import AppTest

from engine.parts import constants
from engine.presets import preset
from engine.scenario import with_values
from pages.parts import constants_panel, downloads
from tests.test_pages import ROOT


@pytest.fixture
def opened(monkeypatch, tmp_path):
    """Return `open(**knobs)`, which runs the app on a link, with the real engine and a store of its own."""
    monkeypatch.chdir(tmp_path)

    def run(**knobs):
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        app.query_params.update(knobs)
        app.run()
        assert not app.exception
        return app

    return run


def beside_knobs(app):
    """Return what the sidebar says about constants, one text a device."""
    return [one.value.replace("\\", "") for one in app.sidebar.markdown if "constants in use" in one.value]


def test_beside_the_knobs_stand_the_constants_in_use_with_their_sources(opened):
    told = "\n".join(beside_knobs(opened(preset="trainingcxl-rm1")))
    for one in constants(preset("trainingcxl-rm1").scenario).values():
        colour = {"unsourced": ":orange-badge[unsourced]", "calibrated": ":violet-badge[calibrated]"}.get(one.confidence)
        assert f"{one.name} **{one.value:g} {one.unit}**" in told and f"{colour or one.confidence}: {one.source}" in told


def test_a_device_that_is_not_in_use_has_no_constants_beside_its_knobs(opened):
    titles = [text.partition(":")[0] for text in beside_knobs(opened(preset="tiny", system="pmem"))]
    assert titles == ["**Persistent memory", "**GPU", "**Host", "**PCIe link"]


def test_a_constant_assumed_otherwise_stands_there_with_its_new_value(opened):
    app = opened(**{"preset": "tiny", "machine.assume": "pmem.read-rate=5.25"})
    assert "read rate **5.25 GB/s**" in "".join(beside_knobs(app))
    assert constants(with_values(preset("tiny").scenario, {}))["pmem.read-rate"].value == 6.6


def test_the_constants_csv_has_value_range_confidence_and_source_of_each_to_the_last_digit():
    scenario = with_values(preset("trainingcxl-rm4").scenario, {"machine.assume": (("pmem.read-rate", 0.1 + 0.2),)})
    rows = list(csv.DictReader(io.StringIO(downloads.frame_text(constants_panel.table(scenario)))))
    assert [row["Constant"] for row in rows] == list(constants(scenario))
    for row, one in zip(rows, constants(scenario).values(), strict=True):
        assert (float(row["Value"]), float(row["Low"]), float(row["High"])) == (one.value, one.low, one.high)
        assert (row["Unit"], row["Confidence"], row["Source"]) == (one.unit, one.confidence, one.source)


def told(app):
    return [caption.value.replace("\\", "") for caption in app.sidebar.caption]


def test_a_main_knob_without_effect_says_so_and_one_with_effect_does_not(opened):
    assert "No effect here: system pmem uses no CXL link." in told(opened(preset="tiny", system="pmem"))
    assert not any("No effect" in text for text in told(opened(preset="trainingcxl-rm1", system="cxl")))


def test_the_knobs_of_a_group_say_it_once_the_group_is_open(opened):
    app = opened(preset="tiny", system="cxl")
    assert not any("uses no SSD" in text for text in told(app))
    app.session_state["group machine"] = True
    assert "No effect here: system cxl uses no SSD." in told(app.run()) and not app.exception
