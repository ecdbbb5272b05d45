"""Do many devices, asked together, say to the bit what each says alone?"""

from dataclasses import replace

import numpy as np
import pytest

from engine.core.work import Copy
from engine.estimate import estimate
from engine.hardware.columns import together
from engine.registry import every, names
from engine.results.undisturbed import planned
from engine.scenario.scenario import KNOBS, Scenario, with_values
from engine.schedule.evaluate import DesignPoint, design_point
from engine.simulate import simulate
from engine.systems.system import built
from tests.cases import each
from tests.machines import TINY

MANY = 9
WORK = Copy(np.array([0.0, 3.0, 5e6]))


def varied(scenario, name):
    """Return machines that differ in one number that a device reads, for each such knob: some between its ends."""
    for path in every("devices")[name].knobs:
        knob = KNOBS[path]
        if knob.kind == "float" and knob.low is not None and knob.high is not None:
            values = np.linspace(max(knob.low, 1e-3), min(knob.high, 1e3), MANY).tolist()
            yield path, [with_values(scenario, {path: value}).machine for value in values]


@each("system", names("systems"), few=4)
def test_devices_that_differ_in_a_number_take_together_what_they_take_alone(system):
    base = {"system": system, "run.training": False, "run.batches": 8, "policy.cache_load_factor": 0.6}
    point = design_point(with_values(TINY, base), planned)
    assert isinstance(point, DesignPoint), point
    seen = 0
    for demand in point.plan.layout.demands:
        for _, machines in varied(point.machine.scenario, demand.device):
            devices = [built(machine, demand.device) for machine in machines]
            for what in ("seconds", "joules", "stored"):
                costs = [getattr(device, what).get(type(demand.work)) for device in devices]
                found = together(costs, point.plan.layout.kinds)(demand.work)
                for p, cost in enumerate(costs):
                    np.testing.assert_array_equal(found[:, p % found.shape[1]], 0.0 if cost is None else cost(demand.work))
                seen += 1
    assert seen


def limited(rate):
    """Return a cost that no column can stand for: it branches on the device's rate."""
    return lambda work: work.nbytes / (rate if rate < 4.0 else 4.0)


def summed(rate):
    """Return a cost whose column would mean something else."""
    return lambda work: np.max(work.nbytes / rate, axis=-1, keepdims=True) + 0.0 * work.nbytes


@pytest.mark.parametrize("cost", [limited, summed])
def test_costs_for_which_no_column_can_stand_are_asked_one_by_one(cost):
    rates = np.linspace(1.0, 8.0, MANY).tolist()
    found = together([cost(rate) for rate in rates], 3)(WORK)
    for p, rate in enumerate(rates):
        np.testing.assert_array_equal(found[:, p], cost(rate)(WORK))


def test_devices_whose_costs_are_of_another_form_are_told_apart():
    costs = [(lambda work: work.nbytes / 2.0) if p % 2 else (lambda work: work.nbytes * 2.0) for p in range(MANY)]
    costs[4] = None
    found = together(costs, 3)(replace(WORK, nbytes=7.0))
    np.testing.assert_array_equal(found[0], [3.5 if p % 2 else 0.0 if p == 4 else 14.0 for p in range(MANY)])


@pytest.mark.parametrize("count", [1, MANY])
def test_devices_that_are_one_are_asked_once(count):
    asked = []
    found = together(count * [lambda work: asked.append(work) or work.nbytes], 3)(WORK)
    assert found.tolist() == [[0.0], [3.0], [5e6]] and len(asked) == 1


def test_what_does_not_depend_on_the_number_in_which_devices_differ_is_one_column():
    rates = np.linspace(1.0, 8.0, MANY).tolist()
    links = [built(with_values(TINY, {"machine.pcie_bandwidth_GBps": rate}).machine, "pcie") for rate in rates]
    found = [together([getattr(link, what)[Copy] for link in links], 3)(WORK).shape for what in ("seconds", "joules")]
    assert found == [(3, MANY), (3, 1)], "a faster link costs as much energy"


@pytest.mark.parametrize("told", [estimate, simulate])
def test_a_step_takes_as_long_as_the_part_that_has_everything(told):
    """All tables on GPU 1 of three: it looks up, spreads and updates as long as a GPU alone, for the same joules."""
    one = {"system": "all-hbm", "run.training": False, "run.batches": 4, "model.pooling": (20,)}
    all_on_one = {"machine.num_gpus": 3, "policy.plan": "1"}
    rows = [told(with_values(Scenario(), one | more)).breakdown for more in ({}, all_on_one, {"machine.num_gpus": 3})]
    alone, mine, even = ({row["Device"]: row for row in row if row["Stage"] == "Embedding"}["gpu"] for row in rows)
    assert (mine["Busy [s]"], mine["Energy [J]"]) == pytest.approx((alone["Busy [s]"], alone["Energy [J]"]), rel=1e-9)
    assert even["Busy [s]"] < 0.7 * mine["Busy [s]"]
