"""Estimates of many design points at once: what points share is computed once, the rest for all of them in one kernel.

A point is settled, given its devices and its plan, each of them remembered by the knobs that it depends on (`engine/seen.py`);
points with the same plan are then scheduled and averaged together. One point alone goes the same way.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from engine.books import Books, undisturbed
from engine.device import Device
from engine.errors import EmberpoolError
from engine.expected import expected_amounts, settle, window
from engine.finding import finding
from engine.graph import check
from engine.layout import Floats, Layout, laid_out, with_log_queued_at
from engine.machinery import Machinery, machinery
from engine.metric import measure
from engine.parts import named
from engine.registry import load
from engine.report import Report
from engine.result import Result
from engine.scenario import Scenario
from engine.seen import remembered
from engine.steady import Steady, steadies
from engine.story import ESTIMATED, cannot_run, passes
from engine.system import System, ways
from engine.timeline import template_of
from engine.traffic import Traffic
from engine.traffic import steady as repeated
from engine.windows import Taken, observe


@dataclass(frozen=True, eq=False)
class Plan:
    """What points with the same knobs of model, data and policy share: a batch's amounts, and the plan laid out."""

    amounts: Traffic
    layout: Layout


@dataclass(frozen=True, eq=False)
class Refused:
    """A scenario that is refused, and the error that says why."""

    asked: Scenario
    error: EmberpoolError


@dataclass(frozen=True, eq=False)
class Point:
    """A scenario ready to be estimated."""

    asked: Scenario
    machinery: Machinery
    plan: Plan


Told = TypeVar("Told")


def estimates(scenarios: Sequence[Scenario]) -> list[Result]:
    """Estimate many scenarios, in order; results are without tables, which `estimate` of one makes.

    A scenario that is refused gives a result that did not run, without numbers, and with the sentence as its outcome.
    """
    return [_refused(found) if isinstance(found, Refused) else found for found in each(scenarios, told)]


def _refused(found: Refused) -> Result:
    return Result(found.asked, ran=False, outcome=str(found.error), results={})


def told(asked: Scenario, report: Report) -> Result:
    """Return an estimate as a result, without tables."""
    return Result(asked, ran=True, outcome=ESTIMATED, results=measure(report), warnings=notes(asked), finding=finding(report))


def notes(asked: Scenario) -> tuple[str, ...]:
    """Return what a reader of an estimate must know: that it did not see the data file, or that there is none."""
    guessed = f"Estimated with the generator's popularity {asked.data.popularity!r}; a full run counts the file's own ids."
    return (*((guessed,) if asked.data.digest else ()), *passes(asked))


def each(scenarios: Iterable[Scenario], tell: Callable[[Scenario, Report], Told]) -> list[Told | Result | Refused]:
    """Return what is to be told of each scenario's steady state, or why it cannot run, or the error that refuses it.

    A report is told as soon as it is there, and dropped: many at once would keep Python's garbage collector busy.
    """
    ready = [_ready(scenario) for scenario in scenarios]
    found: list[Any] = list(ready)
    groups: dict[Plan, list[int]] = {}
    for i, point in enumerate(ready):
        if isinstance(point, Point):
            groups.setdefault(point.plan, []).append(i)
    for plan, members in groups.items():
        points = {i: point for i in members if isinstance(point := ready[i], Point)}
        for i, report in _together(plan, points):
            found[i] = tell(points[i].asked, report)
    return found


def _ready(asked: Scenario) -> Point | Result | Refused:
    try:
        settled = settle(asked)
        m = machinery(settled.scenario)
        if settled.problems:
            return cannot_run(asked, settled.problems)
        return Point(asked, m, _planned(settled.scenario, asked.system))
    except EmberpoolError as error:
        return Refused(asked, error)


@remembered(most=256)
def _planned(s: Scenario, system: str) -> Plan:
    chosen: System = load("systems", system)
    amounts, policies, devices = expected_amounts(s, system), ways(s, chosen), named(system, s.machine)
    batches = window(policies)
    graph = chosen.plan(s, policies, repeated(amounts, batches))
    check(graph, frozenset(devices))
    return Plan(amounts, laid_out(graph, devices, batches))


