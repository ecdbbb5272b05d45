"""Design points with the same plan, scheduled and averaged together; what they share was computed once for all of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat, starmap
from typing import Any, NamedTuple, TypeVar

import numpy as np

from engine.device import Device
from engine.errors import EmberpoolError
from engine.layout import Layout, with_log_queued_at
from engine.machinery import Machinery
from engine.result import Result
from engine.scenario import Scenario
from engine.steady import Steady, steadies
from engine.timeline import template_of
from engine.totals import Totals, totals
from engine.traffic import Traffic
from engine.windows import EXPOSED, Averages, Taken, observe

MOST_AMOUNTS = 5_000_000  # of devices that differ, at once


@dataclass(frozen=True, eq=False)
class Plan:
    """What points with the same knobs of model, data and policy share: the batches' amounts, and the plan laid out."""

    amounts: Traffic
    layout: Layout


@dataclass(frozen=True, eq=False)
class Refused:
    """A scenario that is refused, and the error that says why."""

    asked: Scenario
    error: EmberpoolError

    @property
    def result(self) -> Result:
        """The refusal as a result that did not run, without numbers."""
        return Result(self.asked, ran=False, outcome=str(self.error), results={})


@dataclass(frozen=True, eq=False)
class Point:
    """A scenario ready to be scheduled."""

    asked: Scenario
    machinery: Machinery
    plan: Plan


class Whole(NamedTuple):
    """A run that nothing cuts, in seconds and bytes; `cells` are busy seconds and joules, `waits` what checkpoints expose."""

    elapsed: float
    cells: list[list[float]]
    written: float
    media: float
    waits: float


class Observed(NamedTuple):
    """A point's averages over its window, the oldest log at a commit in batches, and its whole run if that was asked for."""

    average: Steady
    stale: int
    whole: Whole | None


Told = TypeVar("Told")


def each(
    ready: Iterable[Point | Result | Refused], tell: Callable[[Point, Observed], Told], whole: bool = False
) -> list[Told | Result | Refused]:
    """Return what is to be told of each point, or what was already known of it.

    It is told as soon as it is known: all reports at once would keep Python's garbage collector busy.
    """
    found: list[Any] = list(ready)
    groups: dict[Plan, dict[int, Point]] = {}
    for i, point in enumerate(found):
        if isinstance(point, Point):
            groups.setdefault(point.plan, {})[i] = point
    for plan, points in groups.items():
        numbers = list(points)
        step = max(1, MOST_AMOUNTS // (len(plan.layout.demands) * plan.layout.kinds))
        for first in range(0, len(numbers), step):
            some = numbers[first : first + step]
            for i, seen in _observed(plan.layout, [points[number].machinery.devices for number in some], whole):
                found[some[i]] = tell(points[some[i]], seen)
    return found


def _observed(layout: Layout, machines: Sequence[Mapping[str, Device]], whole: bool) -> Iterator[tuple[int, Observed]]:
    taken = _taken(layout, machines)
    queued = _queued_at(layout, taken)
    for demand in np.unique(queued):
        mine = np.flatnonzero(queued == demand)
        nothing = np.zeros((len(layout.kind), len(layout.graph.tasks)))
        template = template_of(with_log_queued_at(layout.graph, int(demand)), nothing)
        room = totals(len(mine) if whole else 0, len(layout.kind), len(layout.cells))
        seen = observe(template, layout.kind, layout.accounts, _of(taken, mine), room)
        averages = steadies(seen, layout.devices, layout.cells)
        runs: Iterable[Whole | None] = _wholes(layout, seen, room) if whole else repeat(None)
        for i, stale, average, run in zip(mine.tolist(), seen.stale.tolist(), averages, runs, strict=False):
            yield i, Observed(average, stale, run)


def _wholes(layout: Layout, seen: Averages, room: Totals) -> Iterator[Whole]:
    """Return whole runs: of each batch's time, its checkpoint is what checkpoints expose of a mean one, if it is that long."""
    logs = [c for c, (stage, _) in enumerate(layout.cells) if stage == "Checkpoint"]
    exposed = seen.cells[:, logs, EXPOSED].sum(axis=1)
    ends = room.ends.copy()
    ends[:, -1] = room.makespan
    waits = np.minimum(exposed[:, None], np.diff(ends, prepend=0.0, axis=1)).sum(axis=1)
    columns = (room.makespan, room.cells, room.written, room.media, waits)
    return starmap(Whole, zip(*(column.tolist() for column in columns), strict=True))


def _of(taken: Taken, machines: Any) -> Taken:
    """Return what some of the machines take."""
    return taken._replace(row=taken.row[machines], busy_watts=taken.busy_watts[machines], idle_watts=taken.idle_watts[machines])


def _taken(layout: Layout, machines: Sequence[Mapping[str, Device]]) -> Taken:
    """Gather what each machine's devices take; a device that several machines have is asked once."""
    row, costs, rows = np.empty((len(machines), len(layout.demands)), dtype=np.int64), [], 0
    for name, mine in layout.mine.items():
        different = {id(machine[name]): machine[name] for machine in machines}
        first = {one: rows + i * len(mine) for i, one in enumerate(different)}
        row[:, mine] = np.array([first[id(machine[name])] for machine in machines])[:, None] + np.arange(len(mine))
        costs += [layout.taken(name, device) for device in different.values()]
        rows += len(different) * len(mine)
    watts = np.array([[(d.busy_watts, d.idle_watts) for d in machine.values()] for machine in machines], dtype=np.float64)
    busy, idle = np.ascontiguousarray(watts[:, :, 0]), np.ascontiguousarray(watts[:, :, 1])
    seconds, joules, stored = (np.concatenate(each) for each in zip(*costs, strict=True))
    return Taken(row, seconds, joules, stored, layout.written, busy, idle)


def _queued_at(layout: Layout, taken: Taken) -> Any:
    """Return for each machine the demand of the rolling log, by number, in whose lane it waits: the slowest."""
    logs = [k for k, task in enumerate(layout.graph.tasks) if task.during]
    if not logs:
        return np.zeros(len(taken.row), dtype=np.int64)
    mine = np.flatnonzero(layout.accounts.task == logs[0])
    every = (taken.seconds * np.bincount(layout.kind, minlength=layout.kinds)).sum(axis=1)
    return np.argmax(every[taken.row[:, mine]], axis=1)
