"""Faults in the run's own time: do they strike where they were dropped, and is each drawn where the run really stands?"""

import altair
import pytest

from engine.estimate import estimate
from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS, with_values
from engine.service import service
from engine.simulate import simulate
from engine.sweep import links
from pages.full_run import fault_axis, training_panel
from tests import apps
from tests.apps import address, fields, text
from tests.cases import each
from tests.machines import scenario

AT = "faults.power_loss_at_seconds"
STEP = "Step time [ms]"


def dropped(asked, *batches):
    """Drop power losses after so many batches, one after the other, as the page does."""
    step = estimate(asked).results[STEP] / 1e3
    for batch in batches:
        at = fault_axis.instant_of_batch(asked, step, batch)
        asked = with_values(asked, {AT: tuple(sorted({*asked.faults.power_loss_at_seconds, at}))})
    return asked, step


@each("system", ["cxl", "pmem", "ssd", "dram"], few=4)
def test_faults_strike_where_they_were_dropped_though_outages_last_minutes(system):
    asked, step = dropped(scenario("tiny", system, **{"run.training": False}), 12, 24, 31)
    struck = [row for row in simulate(asked).events if row["Kind"] == "fault"]
    assert [row["Batch"] for row in struck] == pytest.approx([12, 24, 31], abs=1), "each in the run, none in an outage"
    shown = fault_axis.rows(list(fault_axis.strikes_in_order(asked, step)), step, 40)
    shown = shown[shown.kind == "fault"]
    assert list(shown.share) == pytest.approx([30, 60, 77.5], abs=2.5) and list(shown.number) == [1, 2, 3]


def test_faults_of_one_outage_are_each_drawn_where_the_run_stopped():
    asked = scenario("tiny", "cxl", **{AT: (0.002, 0.0021, 60.0)})
    shown = fault_axis.rows(list(fault_axis.strikes_in_order(asked, 0.00012)), 0.00012, 40)
    shown = shown[shown.kind == "fault"]
    assert list(shown["at"]) == [0.002, 0.0021, 60.0] and shown.share.nunique() == 1 and list(shown.row) == [0, 1, 2]


def test_the_axis_is_valid_and_has_its_columns():
    altair.LayerChart.from_dict({**fault_axis.spec(), "data": {"values": []}}).to_dict()
    assert fields(fault_axis.spec()) <= set(fault_axis.rows([], 1.0, 10).columns)


def test_a_number_drops_a_fault_which_the_link_carries_and_an_instant_after_the_end_is_said_before_the_run():
    app = apps.opened(query={"preset": "tiny", "run.batches": "40"})
    app.number_input(key="share of the run").set_value(30.0).run()
    app.button(key=fault_axis.ADD_FAULT).click().run()
    (at,) = links.open_pairs(address(app)).scenario.faults.power_loss_at_seconds
    asked = with_values(preset("tiny").scenario, {"run.batches": 40})
    assert at == fault_axis.instant_of_batch(asked, estimate(asked).results[STEP] / 1e3, 12)
    app.selectbox(key="fault to drop").set_value("gpu-crash").run()
    app.button(key=fault_axis.ADD_FAULT).click().run()
    assert len(links.open_pairs(address(app)).scenario.faults.gpu_crash_at_seconds) == 1 and not app.warning
    app.button(key=fault_axis.REMOVE_FAULTS).click().run()
    assert address(app) == address(apps.opened(query={"preset": "tiny", "run.batches": "40"})) and not app.exception
    late = apps.opened(query={"preset": "tiny", AT: "5"})
    assert "Power loss at 5 s cannot strike, since the run ends before" in text(late.warning)
    assert KNOBS[AT].label == "Power loss at"


@pytest.mark.parametrize(("system", "exact"), [("pmem", True), ("cxl", False)])
def test_a_fault_dropped_while_it_trains_strikes_that_run_whose_training_goes_on_where_it_may(system, exact, monkeypatch):
    monkeypatch.setattr(service, "ensure_service", lambda _: None)
    app = apps.opened(query={"preset": "tiny", "system": system})
    app.button(key="run").click().run()
    before = app.session_state["scenario"]
    for share in (30.0, 60.0):
        app.number_input(key="share of the run").set_value(share).run()
        app.button(key=fault_axis.ADD_FAULT).click().run()
        struck = app.session_state["scenario"]
        asked, first = apps.run_status(struck), apps.run_status(before)
        assert not app.exception and asked.state == "queued" and first.state == ("queued" if exact else "cancelled")
        assert (training_panel.TRAINING_GOES_ON if exact else training_panel.TRAINING_RESTARTS) in text(app.info)
        assert apps.cancel_buttons(app) and "run" not in {one.key for one in app.button}
    assert len(struck.faults.power_loss_at_seconds) == 2
    apps.cancel_buttons(app)[0].click().run()
    assert apps.run_status(struck).state == "cancelled" and apps.run_status(before).state == first.state


def test_a_second_fault_at_the_same_batch_is_not_dropped_silently(monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(fault_axis.st, "toast", said.append)
    app = apps.opened(query={"preset": "tiny"})
    for _ in range(2):
        app.button(key=fault_axis.ADD_FAULT).click().run()
    assert len(app.session_state["scenario"].faults.power_loss_at_seconds) == 1
    assert len(said) == 1 and "already" in said[0] and not app.exception
    assert apps.run_status(app.session_state["scenario"]) is None, "where nothing runs, nothing is begun"
