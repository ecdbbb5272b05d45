"""The estimated cost of a batch in seconds, joules and bytes, with and without logs."""

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
from ..schedule.machine import Machine, expected_timeline, ready_machine
from ..schedule.steady_state import Steady
from ..schedule.timeline import timeline, work_done
from ..systems.row_kinds import row_sizes, unique_row_bytes
from ..systems.steps.recovery import recover
from ..systems.system import RecoveryWork, Settled
from ..systems.traffic import INDEX_BYTES, Traffic, mlp_bytes
from ..workload.accesses import expected_accesses
from .protection import Pace


def tasks_without_log(plan: tuple[Task, ...]) -> tuple[Task, ...]:
    """Return the tasks of a batch without the tasks of its log.

    A task that waited for a task of the log waits for that task's predecessors instead.
    """
    tasks = {task.name: task for task in plan}

    def predecessors(names: tuple[str, ...]) -> tuple[str, ...]:
        name_groups = (predecessors(tasks[name].predecessors) if _is_log_task(tasks[name]) else (name,) for name in names)
        return tuple(dict.fromkeys(name for name_group in name_groups for name in name_group))

    training_tasks = (task for task in plan if not _is_log_task(task))
    return tuple(
        replace(
            task,
            predecessors=predecessors(task.predecessors),
            previous_batch_predecessors=predecessors(task.previous_batch_predecessors),
            persists="",
        )
        for task in training_tasks
    )


def _is_log_task(task: Task) -> bool:
    """Return whether only the log needs a task, by its stage or its name."""
    return task.stage == "Checkpoint" or task.name.startswith("Checkpoint")


def unlogged_costs(scenario: Scenario) -> Pace:
    """Return the costs of a batch of the scenario's system without any log."""
    return _unlogged_pace(_timing_scenario(scenario))


def logged_costs(scenario: Scenario, knobs: Mapping[str, Any]) -> Pace:
    """Return the costs of a batch under the log that these knobs select."""
    return _logged_pace(_timing_scenario(with_values(scenario, knobs)))


def estimated_costs(scenario: Scenario) -> Steady:
    """Return the estimated steady state of the scenario without faults; raises CannotRun."""
    return _estimated_batch(replace(scenario, faults=type(scenario.faults)()))


@lru_cache(maxsize=256)
def _estimated_batch(scenario: Scenario) -> Steady:
    (steady_state,) = steady_states([scenario])
    if isinstance(steady_state, NotScheduled):
        raise steady_state.error or CannotRun(" ".join(steady_state.problems))
    return steady_state


@lru_cache(maxsize=64)
def slowdown(scenario: Scenario) -> float:
    """Return the factor on a batch's time while `faults.fail_slow_device` is slow."""
    m = _unlogged_machine(scenario)
    slow = _pace(replace(m, devices={**m.devices, **slow_devices(m)}))
    return max(slow.step / unlogged_costs(scenario).step, 1.0)


def _timing_scenario(scenario: Scenario) -> Scenario:
    """Return the scenario with defaults for all knobs that change no batch's time.

    The result is the key of a cache.
    """
    return replace(scenario, faults=type(scenario.faults)(), run=replace(type(scenario.run)(), training=False))


@lru_cache(maxsize=256)
def _unlogged_pace(scenario: Scenario) -> Pace:
    return _pace(_unlogged_machine(scenario))


def _unlogged_machine(scenario: Scenario) -> Machine:
    """Return the machine with its policies, but without tasks that only the log needs."""
    m = ready_machine(scenario)

    def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
        return tasks_without_log(m.system.plan(replace(settled, log_policy=m.log_policy), t))

    unlogged = replace(m.settled, system=replace(m.system, plan=plan), log_policy=replace(m.log_policy, log=""))
    return replace(m, settled=unlogged)


@lru_cache(maxsize=256)
def _logged_pace(scenario: Scenario) -> Pace:
    """Return the pace with a recovery's cost and the MLP's largest age."""
    m = ready_machine(scenario)
    line, paced = expected_timeline(m), _pace(m)
    rows = float(expected_accesses(m.scenario).unique_rows.sum())
    logs = rows * (unique_row_bytes(m.scenario) + INDEX_BYTES)
    work = RecoveryWork(rows, row_sizes(m.scenario).unique.row, logs, mlp_bytes(m.scenario))
    recovery = timeline(recover(m.settled, work), m.devices, 1)
    joules = float(work_done(recovery, recovery.makespan).joules.sum())
    stale = int(line.course.staleness.max(initial=0))
    return replace(paced, mlp_age=stale, restore=recovery.makespan, restore_joules=joules)


def _pace(m: Machine) -> Pace:
    average = expected_timeline(m).steady
    return Pace(average.step, average.energy, average.device_seconds("network"), average.media_bytes)
