"""Is each lane of a device busy for at most the time that passes, home writes of a redo log included?"""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from engine.core.work import Agreement
from engine.errors import BadKnob, CannotRun
from engine.estimate import estimate
from engine.hardware.devices.pmem import MEDIA, OTHER_RATES
from engine.registry import variant_names
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import with_values
from engine.schedule.kernels.template import SECONDS
from engine.schedule.machine import expected_timeline, ready_machine, schedule
from engine.schedule.timeline import by_demand, fraction_done
from tests.cases import each
from tests.machines import PRESETS, flow, line, ready, scenario

LONG_RUN = 200  # batches, so that the first ones, in which a pipeline fills, hide nothing
# Devices that a task may ask only beside the lane in which it waits, and the most that they are busy.
OVERBOOKED = {
    ("torchrec-uvm", "pcie"): 1.11,  # lookups read rows without a place in the cache while the next batch's rows come
    ("scratchpipe", "gpu"): 1.03,  # the host's rows lane inserts into and reads from HBM while the GPU trains
}


def busy_shares(line):
    """Return the share of a run in which each (device, lane) works; GPUs that wait for each other do not.

    A medium has one lane, whatever lanes its work names.
    """
    done = np.zeros((len(line.demand_costs.costs), len(line.graph.tasks)))
    for part in line.course.parts():
        np.add.at(done, line.kind[part.batches], fraction_done(line, part, line.makespan))
    spent, shares = by_demand(line.demand_costs, SECONDS), Counter()
    for d, (demand, task) in enumerate(zip(line.layout.demands, line.layout.accounts.task, strict=True)):
        if not isinstance(demand.work, Agreement):
            lane = "" if demand.device in ("pmem", "ssd") else demand.lane
            shares[demand.device, lane] += done[:, task] @ spent[d] / line.makespan
    return shares


def shares_of(name, system):
    """Return the busy shares of a preset's machine under a system; none if it does not fit."""
    try:
        machine = ready_machine(with_values(preset(name).scenario, {"system": system}))
    except (BadKnob, CannotRun):
        return {}
    return busy_shares(expected_timeline(machine, LONG_RUN))


def overbooked(name, system):
    """Return the lanes of a preset's machine that are busy for longer than they can be, with their shares."""
    shares = shares_of(name, system)
    return {lane: share for lane, share in shares.items() if share > OVERBOOKED.get((system, lane[0]), 1.0) * (1 + 1e-9)}


@each("name", preset_names())
@each("system", variant_names("systems"), few=60)
def test_no_lane_is_busy_for_more_than_the_time_that_passes(name, system):
    assert overbooked(name, system) == {}


@each("name", PRESETS, few=24)
@each("system", ["ssd", "pmem", "pcie", "cxl-d"])
def test_a_medium_is_busy_for_at_most_the_time_that_passes_home_writes_of_its_redo_log_included(name, system):
    assert overbooked(name, system) == {}


@pytest.mark.parametrize(
    "system, device, lane, name",
    [("torchrec-uvm", "pcie", "to GPU", "meta-856"), ("scratchpipe", "gpu", "", "optane-kaggle")],
)
def test_each_exception_is_needed(system, device, lane, name):
    assert 1.0 < shares_of(name, system)[device, lane] <= OVERBOOKED[system, device]


REDO = {  # by system: what begins a batch at once, what follows task by task, what ends it at once
    "ssd": (
        ("Bottom MLP forward", "Row reads", "Embedding lookup"),
        ("Forward hand-off", "Top MLP", "Backward hand-off"),
        ("Bottom MLP backward", "Row updates", "Embedding update"),
        ("Checkpoint hand-off",),
    ),
    "pcie": (
        ("Bottom MLP forward", "Embedding lookup"),
        ("Forward hand-off", "Top MLP", "Backward hand-off"),
        ("Bottom MLP backward", "Embedding update"),
        ("Checkpoint hand-off",),
    ),
    "cxl-d": (("Bottom MLP forward", "Embedding lookup"), ("Top MLP",), ("Bottom MLP backward", "Embedding update"), ()),
}
REDO["pmem"] = REDO["ssd"]
BARE = {"machine.framework": "none", "machine.pmem": "optane-100", "machine.near_data_compute": True}
LOGS = ("Embedding log", "MLP log", "Commit")
CASES = [(name, system, part) for name in PRESETS for system in REDO for part in (1, 4)]


def redo_machine(name, system, units):
    """Return a machine whose medium is so many drives, or Optane with three times as many writers a module."""
    drives = {"machine.num_ssds": units, "machine.ssd": "pm9a3"}
    return scenario(name, system, **BARE, **(drives if system == "ssd" else {"machine.pmem_writers_per_module": 3 * units}))


def chain_and_medium(asked):
    """Return the seconds of the tasks that wait for each other, of the medium's lane, and of a step."""
    course = schedule(ready(asked), flow(asked, 30))
    takes = {task.name: float(course.lasting[0, k]) for k, task in enumerate(course.graph.tasks)}
    first, between, last, handoff = REDO[asked.system]
    alone = sum(takes[name] for name in (*between, *handoff, *LOGS)) + takes.get("History layers", 0.0)
    chain = max(takes[name] for name in first) + alone + max(takes[name] for name in last)
    rows = ("Row reads", "Row updates") if "Row reads" in first else ("Embedding lookup", "Embedding update")
    medium = (*rows, *LOGS, "Home write")
    servers = {task.name: task.server for task in course.graph.tasks}
    assert {servers[name] for name in medium} == {(ready(asked).system.memory, "")}
    ends = course.batch_ends
    return chain, sum(takes[name] for name in medium), float(ends[-1] - ends[9]) / 20


@each(("name", "system", "units"), CASES, few=24)
def test_a_step_under_a_redo_log_is_the_longer_of_its_chain_of_tasks_and_its_mediums_work(name, system, units):
    chain, medium, step = chain_and_medium(redo_machine(name, system, units))
    assert step == pytest.approx(max(chain, medium), rel=1e-9)


@pytest.mark.parametrize("system", ["ssd", "cxl-d"])
def test_either_of_the_two_can_be_the_longer(system):
    sides = [np.sign(np.subtract(*chain_and_medium(redo_machine(*case))[:2])) for case in CASES if case[1] == system]
    assert {-1.0, 1.0} <= set(sides)


@each("name", PRESETS, few=4)
@each("rate", ["4-KiB-read-rate", "4-KiB-write-rate", "sequential-read", "sequential-write"])
def test_a_faster_drive_is_never_slower(name, rate):
    constants = ready(redo_machine(name, "ssd", 1)).devices["ssd"].constants
    usual = next(one.value for one in constants if one.name.replace(" ", "-") == rate)
    steps = []
    for factor in (0.25, 0.5, 1, 2, 4):
        asked = with_values(redo_machine(name, "ssd", 1), {"machine.assume": ((f"ssd.{rate}", usual * factor),)})
        steps.append(estimate(asked).results["Step time [ms]"])
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(steps))


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("source", ["own", *OTHER_RATES])
def test_only_rates_that_are_fitted_so_leave_home_writes_a_lane_of_their_own(medium, source):
    knobs = {"machine.pmem": medium, "machine.pmem_bandwidth_source": source}
    tasks = line(scenario("trainingcxl-rm2", "cxl-d", **knobs), 3).graph.tasks
    (home,) = [task.server for task in tasks if task.persists == "home write"]
    assert home == ("pmem", "drain" if (medium, source) == ("trainingcxl", "own") else "")
