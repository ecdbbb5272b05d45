"""A plan laid out as arrays: what every design point with the same plan shares, and what each device takes for its part.

D demands of K tasks ask V devices for work in N batches. Few batches differ from each other: `kind` says which of R each is
like, and costs are computed for these alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.graph import STAGES, Demand, Task, TaskGraph
from ..core.work import Work, written
from ..hardware.device import Device
from .costs import Costs, costs_of, different, different_machines
from .kernels.template import ONCE, SECONDS, TASK, Accounts, Stretch, Taken, Template

MOST_COSTS, FEW = 1024, 8  # sets of devices whose costs are remembered, and the most devices in one
FEW_KINDS, FEW_COLUMNS = 16, 256  # so few kinds of batches are found one by one, and so few batches sorted at once


@dataclass(frozen=True, eq=False)
class PlanLayout:
    """The arrays of a plan; `cells` are the (stage, device) of the breakdown's rows, `demands_of` each device its demands.

    `written` (R, D) are bytes stored into persistent memory. The batches of `stretch` stand for more of them.
    `costs` remembers what devices took, by identity, and `queued` the graph's arrays by the demand in whose lane its log waits.
    """

    graph: TaskGraph
    devices: tuple[str, ...]
    demands: tuple[Demand, ...]
    kind: Ints
    kinds: int
    accounts: Accounts
    cells: tuple[tuple[str, str], ...]
    demands_of: Mapping[str, Ints]
    written: Floats
    stretch: Stretch = ONCE
    costs: dict[tuple[int, ...], tuple[Sequence[Device], Costs]] = field(default_factory=dict)
    queued: dict[int, tuple[TaskGraph, Template]] = field(default_factory=dict)

    def taken(self, machines: Sequence[Mapping[str, Device]]) -> tuple[Taken, Ints]:
        """Gather what different machines take, of a demand side by side, and say which of these each machine is.

        A device that several have is asked once; machines with the very same devices are one.
        """
        parts = {name: different([*map(itemgetter(name), machines)]) for name in self.demands_of}
        first, machine = different_machines([*parts.values()])
        column = np.empty((3, len(self.demands), len(first)), dtype=np.int64)
        watts, tables, width = np.empty((2, len(parts), len(first))), list[Floats](), 0
        for v, (name, (devices, device_of)) in enumerate(parts.items()):
            column_of = device_of[first] if len(devices) > 1 else device_of[:1]
            swing = [[*map(attrgetter(watts_of), devices)] for watts_of in ("busy_watts", "idle_watts")]
            watts[:, v] = np.array(swing, dtype=np.float64)[:, column_of]
            if len(self.demands_of[name]) > 0:
                costs = self._taken_by(name, devices)
                column[:, self.demands_of[name]] = costs.column[:, :, column_of] + width
                tables += costs.tables
                width += costs.width
        return Taken(column, np.concatenate(tables, axis=1, out=np.empty((self.kinds, width))), self.written, *watts), machine

    def log_queues_at(self, taken: Taken) -> Ints:
        """Return for each machine the demand of the rolling log, by number, in whose lane it waits: the slowest, (P,).

        So a slow medium is never asked for more than it has.
        """
        logs = [k for k, task in enumerate(self.graph.tasks) if task.during]
        if not logs:
            return np.zeros(taken.column.shape[2], dtype=np.int64)
        columns, column = np.unique(taken.column[SECONDS, self.accounts.task == logs[0]], return_inverse=True)
        seconds = np.ascontiguousarray(taken.costs[:, columns].T)
        totals = (seconds * np.bincount(self.kind, minlength=self.kinds)).sum(axis=1)
        slowest: Ints = np.argmax(totals[column].reshape(-1, taken.column.shape[2]), axis=0)
        return slowest

    def queued_at(self, demand: int) -> tuple[TaskGraph, Template]:
        """Return the graph with its log waiting in the lane of a demand, by number, and its arrays."""
        if demand not in self.queued:
            graph = with_log_queued_at(self.graph, demand)
            self.queued[demand] = graph, template_of(graph, len(self.kind))
        return self.queued[demand]

    def _taken_by(self, name: str, devices: Sequence[Device]) -> Costs:
        """Return what devices take, each demand's side by side; of a few it is remembered."""
        identities = tuple(map(id, devices))
        if identities in self.costs:
            return self.costs[identities][1]
        costs = costs_of(devices, [self.demands[d].work for d in self.demands_of[name]], self.kinds, name == "pmem")
        if len(devices) <= FEW:
            if len(self.costs) >= MOST_COSTS:
                self.costs.clear()
            self.costs[identities] = (devices, costs)
        return costs


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
        demands_of={name: np.flatnonzero(accounts.device == v) for v, name in enumerate(devices)},
        written=np.stack([np.broadcast_to(amount, len(example)) for amount in stores], axis=1).copy(),
        stretch=stretch,
    )


