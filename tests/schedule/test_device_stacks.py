"""Do many devices, asked together, say to the bit what each says alone?"""

from typing import NamedTuple

import numpy as np
import pytest

from engine.core.work import Copy, Move
from engine.estimate import estimate
from engine.hardware.device import Device, duration, energy, stored_bytes
from engine.hardware.device_stacks import by_kind_rows, cost_columns, stack_devices, stacks_of_points
from engine.registry import all_variants, variant_names
from engine.results.undisturbed import planned_batches
from engine.scenario.scenario import KNOBS, Scenario, with_values
from engine.schedule.evaluate import DesignPoint, design_point
from engine.simulate import simulate
from engine.systems.system import build_device
from tests.cases import each
from tests.machines import TINY

MANY = 9
WORK = Copy(np.array([0.0, 3.0, 5e6]))


def stated(device, work):
    """Return the seconds of work; none of a kind that the device knows nothing of."""
    return duration(device, work) if type(work) in device.seconds else 0.0


def varied(scenario, name):
    """Return machines that differ in one number that a device reads, for each such knob: some between its ends."""
    for path in all_variants("devices")[name].knobs:
        knob = KNOBS[path]
        if knob.kind == "float" and knob.low is not None and knob.high is not None:
            values = np.linspace(max(knob.low, 1e-3), min(knob.high, 1e3), MANY).tolist()
            yield path, [with_values(scenario, {path: value}).machine for value in values]


@each("system", variant_names("systems"), few=4)
def test_devices_that_differ_in_a_number_take_together_what_they_take_alone(system):
    base = {"system": system, "run.training": False, "run.batches": 8, "policy.cache_load_factor": 0.6}
    point = design_point(with_values(TINY, base), planned_batches)
    assert isinstance(point, DesignPoint), point
    groups, kinds = [], point.plan.layout.kinds
    for demand in point.plan.layout.demands:
        for _, machines in varied(point.machine.scenario, demand.device):
            devices = [build_device(machine, demand.device) for machine in machines]
            for cost in (stated, energy, stored_bytes):
                columns = cost_columns(stack_devices(devices), cost, by_kind_rows(demand.work, kinds), kinds)
                for p, device in enumerate(devices):
                    np.testing.assert_array_equal(columns[:, p % columns.shape[1]], cost(device, demand.work))
                groups.append(len(stack_devices(devices)))
    assert set(groups) == {1}, "no number of a knob decides what a device does"


class Rates(NamedTuple):
    """Rates of a bench device."""

    rate: float
    kind: str = "a"


SECONDS = {Copy: lambda rates, work: work.nbytes / rates.rate + (1.0 if rates.kind == "a" else 2.0)}


def bench(rates, copies=1, seconds=SECONDS):
    """Return a bench device."""
    return Device("bench", "A bench", seconds, rates, copies=copies)


def test_devices_that_differ_in_more_than_numbers_are_asked_apart():
    devices = [bench(Rates(1.0 + p, "ab"[p % 2]), copies=1 + p % 3) for p in range(MANY)]
    devices[4] = bench(Rates(4.0), seconds={})
    groups = stack_devices(devices)
    assert len(groups) == 5 + 1, "three numbers of copies of either kind but one, and another function"
    costs = cost_columns(groups, stated, by_kind_rows(WORK, 3), 3)
    for p, device in enumerate(devices):
        np.testing.assert_array_equal(costs[:, p], 0.0 if p == 4 else duration(device, WORK))


def test_a_rate_that_only_some_devices_have_is_no_column():
    devices = [bench(Rates(1.0, kind)) for kind in (None, 1.0, 2.0)]
    assert [members.tolist() for _, members in stack_devices(devices)] == [[0], [1, 2]]


def test_what_does_not_depend_on_the_number_in_which_devices_differ_is_one_column():
    rates = np.linspace(1.0, 8.0, MANY).tolist()
    links = [build_device(with_values(TINY, {"machine.pcie_bandwidth_GBps": rate}).machine, "pcie") for rate in rates]
    shapes = [cost_columns(stack_devices(links), cost, by_kind_rows(WORK, 3), 3).shape for cost in (stated, energy)]
    assert shapes == [(3, MANY), (3, 1)], "a faster link costs as much energy"


@pytest.mark.parametrize("told", [estimate, simulate])
def test_a_step_takes_as_long_as_the_part_that_has_everything(told):
    """All tables on GPU 1 of three: it looks up, spreads and updates as long as a GPU alone, for the same joules."""
    one = {"system": "all-hbm", "run.training": False, "run.batches": 4, "model.pooling": (20,), "machine.framework": "lean"}
    all_on_one = {"machine.num_gpus": 3, "policy.plan": "1", "machine.step_jitter": 0.0}
    rows = [told(with_values(Scenario(), one | more)).breakdown for more in ({}, all_on_one, all_on_one | {"policy.plan": ""})]
    alone, mine, even = ({row["Device"]: row for row in row if row["Stage"] == "Embedding"}["gpu"] for row in rows)
    assert (mine["Busy [s]"], mine["Energy [J]"]) == pytest.approx((alone["Busy [s]"], alone["Energy [J]"]), rel=1e-9)
    assert even["Busy [s]"] < 0.7 * mine["Busy [s]"]


def test_design_points_take_the_costs_of_their_own_devices():
    machines = [machine for path, machines in varied(TINY, "cxl") if path.endswith("bandwidth_GBps") for machine in machines[:3]]
    devices, device_of = [build_device(machine, "cxl") for machine in machines], np.array([2, 0, 2, 1, 1])
    work = by_kind_rows(Move(np.array([0.0, 3e5])), 2)
    columns = cost_columns(stacks_of_points(stack_devices(devices), device_of), stated, work, 2)
    alone = np.stack([np.asarray(duration(devices[number], Move(np.array([0.0, 3e5])))) for number in device_of], axis=1)
    assert np.array_equal(columns, alone) and len(set(alone[1])) == 3
