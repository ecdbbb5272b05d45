"""The same fault at other values of a knob: the same batch is struck on each machine, and training is shared."""

import pytest

from engine.estimate import estimate
from engine.faults.fault import strikes
from engine.insight.knobs.strips import strips
from engine.run.shared_training import functional_class
from engine.scenario.presets import EXPLORED, preset
from engine.scenario.scenario import with_values
from engine.simulate import simulate
from pages.full_run import fault_axis, fault_points
from tests import apps
from tests.machines import TINY

LOSS, LINK, CAPACITY, NEAR = (
    "faults.power_loss_at_seconds",
    "machine.cxl_bandwidth_GBps",
    "machine.pmem_capacity_GB",
    "machine.near_data_compute",
)
SHORT = with_values(TINY, {"system": "cxl", "run.batches": 40})


def step_seconds(scenario):
    return estimate(scenario).results["Step time [ms]"] / 1e3


def test_each_machine_is_struck_at_the_end_of_the_same_batch():
    scenario = preset(EXPLORED).scenario
    (link,) = strips(scenario, [LINK])
    struck = with_values(scenario, {LOSS: (0.3 * scenario.run.batches * step_seconds(scenario),)})
    points = fault_points.fault_points(struck, link, None, step_seconds(struck))
    assert len(points) == len([stop for stop in link.stops if not stop.refused]) > 4
    for point in points:
        (strike,) = strikes(point.scenario)
        assert strike.seconds == pytest.approx(30 * step_seconds(point.scenario), rel=2e-3)
    assert len({functional_class(point.scenario) for point in points}) == 1


def test_without_a_fault_power_is_lost_at_half_of_the_run():
    (near,) = strips(SHORT, [NEAR])
    points = fault_points.fault_points(SHORT, near, None, step_seconds(SHORT))
    assert [point.first for point in points] == ["off", "on"]
    assert all(len(point.scenario.faults.power_loss_at_seconds) == 1 for point in points)
    assert fault_points.struck_batches(SHORT, step_seconds(SHORT)) == {fault_axis.FIRST_FAULT: (20,)}


def test_two_knobs_make_a_line_for_the_ends_of_the_second_and_its_own_value():
    capacity, near = strips(SHORT, [CAPACITY, NEAR])
    points = fault_points.fault_points(SHORT, capacity, near, step_seconds(SHORT))
    assert {point.second for point in points} == {"off", "on"}
    assert {point.first for point in points} == {
        fault_points.knob_text(stop.knob_value) for stop in capacity.stops if not stop.refused
    }


def test_time_lost_and_energy_are_what_the_books_say():
    (near,) = strips(SHORT, [NEAR])
    finished = [(point, simulate(point.scenario)) for point in fault_points.fault_points(SHORT, near, None, step_seconds(SHORT))]
    rows = fault_points.point_rows(finished)
    for (_, row), (_, result) in zip(rows.iterrows(), finished, strict=True):
        books = {entry["Account"]: entry for entry in result.ledger}
        trained = books["useful"]["Time [s]"] + books["checkpoint"]["Time [s]"]
        assert (
            row[fault_points.LOST] == pytest.approx(result.results["Elapsed [s]"] - trained, rel=1e-9)
            and row[fault_points.LOST] > 100
        )
        outage = sum(books[name]["Energy [J]"] for name in ("detect", "repair", "restart", "restore"))
        assert row[fault_points.ENERGY] == pytest.approx(result.results["Energy [J]"] - outage, rel=1e-9)
    lanes = fault_points.lane_rows(rows)
    assert lanes.level.between(0, 1).all() and set(lanes.quantity) == set(fault_points.QUANTITIES)
    assert "The fault costs 2.50 min each over near-data compute, and AUC ends at" in fault_points.finding(
        rows, "near-data compute"
    )


def test_three_presses_start_the_runs(monkeypatch):
    started = []
    monkeypatch.setattr(fault_points.runs, "start", lambda scenarios, kind: started.append((len(scenarios), kind)))
    app = apps.opened("design", {"preset": "tiny"})
    app.session_state[fault_points.SECTION] = True  # the first press
    app.run()
    assert not app.exception
    app.button(key=fault_points.RUN).click().run()
    assert started and started[0][0] > 2 and started[0][1] == "full"