def accounts_of(tasks: tuple[Task, ...], devices: tuple[str, ...]) -> tuple[Accounts, tuple[tuple[str, str], ...]]:
    """Return where each demand is entered, and the stage and device of each cell, in the order of the breakdown's rows."""
    entries = [(k, task.stage, demand.device, demand.beside) for k, task in enumerate(tasks) for demand in task.demands]
    pairs = {(stage, device) for _, stage, device, _ in entries} | {("Other", device) for device in devices}
    cells = tuple(sorted(pairs, key=lambda pair: (STAGES.index(pair[0]), devices.index(pair[1]))))
    rows = [(k, devices.index(device), cells.index((stage, device)), beside) for k, stage, device, beside in entries]
    task, device, cell, beside = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    other = np.array([cells.index(("Other", device)) for device in devices], dtype=np.int64)
    return Accounts(task, device, cell, beside.astype(np.bool_), other, len(cells)), cells


def _kinds(graph: TaskGraph, batches: int) -> tuple[Ints, Ints]:
    """Return which kind each batch is of, (N,), and a batch of each kind, (R,)."""
    fields = (amount for task in graph.tasks for demand in task.demands for amount in vars(demand.work).values())
    amounts = {id(amount): amount for amount in fields if _varies(amount, batches)}
    changes = np.zeros(batches, dtype=np.bool_)
    for amount in amounts.values():
        changes[1:] |= amount[1:] != amount[:-1]
    changed = np.flatnonzero(changes)  # where a batch differs from the one before; most runs have few such places
    if len(changed) == 0:
        return np.zeros(batches, dtype=np.int64), np.zeros(1, dtype=np.int64)
    changed = np.concatenate(([0], changed))
    example, kind = _distinct(np.stack([amount[changed] for amount in amounts.values()]))
    return np.repeat(kind, np.diff(changed, append=batches)), changed[example]


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


def _varies(amount: Any, batches: int) -> bool:
    """Return whether there is a value for each batch; a tuple describes the work, such as the widths of layers."""
    return isinstance(amount, np.ndarray) and amount.shape == (batches,)


def _of(example: Ints, batches: int, demand: Demand) -> Demand:
    """Return the demand in a batch of each kind alone."""
    short = {name: amount[example] for name, amount in vars(demand.work).items() if _varies(amount, batches)}
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


def template_of(graph: TaskGraph, batches: int) -> Template:
    """Return a graph as the arrays that the schedule works on, for so many batches."""
    tasks = graph.tasks
    servers = {server: i for i, server in enumerate(dict.fromkeys(task.server for task in tasks))}
    rolls = [k for k, task in enumerate(tasks) if task.during]
    if len(rolls) > 1:
        raise ValueError("a graph can have one rolling log.")
    rows: list[tuple[int, ...]] = []
    followers: list[int] = []
    for task, same, later in zip(tasks, _followers(graph, "after"), _followers(graph, "after_previous"), strict=True):
        first, needs, apart = len(followers), len(set(task.after)), _apart(task, tasks)
        followers += same + later
        waits = needs, needs + len(set(task.after_previous))
        rows.append((servers[task.server], task.background, apart, *waits, first, first + len(same), len(followers)))
    return Template(
        batches=batches,
        tasks=np.array(rows, TASK),
        followers=np.array(followers, dtype=np.int64),
        roll=rolls[0] if rolls else -1,
        gate=graph.index(tasks[rolls[0]].during) if rolls else -1,
        bound=tasks[rolls[0]].bound if rolls else 0,
        servers=len(servers),
    )


def _apart(task: Task, tasks: tuple[Task, ...]) -> bool:
    """Return whether a task waits for itself alone, nobody else for it, and its server is its own: it may run far ahead."""
    if (task.after, task.after_previous, task.background) != ((), (task.name,), False):
        return False
    near = [other.name for other in tasks if other.server == task.server or task.name in (*other.after, *other.after_previous)]
    return near == [task.name]


def _followers(graph: TaskGraph, needs: str) -> list[list[int]]:
    """Return for each task the tasks that name it in their `needs`."""
    followers: list[list[int]] = [[] for _ in graph.tasks]
    for k, task in enumerate(graph.tasks):
        for name in set(getattr(task, needs)):
            followers[graph.index(name)].append(k)
    return followers
