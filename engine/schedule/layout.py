"""A plan laid out as arrays: what every design point with the same plan shares, and what each device takes for its part.

D demands of K tasks ask V devices for work in N batches. Few batches differ from each other: `kind` says which of R each is
like, and costs are computed for these alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.graph import STAGES, Demand, Task, TaskGraph
from ..core.work import Work, written
from ..hardware.columns import costs_of
from ..hardware.device import Device, slowest
from .kernels.template import ONCE, TASK, Accounts, Stretch, Taken, Template, stretches

MOST_COSTS, TOGETHER = 1024, 8  # devices whose costs are remembered; so many at once are asked together
FEW_KINDS, FEW_COLUMNS = 16, 256  # so few kinds of batches are found one by one, and so few batches sorted at once


class Costs(NamedTuple):
    """What P devices take for their d demands, (R, d P): seconds, joules by amounts, bytes that their media store."""

    seconds: Floats
    joules: Floats
    stored: Floats


@dataclass(frozen=True, eq=False)
class PlanLayout:
    """The arrays of a plan; `cells` are the (stage, device) of the breakdown's rows, `mine` the demands of each device.

    `written` (D, R) are bytes stored into persistent memory. The batches of `stretch` stand for more of them.
    `costs` remembers what devices took, by identity.
    """

    graph: TaskGraph
    devices: tuple[str, ...]
    demands: tuple[Demand, ...]
    kind: Ints
    kinds: int
    accounts: Accounts
    cells: tuple[tuple[str, str], ...]
    mine: Mapping[str, Ints]
    written: Floats
    stretch: Stretch = ONCE
    costs: dict[int, tuple[Device, Costs]] = field(default_factory=dict)

    def taken(self, machines: Sequence[Mapping[str, Device]]) -> Taken:
        """Gather what each machine's devices take, of a demand side by side; a device that several have is asked once."""
        row, costs, rows = np.empty((len(machines), len(self.demands)), dtype=np.int64), [], 0
        for name, mine in self.mine.items():
            if len(mine) == 0:
                continue
            every = [machine[name] for machine in machines]
            different = dict(zip(map(id, every), every, strict=True))
            place = dict(zip(different, range(len(different)), strict=True))
            which = np.fromiter(map(place.__getitem__, map(id, every)), np.int64, len(every))
            row[:, mine] = rows + which[:, None] + np.arange(len(mine)) * len(different)
            costs.append(self._taken_by(name, [*different.values()]))
            rows += len(different) * len(mine)
        seconds, joules, stored = (np.ascontiguousarray(np.concatenate(some, axis=1).T) for some in zip(*costs, strict=True))
        watts = np.array([[(d.busy_watts, d.idle_watts) for d in machine.values()] for machine in machines], dtype=np.float64)
        return Taken(row, seconds, joules, stored, self.written, *np.ascontiguousarray(watts.transpose(2, 0, 1)))

    def log_queues_at(self, taken: Taken) -> Ints:
        """Return for each machine the demand of the rolling log, by number, in whose lane it waits: the slowest, (P,).

        So a slow medium is never asked for more than it has.
        """
        logs = [k for k, task in enumerate(self.graph.tasks) if task.during]
        if not logs:
            return np.zeros(len(taken.row), dtype=np.int64)
        mine = np.flatnonzero(self.accounts.task == logs[0])
        every = (np.ascontiguousarray(taken.seconds) * np.bincount(self.kind, minlength=self.kinds)).sum(axis=1)
        found: Ints = np.argmax(every[taken.row[:, mine]], axis=1)
        return found

    def _taken_by(self, name: str, devices: Sequence[Device]) -> Costs:
        """Return what devices take, each demand's side by side; a few are asked one by one, and remembered."""
        if len(devices) >= TOGETHER:
            return self._costs(name, devices)
        for device in devices:
            if id(device) not in self.costs:
                if len(self.costs) >= MOST_COSTS:
                    self.costs.clear()
                self.costs[id(device)] = (device, self._costs(name, [device]))
        known = [self.costs[id(device)][1] for device in devices]
        return Costs(*[np.stack(some, axis=2).reshape(self.kinds, -1) for some in zip(*known, strict=True)])

    def _costs(self, name: str, devices: Sequence[Device]) -> Costs:
        def asked(what: str, of: Sequence[Work], wanted: bool = True) -> Floats:
            tables = [getattr(device, what) if wanted else {} for device in devices]
            return np.hstack([costs_of([table.get(type(work)) for table in tables], work, self.kinds) for work in of])

        works = [self.demands[d].work for d in self.mine[name]]
        return Costs(asked("seconds", [*map(slowest, works)]), asked("joules", works), asked("stored", works, name == "pmem"))


def by_kind(kinds: int, rows: list[Any]) -> Floats:
    """Return amounts, each one number or one for each kind of batch, as (len(rows), kinds)."""
    table = np.empty((len(rows), kinds))
    for row, amount in zip(table, rows, strict=True):
        row[:] = amount
    return table


def laid_out(graph: TaskGraph, devices: tuple[str, ...], batches: int, stretch: Stretch = ONCE) -> PlanLayout:
    """Lay out a plan of so many batches on the named devices; a `stretch` of them stands for more."""
    kind, example = _kinds(graph, batches)
    tasks = tuple(replace(task, demands=tuple(_of(example, batches, demand) for demand in task.demands)) for task in graph.tasks)
    accounts, cells = accounts_of(tasks, devices)
    demands = tuple(demand for task in tasks for demand in task.demands)
    stores = [written(demand.work) if demand.device == "pmem" else 0.0 for demand in demands]
    return PlanLayout(
        graph=TaskGraph(tasks),
        devices=devices,
        demands=demands,
        kind=kind,
        kinds=len(example),
        accounts=accounts,
        cells=cells,
        mine={name: np.flatnonzero(accounts.device == v) for v, name in enumerate(devices)},
        written=by_kind(len(example), stores),
        stretch=stretch,
    )