def _together(plan: Plan, points: Mapping[int, Point]) -> Iterator[tuple[int, Report]]:
    layout, machines = plan.layout, [point.machinery for point in points.values()]
    taken, number = _taken(layout, [m.devices for m in machines]), list(points)
    queued = _queued_at(layout, taken.seconds)
    for demand in np.unique(queued):
        mine = np.flatnonzero(queued == demand)
        nothing = np.zeros((len(layout.kind), len(layout.graph.tasks)))
        template = template_of(with_log_queued_at(layout.graph, int(demand)), nothing)
        seen = observe(template, layout.kind, layout.accounts, _of(taken, mine))
        averages = steadies(seen, layout.devices, layout.cells)
        for i, stale, average in zip(mine.tolist(), seen.stale.tolist(), averages, strict=True):
            yield number[i], _report(machines[i], average, plan.amounts, stale)


def _of(taken: Taken, machines: Any) -> Taken:
    """Return what some of the machines take."""
    return Taken(
        taken.seconds[machines],
        taken.joules[machines],
        taken.stored[machines],
        taken.written,
        taken.busy_watts[machines],
        taken.idle_watts[machines],
    )


def _taken(layout: Layout, machines: Sequence[Mapping[str, Device]]) -> Taken:
    """Gather what each machine's devices take; a device that several machines have is asked once."""
    shape = (len(machines), len(layout.demands), layout.kinds)
    seconds, joules, stored = np.empty(shape), np.empty(shape), np.empty(shape)
    for name, mine in layout.mine.items():
        different = {id(machine[name]): machine[name] for machine in machines}
        row = {one: i for i, one in enumerate(different)}
        rows = np.array([row[id(machine[name])] for machine in machines])
        costs = [layout.taken(name, device) for device in different.values()]
        for all_of, each in zip((seconds, joules, stored), zip(*costs, strict=True), strict=True):
            all_of[:, mine] = np.stack(each)[rows]
    watts = np.array([[(d.busy_watts, d.idle_watts) for d in machine.values()] for machine in machines], dtype=np.float64)
    busy, idle = np.ascontiguousarray(watts[:, :, 0]), np.ascontiguousarray(watts[:, :, 1])
    return Taken(seconds, joules, stored, layout.written, busy, idle)


def _queued_at(layout: Layout, seconds: Floats) -> Any:
    """Return for each machine the demand of the rolling log, by number, in whose lane it waits: the slowest."""
    logs = [k for k, task in enumerate(layout.graph.tasks) if task.during]
    if not logs:
        return np.zeros(len(seconds), dtype=np.int64)
    mine = np.flatnonzero(layout.accounts.task == logs[0])
    batches = np.bincount(layout.kind, minlength=layout.kinds)
    return np.argmax((seconds[:, mine] * batches).sum(axis=2), axis=1)


def _report(m: Machinery, average: Steady, amounts: Traffic, stale: int) -> Report:
    """Scale the steady state to the scenario's number of batches."""
    batches = m.scenario.run.batches
    return Report(
        machinery=m,
        steady=average,
        batches=batches,
        elapsed=average.step * batches,
        static={name: joules * batches for name, joules in average.static.items()},
        dynamic={name: joules * batches for name, joules in average.dynamic.items()},
        busy={name: seconds * batches for name, seconds in average.busy.items()},
        pmem_written=average.written * batches,
        pmem_media_written=average.media_written * batches,
        staleness=stale if m.ways.log else None,
        books=_books(average, batches),
        hit_rate=amounts.hit_rate if m.system.cache else None,
        drives_share=amounts.drives_share if m.system.caches else None,
    )


def _books(average: Steady, batches: int) -> Books:
    logs = sum([joules for stage, _, _, _, joules in average.cells if stage == "Checkpoint"])
    waits = average.stage("Checkpoint")
    joules = logs + waits * sum(average.static.values()) / average.step
    return undisturbed(average.step * batches, waits * batches, average.energy * batches, joules * batches)
