"""Trust: does the page say beside each knob and number where it comes from, and what it hangs on?"""

import csv
import io

import pytest
from streamlit.testing.v1 import AppTest

from engine.analysis.uncertainty import bands, tornado
from engine.analysis.verdict.decide import verdicts
from engine.core.figures import exact, figure
from engine.errors import CannotRun
from engine.hardware.software import every_software
from engine.results.result import Result
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import GROUPS, with_values
from engine.systems.system import constants
from engine.validation.chance import error_bar
from engine.validation.validate import Gap
from pages.design_page import constants_panel, questions, tiles
from pages.evidence_page import gap_panel
from pages.full_run import training_panel
from pages.knob_cards import strips
from pages.shell import address
from pages.ui import downloads, session
from pages.ui.numbers import result_text
from tests import apps


def opened(page="design", **knobs):
    """Return the app on a link, with the real engine."""
    app = apps.opened(page, knobs)
    assert not app.exception
    return app


def beside_knobs(app):
    """Return what knobs say about constants, one text a device; its groups are opened for that."""
    for group in GROUPS:
        app.session_state[f"group {group}"] = app.session_state[f"idle {group}"] = True
    app.run()
    return [one.value.replace("\\", "") for one in app.markdown if "constants in use" in one.value]


def test_beside_the_knobs_stand_the_constants_in_use_with_their_sources():
    told = "\n".join(beside_knobs(opened("runs", **{"preset": "trainingcxl-rm1", "machine.assume": "pmem.read-rate=5.25"})))
    assumed = with_values(preset("trainingcxl-rm1").scenario, {"machine.assume": (("pmem.read-rate", 5.25),)})
    for one in constants(assumed).values():
        colour = {"unsourced": ":orange-badge[unsourced]", "calibrated": ":violet-badge[calibrated]"}.get(one.confidence)
        assert f"{one.name} **{exact(one.value, one.unit)}**" in told and f"{colour or one.confidence}: {one.source}" in told


def test_the_constants_csv_has_value_range_confidence_and_source_of_each_to_the_last_digit():
    scenario = with_values(preset("trainingcxl-rm4").scenario, {"machine.assume": (("pmem.read-rate", 0.1 + 0.2),)})
    rows = list(csv.DictReader(io.StringIO(downloads.frame_text(constants_panel.table(scenario)))))
    assert [row["Constant"] for row in rows] == list(constants(scenario))
    for row, one in zip(rows, constants(scenario).values(), strict=True):
        assert (float(row["Value"]), float(row["Low"]), float(row["High"])) == (one.value, one.low, one.high)
        assert (row["Unit"], row["Confidence"], row["Source"]) == (one.unit, one.confidence, one.source)


def told(app):
    return [caption.value.replace("\\", "") for caption in app.caption]


def test_a_main_knob_without_effect_says_so_and_one_with_effect_does_not():
    app = opened(preset="tiny", system="pmem")
    assert not any("uses no CXL link" in text for text in told(app))
    app.session_state[strips.FLAT_SECTION] = True
    assert "No effect here: PMEM uses no CXL link." in told(app.run())
    assert not any("No effect" in text for text in told(opened(preset="trainingcxl-rm1", system="cxl")))


def test_the_knobs_of_a_group_say_it_once_the_group_is_open():
    app = opened("runs", preset="tiny", system="cxl")
    assert not any("uses no SSD" in text for text in told(app))
    app.session_state["group machine"] = app.session_state["idle machine"] = True
    assert "No effect here: CXL uses no SSD." in told(app.run()) and not app.exception


def under_tiles(app):
    return [caption.value.replace("\\", "") for caption in app.main.caption]


@pytest.mark.slow
def test_under_each_tile_stands_its_band_once_the_scenario_has_stood_still():
    app = opened(preset="trainingcxl-rm4", **{"data.batch_size": "96"})
    assert under_tiles(app).count(tiles.WAITING) == len(app.metric) - len(tiles.RUNNING_COSTS) == 3
    scenario = with_values(preset("trainingcxl-rm4").scenario, {"data.batch_size": 96})
    apps.ANSWERS.found()
    told = under_tiles(app.run())
    for name in set(tiles.ESTIMATE_TILES) - set(tiles.RUNNING_COSTS):
        low, high = bands(scenario)[name]
        assert (f"{result_text(low)} to {result_text(high)}" if low < high else "no constant changes it") in told
    assert tiles.WAITING not in told


