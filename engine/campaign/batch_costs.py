"""The cost of a batch, in seconds, joules and bytes, from the estimate: with a protection's log, or without any."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ..core.graph import Task
from ..errors import CannotRun
from ..estimates import steady_states
from ..scenario.scenario import Scenario, with_values
from ..schedule.evaluate import NotScheduled
from ..schedule.fail_slow import slow_devices
from ..schedule.machine import Machine, expected_line, ready
from ..schedule.steady_state import Steady
from ..schedule.timeline import timeline, work_done
from ..systems.row_kinds import row_sizes, unique_row_bytes
from ..systems.steps.recovery import recover
from ..systems.system import RecoveryWork, Settled
from ..systems.traffic import INDEX_BYTES, Traffic, mlp_bytes
from ..workload.accesses import expected
from .protection import Pace


def without_log(plan: tuple[Task, ...]) -> tuple[Task, ...]:
    """Return a batch without its log: whoever waited for a task of the log waits for what that task waited for."""
    tasks = {task.name: task for task in plan}

    def kept(names: tuple[str, ...]) -> tuple[str, ...]:
        found = (kept(tasks[name].after) if _logs(tasks[name]) else (name,) for name in names)
        return tuple(dict.fromkeys(name for some in found for name in some))

    left = (task for task in plan if not _logs(task))
    return tuple(replace(task, after=kept(task.after), after_previous=kept(task.after_previous), persists="") for task in left)


def _logs(task: Task) -> bool:
    """Tell whether only the log needs a task: its stage says so, or, for the hand-off to it, its name."""
    return task.stage == "Checkpoint" or task.name.startswith("Checkpoint")


def unlogged_costs(scenario: Scenario) -> Pace:
    """Return a batch of the scenario's own system without any log."""
    return _bare(_timing(scenario))


def logged_costs(scenario: Scenario, knobs: Mapping[str, Any]) -> Pace:
    """Return a batch under the log that these knobs ask for."""
    return _logged(_timing(with_values(scenario, knobs)))


def estimated_costs(scenario: Scenario) -> Steady:
    """Return a batch as the estimate of the scenario has it; raises CannotRun where it has none."""
    return _estimated(replace(scenario, faults=type(scenario.faults)()))


@lru_cache(maxsize=256)
def _estimated(scenario: Scenario) -> Steady:
    (found,) = steady_states([scenario])
    if isinstance(found, NotScheduled):
        raise found.error or CannotRun(" ".join(found.problems))
    return found


@lru_cache(maxsize=64)
def slowdown(scenario: Scenario) -> float:
    """Return how many times as long a batch takes while the device that `faults.fail_slow_device` names is slow."""
    m = _unlogged(scenario)
    slow = _pace(replace(m, devices={**m.devices, **slow_devices(m)}))
    return max(slow.step / unlogged_costs(scenario).step, 1.0)


def _timing(scenario: Scenario) -> Scenario:
    """Return the scenario without what no batch's time depends on, so that it is estimated once."""
    return replace(scenario, faults=type(scenario.faults)(), run=replace(type(scenario.run)(), training=False))


@lru_cache(maxsize=256)
def _bare(scenario: Scenario) -> Pace:
    return _pace(_unlogged(scenario))


def _unlogged(scenario: Scenario) -> Machine:
    """Build the machine whose system plans as under the policies in force, but without the tasks that only its log needs."""
    m = ready(scenario)

    def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
        return without_log(m.system.plan(replace(settled, log_policy=m.log_policy), t))

    unlogged = replace(m.settled, system=replace(m.system, plan=plan), log_policy=replace(m.log_policy, log=""))
    return replace(m, settled=unlogged)


@lru_cache(maxsize=256)
def _logged(scenario: Scenario) -> Pace:
    """Add to the pace what the system's own recovery of one batch takes, and how old an MLP it may find."""
    m = ready(scenario)
    line, paced = expected_line(m), _pace(m)
    rows = float(expected(m.scenario).unique_rows.sum())
    logs = rows * (unique_row_bytes(m.scenario) + INDEX_BYTES)
    work = RecoveryWork(rows, row_sizes(m.scenario).unique.row, logs, mlp_bytes(m.scenario))
    again = timeline(recover(m.settled, work), m.devices, 1)
    joules = float(work_done(again, again.makespan).joules.sum())
    stale = int(line.state.stale.max(initial=0))
    return replace(paced, stale=stale, restore=again.makespan, restore_joules=joules)


def _pace(m: Machine) -> Pace:
    average = expected_line(m).steady
    return Pace(average.step, average.energy, average.busy.get("network", 0.0), average.media_written)