def accounts_of(tasks: tuple[Task, ...], devices: tuple[str, ...]) -> tuple[Accounts, tuple[tuple[str, str], ...]]:
    """Return where each demand is entered, and the stage and device of each cell, in the order of the breakdown's rows."""
    asked = [(k, task.stage, demand.device, demand.beside) for k, task in enumerate(tasks) for demand in task.demands]
    pairs = {(stage, device) for _, stage, device, _ in asked} | {("Other", device) for device in devices}
    cells = tuple(sorted(pairs, key=lambda pair: (STAGES.index(pair[0]), devices.index(pair[1]))))
    rows = [(k, devices.index(device), cells.index((stage, device)), beside) for k, stage, device, beside in asked]
    task, device, cell, beside = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    other = np.array([cells.index(("Other", device)) for device in devices], dtype=np.int64)
    return Accounts(task, device, cell, beside.astype(np.bool_), other, len(cells)), cells


def _kinds(graph: TaskGraph, batches: int) -> tuple[Ints, Ints]:
    """Return which kind each batch is of, (N,), and a batch of each kind, (R,)."""
    asked = (value for task in graph.tasks for demand in task.demands for value in vars(demand.work).values())
    amounts = {id(value): value for value in asked if _varies(value, batches)}
    changes = np.zeros(batches, dtype=np.bool_)
    for value in amounts.values():
        changes[1:] |= value[1:] != value[:-1]
    begun = np.flatnonzero(changes)  # where a batch differs from the one before; most runs have few such places
    if len(begun) == 0:
        return np.zeros(batches, dtype=np.int64), np.zeros(1, dtype=np.int64)
    begun = np.concatenate(([0], begun))
    example, kind = _distinct(np.stack([value[begun] for value in amounts.values()]))
    return np.repeat(kind, np.diff(begun, append=batches)), begun[example]


def _distinct(rows: Floats) -> tuple[Ints, Ints]:
    """Return the first of each kind of columns, in the order of their values, (R,), and of which kind each column is, (N,)."""
    firsts: list[int] = []
    kind, left = np.zeros(rows.shape[1], dtype=np.int64), np.arange(rows.shape[1])
    while len(left) > 0 and len(firsts) < FEW_KINDS and rows.shape[1] > FEW_COLUMNS:
        alike = (rows[:, left] == rows[:, left[:1]]).all(axis=0)
        kind[left[alike]] = len(firsts)
        firsts.append(int(left[0]))
        left = left[~alike]
    if len(left) > 0:  # there are more kinds: all columns are sorted
        firsts, kind = [*range(rows.shape[1])], np.arange(rows.shape[1])
    _, example, order = np.unique(rows[:, firsts], axis=1, return_index=True, return_inverse=True)
    return np.array(firsts)[example], order.reshape(-1)[kind]


def _varies(value: Any, batches: int) -> bool:
    """Return whether there is a value for each batch; a tuple describes the work, such as the widths of layers."""
    return isinstance(value, np.ndarray) and value.shape == (batches,)


def _of(example: Ints, batches: int, demand: Demand) -> Demand:
    """Return the demand in a batch of each kind alone."""
    short = {name: value[example] for name, value in vars(demand.work).items() if _varies(value, batches)}
    if not short:
        return demand
    work: Work = replace(demand.work, **short)
    return replace(demand, work=work)


def with_log_queued_at(graph: TaskGraph, demand: int) -> TaskGraph:
    """Let the rolling log wait in the lane of one of its demands, by number."""

    def queued(task: Task) -> Task:
        chosen = task.demands[demand]
        return replace(task, demands=(chosen, *(other for other in task.demands if other is not chosen)))

    return TaskGraph(tuple(queued(task) if task.during else task for task in graph.tasks))


def template_of(graph: TaskGraph, durations: Floats, alike: Ints | None = None) -> Template:
    """Return a graph as the arrays that the schedule works on; `durations` are (N, K) seconds, which say what is `alike`."""
    tasks = graph.tasks
    servers = {server: i for i, server in enumerate(dict.fromkeys(task.server for task in tasks))}
    rolls = [k for k, task in enumerate(tasks) if task.during]
    if len(rolls) > 1:
        raise ValueError("a graph can have one rolling log.")
    rows: list[tuple[int, ...]] = []
    followers: list[int] = []
    for task, same, later in zip(tasks, _followers(graph, "after"), _followers(graph, "after_previous"), strict=True):
        first, needs = len(followers), len(set(task.after))
        followers += same + later
        waits = needs, needs + len(set(task.after_previous))
        rows.append((servers[task.server], task.background, *waits, first, first + len(same), len(followers)))
    return Template(
        durations=durations,
        tasks=np.array(rows, TASK),
        followers=np.array(followers, dtype=np.int64),
        roll=rolls[0] if rolls else -1,
        gate=graph.index(tasks[rolls[0]].during) if rolls else -1,
        bound=tasks[rolls[0]].bound if rolls else 0,
        servers=len(servers),
        alike=stretches(durations) if alike is None else alike,
    )


def _followers(graph: TaskGraph, needs: str) -> list[list[int]]:
    """Return for each task the tasks that name it in their `needs`."""
    found: list[list[int]] = [[] for _ in graph.tasks]
    for k, task in enumerate(graph.tasks):
        for name in set(getattr(task, needs)):
            found[graph.index(name)].append(k)
    return found