def test_how_sure_a_tile_is_names_the_constant_that_moves_it_most_and_what_is_published():
    scenario = preset("trainingcxl-rm1").scenario
    found = questions.result_bands(scenario)
    widest = tornado(scenario, "Energy per batch [J]")[0]
    _, hangs, published = found["Energy per batch [J]"].sentences
    assert (
        hangs.startswith(f"The number depends most on {widest.name} ({widest.constant.confidence})") and "headlines" in published
    )
    assert (
        found["Capital cost [USD]"].sentences[-1]
        == "No published number exists for this result; only the band says how wrong it may be."
    )


def test_a_scenario_that_an_end_of_some_range_cannot_run_has_no_bands_and_still_its_tiles(monkeypatch):
    def refuse(scenario):
        raise CannotRun("An end does not fit.")

    monkeypatch.setattr(questions.uncertainty, "bands", refuse)
    assert questions.result_bands(with_values(preset("tiny").scenario, {"data.seed": 77})) == {}


def test_after_a_full_run_the_page_says_how_far_the_estimate_was():
    result = Result(preset("tiny").scenario, True, "", {"Step time [ms]": 4.79})
    estimate = Result(preset("tiny").scenario, True, "", {"Step time [ms]": 4.81})
    said = "The full run took 4.79 ms a batch, the estimate was 4.81 ms, a difference of 0.418 %. The estimate's error bar is ±"
    assert training_panel.gap_sentence(estimate, result).startswith(
        f"{said}{figure(error_bar(result.scenario)['Step time [ms]'])} %"
    )
    noise = Result(preset("tiny").scenario, True, "", {"Step time [ms]": 4.79 * (1 + 2e-15)})
    assert "the estimate was 4.79 ms, a difference of 0 %." in training_panel.gap_sentence(noise, result)
    assert training_panel.gap_sentence(estimate, Result(preset("tiny").scenario, True, "", {})) == ""


def test_reproduce_runs_the_presets_both_ways_when_asked_and_names_the_largest_gap(monkeypatch):
    made_up = {name: Gap(name, "cxl", 50, "Step time [ms]", 10.0 + n, 10.0, 1.0) for n, name in enumerate(preset_names())}
    monkeypatch.setattr(gap_panel.validate, "gaps", lambda name: (made_up[name],))
    monkeypatch.setattr(gap_panel, "_GAPS_BY_PRESET", {})
    app = AppTest.from_string("from pages.evidence_page import gap_panel\ngap_panel.draw()").run()
    assert not app.dataframe and f"{len(made_up)} presets" in app.button(key="gaps").label
    app = app.button(key="gaps").click().run()
    (shown,) = (frame.value for frame in app.dataframe)
    assert list(shown["Gap [%]"]) == pytest.approx([10.0 * n for n in range(len(made_up))])
    last = preset(preset_names()[-1]).title
    assert f"the largest gap is +{10 * (len(made_up) - 1)} %" in app.markdown[0].value.replace("\\", "") and not app.exception
    assert last in app.markdown[0].value and not app.run().button


def test_a_page_that_redraws_itself_is_not_sent_back_by_an_address_that_is_late():
    def late(ours):
        app = opened(preset="tiny", system="pmem")
        app.selectbox(key="knob system").set_value("cxl").run()
        app.query_params.update({"system": "pmem"})
        app.session_state[address.WRITE_TIME] -= 60
        if ours:
            app.session_state[session.REDRAWN_BY_US] = True
        return app.run().session_state["scenario"].system

    assert late(ours=False) == "pmem"  # the visitor went back
    assert late(ours=True) == "cxl"


LOOP = "No public software trains so; a stated loop as of a captured graph is assumed, at least 0.300 ms a step."


def test_design_says_which_software_trains_or_which_loop_is_assumed():
    assert LOOP in apps.text(opened(preset="cxl-memory").caption)
    trained = apps.text(opened(**{"preset": "dlrm-kaggle", "system": "all-hbm", "machine.framework": "hugectr"}).caption)
    assert "HugeCTR trains so (public, but" in trained and "No public software" not in trained


def test_a_cheaper_machine_is_named_with_its_software(monkeypatch):
    monkeypatch.setattr(questions, "verdicts", lambda question: verdicts(question, ("all-hbm", "cxl")))
    sentence = questions.cheaper_system(preset("cxl-memory").scenario, 1.0, 1e9)
    assert sentence.startswith("All in HBM meets the target for ") and sentence.endswith("rows in fp32.")
    assert any(f", by {one.title}, layers in " in sentence for one in every_software() if one.exists)
