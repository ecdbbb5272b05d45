"""A plan laid out as arrays, and the costs of its demands on devices.

All design points with the same plan share the arrays.
The plan has D demands of K tasks for work of V devices, in N batches. Most batches have the same amounts of work: `kind` has
the kind of each batch, 0 to R-1, and costs are computed once per kind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.graph import STAGES, Demand, Task, TaskGraph
from ..core.points.answers import are_together
from ..core.points.parts import at_point, number_of_points
from ..core.points.per_point import NotTogether, PerPoint, agreed
from ..core.work import Work, written_bytes
from ..hardware.device import Device
from ..hardware.device_stacks import amount_columns
from .costs import Costs, costs_of, costs_of_points, distinct_by_identity, distinct_machines
from .kernels.template import NO_REPEAT, SECONDS, TASK, Accounts, DemandCosts, Stretch, Template

MAX_COSTS, MAX_DEVICES = 64, 8  # limits: sets of devices whose costs are remembered, and devices in a set
MAX_COLUMNS, BLOCK = 256, 65_536  # limits: batches whose amounts are sorted at once, and batches at a time in a long run
MAX_KINDS = 16  # kinds of batches that design points may have to be planned together


@dataclass(frozen=True, eq=False)
class PlanLayout:
    """The arrays of a plan.

    The plan has D demands of K tasks on V devices, in N batches of R kinds.

    graph: the task graph.
    devices: the names of the V devices.
    demands: the D demands of all tasks, in order.
    kind: the kind of each batch, (N,).
    kinds: the number R of kinds.
    accounts: the task, device and breakdown cell of each demand.
    cells: (stage, device) of each row of the breakdown.
    demands_of: the indices of the demands of each device, by device name.
    written_bytes: bytes that each demand writes to persistent memory, (R, D).
    stretch: the scheduled batches that the represented run repeats.
    points: the number of design points if their amounts of work differ, else 0; amounts are then `PerPoint`.
    costs: a cache of computed costs, by the identities of the devices.
    graphs_by_log_queue: a cache of the graph and its arrays, by the demand whose lane holds the rolling log.
    """

    graph: TaskGraph
    devices: tuple[str, ...]
    demands: tuple[Demand, ...]
    kind: Ints
    kinds: int
    accounts: Accounts
    cells: tuple[tuple[str, str], ...]
    demands_of: Mapping[str, Ints]
    written_bytes: Any
    stretch: Stretch = NO_REPEAT
    points: int = 0
    costs: dict[tuple[int, ...], tuple[Sequence[Device], Costs]] = field(default_factory=dict)
    graphs_by_log_queue: dict[int, tuple[TaskGraph, Template]] = field(default_factory=dict)

    def demand_costs(self, machines: Sequence[Mapping[str, Device]]) -> tuple[DemandCosts, Ints]:
        """Return the costs on the distinct machines, and each given machine's index among them.

        Machines with the very same device objects count as one machine. The costs of a device that several machines have are
        computed once.
        """
        parts = {name: distinct_by_identity([*map(itemgetter(name), machines)]) for name in self.demands_of}
        if self.points and len(machines) != self.points:
            raise NotTogether("costs of fewer machines than there are design points.")
        if self.points:  # each machine has amounts of its own
            representatives = machine = np.arange(len(machines))
        else:
            representatives, machine = distinct_machines([*parts.values()])
        column = np.empty((3, len(self.demands), len(representatives)), dtype=np.int64)
        watts, tables, width = np.empty((2, len(parts), len(representatives))), list[Floats](), 0
        for v, (name, (devices, device_of)) in enumerate(parts.items()):
            column_of = device_of[representatives] if len(devices) > 1 else device_of[:1]
            swing = [[*map(attrgetter(watts_of), devices)] for watts_of in ("busy_watts", "idle_watts")]
            watts[:, v] = np.array(swing, dtype=np.float64)[:, column_of]
            if len(self.demands_of[name]) > 0:
                costs = self._device_costs(name, devices, device_of)
                columns = costs.column if costs.column.shape[2] == len(machines) else costs.column[:, :, column_of]
                column[:, self.demands_of[name]] = columns + width
                tables += costs.tables
                width += costs.width
        written_bytes = self.written_bytes
        if isinstance(written_bytes, PerPoint):
            written_bytes = np.ascontiguousarray(np.moveaxis(written_bytes.values, 0, -1)).reshape(self.kinds, -1)
        return DemandCosts(
            column, np.concatenate(tables, axis=1, out=np.empty((self.kinds, width))), written_bytes, *watts
        ), machine

    def log_queues_at(self, demand_costs: DemandCosts) -> Ints:
        """Return the index of the rolling log's slowest demand for each machine, (P,).

        The index counts the log's demands. The log waits in the lane of this demand's device, so it never uses a slow medium
        beyond that medium's rate. The result is 0 for a plan without a rolling log.
        """
        logs = [k for k, task in enumerate(self.graph.tasks) if task.gate_task]
        if not logs:
            return np.zeros(demand_costs.column.shape[2], dtype=np.int64)
        columns, column = np.unique(demand_costs.column[SECONDS, self.accounts.task == logs[0]], return_inverse=True)
        seconds = np.ascontiguousarray(demand_costs.costs[:, columns].T)
        totals = (seconds * np.bincount(self.kind, minlength=self.kinds)).sum(axis=1)
        slowest: Ints = np.argmax(totals[column].reshape(-1, demand_costs.column.shape[2]), axis=0)
        return slowest

    def graph_queued_at(self, demand: int) -> tuple[TaskGraph, Template]:
        """Return the task graph with the log in one demand's lane, and its arrays.

        `demand` is the index of this demand among the rolling log's demands.
        """
        if demand not in self.graphs_by_log_queue:
            graph = with_log_queued_at(self.graph, demand)
            self.graphs_by_log_queue[demand] = graph, template_of(graph, len(self.kind))
        return self.graphs_by_log_queue[demand]

    def _device_costs(self, name: str, devices: Sequence[Device], device_of: Ints) -> Costs:
        """Return the costs of devices, each demand's side by side; of each design point if amounts differ between points.

        Costs of few devices are remembered.
        """
        works = [self.demands[d].work for d in self.demands_of[name]]
        if self.points:
            return costs_of_points(devices, device_of, works, self.kinds)
        identities = tuple(map(id, devices))
        if identities in self.costs:
            return self.costs[identities][1]
        costs = costs_of(devices, works, self.kinds)
        if len(devices) <= MAX_DEVICES:
            if len(self.costs) >= MAX_COSTS:
                self.costs.clear()
            self.costs[identities] = (devices, costs)
        return costs


def lay_out_plan(graph: TaskGraph, devices: tuple[str, ...], batches: int, stretch: Stretch = NO_REPEAT) -> PlanLayout:
    """Return the plan of `batches` batches on the named devices as arrays.

    The represented run repeats the batches of `stretch`.
    """
    kind, example = _kinds(graph, batches)
    tasks = tuple(
        replace(task, demands=tuple(_demand_by_kind(example, batches, demand) for demand in task.demands)) for task in graph.tasks
    )
    accounts, cells = accounts_of(tasks, devices)
    demands = tuple(demand for task in tasks for demand in task.demands)
    stores = [written_bytes(demand.work) if demand.device == "pmem" else 0.0 for demand in demands]
    return PlanLayout(
        graph=TaskGraph(tasks),
        devices=devices,
        demands=demands,
        kind=kind,
        kinds=len(example),
        accounts=accounts,
        cells=cells,
        demands_of={name: np.flatnonzero(accounts.device == v) for v, name in enumerate(devices)},
        written_bytes=_side_by_side(stores, len(example)),
        stretch=stretch,
        points=number_of_points(demands) if are_together() else 0,
    )


def _side_by_side(amounts: Sequence[Any], kinds: int) -> Any:
    """Return an amount of each demand in each kind of batch, (R, D); of each design point where amounts differ."""
    points = number_of_points(amounts) if are_together() else 0
    if not points:
        return np.stack([np.broadcast_to(amount, kinds) for amount in amounts], axis=1).copy()
    columns = [amount_columns(amount, kinds) for amount in amounts]
    stacked = np.stack([np.broadcast_to(column, (kinds, points)) for column in columns], axis=1)
    return PerPoint(np.ascontiguousarray(np.moveaxis(stacked, -1, 0)))


def accounts_of(tasks: tuple[Task, ...], devices: tuple[str, ...]) -> tuple[Accounts, tuple[tuple[str, str], ...]]:
    """Return the accounts of all demands, and the breakdown's cells (stage, device).

    The cells are in the order of the breakdown's rows.
    """
    entries = [
        (k, task.stage, demand.device, demand.lane, demand.excluded_from_busy)
        for k, task in enumerate(tasks)
        for demand in task.demands
    ]
    lanes = [*dict.fromkeys((device, lane) for _, _, device, lane, _ in entries)]
    pairs = {(stage, device) for _, stage, device, *_ in entries} | {("Other", device) for device in devices}
    cells = tuple(sorted(pairs, key=lambda pair: (STAGES.index(pair[0]), devices.index(pair[1]))))
    rows = [
        (k, devices.index(device), lanes.index((device, lane)), cells.index((stage, device)), is_parallel)
        for k, stage, device, lane, is_parallel in entries
    ]
    task, device, lane, cell, parallel_flags = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    idle_cells = np.array([cells.index(("Other", device)) for device in devices], dtype=np.int64)
    device_of_lane = np.array([devices.index(device) for device, _ in lanes], dtype=np.int64)
    return Accounts(task, device, lane, cell, parallel_flags.astype(np.bool_), idle_cells, device_of_lane, len(cells)), cells


def _kinds(graph: TaskGraph, batches: int) -> tuple[Ints, Ints]:
    """Return the kind of each batch, (N,), and one batch of each kind, (R,)."""
    fields = (amount for task in graph.tasks for demand in task.demands for amount in vars(demand.work).values())
    amounts = {id(amount): amount for amount in fields if _varies(amount, batches)}
    if are_together() and number_of_points([*amounts.values()]):
        amounts = _orders_agree(amounts)
    changes = np.zeros(batches, dtype=np.bool_)
    for amount in amounts.values():
        changes[1:] |= amount[1:] != amount[:-1]
    change_batches = np.flatnonzero(changes)  # where a batch differs from the one before; most runs have few such places
    if len(change_batches) == 0:
        return np.zeros(batches, dtype=np.int64), np.zeros(1, dtype=np.int64)
    change_batches = np.concatenate(([0], change_batches))
    example, kind = _distinct([*amounts.values()], change_batches)
    example = change_batches[example]
    if len(change_batches) == batches:
        return kind, example
    return np.repeat(kind, np.diff(change_batches, append=batches)), example


def _orders_agree(amounts: Mapping[int, Any]) -> dict[int, Floats]:
    """Return the first design point's amounts by batch.

    Raises Differ or NotTogether if other points have other kinds of batches, or the kinds in another order.
    """
    columns = [amount.values if isinstance(amount, PerPoint) else amount[None] for amount in amounts.values()]
    example, kind = _distinct([rows[0] for rows in columns], np.arange(columns[0].shape[1]))
    if len(example) > MAX_KINDS or not all((rows == rows[:, example[kind]]).all() for rows in columns):
        raise NotTogether("other kinds of batches.")
    order = np.zeros((number_of_points([*amounts.values()]), len(example), len(example)))
    for rows in columns:
        order = np.where(order == 0, np.sign(rows[:, example, None] - rows[:, None, example]), order)
    agreed(order)
    return {key: at_point(amount, 0) for key, amount in amounts.items()}


def _distinct(amounts: Sequence[Floats], places: Ints) -> tuple[Ints, Ints]:
    """Return the first place of each kind, in the order of their amounts, (R,), and the kind of each place, (n,)."""
    if len(places) <= MAX_COLUMNS:
        _, example, order = np.unique(
            np.stack([amount[places] for amount in amounts]), axis=1, return_index=True, return_inverse=True
        )
        return example, order.reshape(-1)
    kind, example, blocks = np.zeros(len(places), dtype=np.int64), np.zeros(1, dtype=np.int64), range(0, len(places), BLOCK)
    for amount in amounts:
        known_amounts = amount[places[example]]
        if all(np.array_equal(known_amounts[kind[n : n + BLOCK]], amount[places[n : n + BLOCK]]) for n in blocks):
            continue  # the amount tells no two batches of one kind apart
        different_amounts = np.unique(amount)
        for n in blocks:
            part = kind[n : n + BLOCK]
            part *= len(different_amounts)
            part += np.searchsorted(different_amounts, amount[places[n : n + BLOCK]])
        codes = np.unique(kind)
        example = np.empty(len(codes), dtype=np.int64)
        for n in reversed(blocks):  # so that each kind's first place is written last
            part = kind[n : n + BLOCK]
            part[:] = np.searchsorted(codes, part)
            example[part[::-1]] = np.arange(n, n + len(part))[::-1]
    return example, kind


def _varies(amount: Any, batches: int) -> bool:
    """Return whether an amount has a value for each batch.

    A tuple describes the work, such as the widths of layers.
    """
    return isinstance(amount, np.ndarray | PerPoint) and amount.shape == (batches,)


def _demand_by_kind(example: Ints, batches: int, demand: Demand) -> Demand:
    """Return the demand with one amount for each kind of batch instead of each batch."""
    kind_amounts = {name: amount[example] for name, amount in vars(demand.work).items() if _varies(amount, batches)}
    if not kind_amounts:
        return demand
    work: Work = replace(demand.work, **kind_amounts)
    return replace(demand, work=work)


def with_log_queued_at(graph: TaskGraph, demand: int) -> TaskGraph:
    """Return the graph with its rolling log in the lane of one demand.

    `demand` is the index of this demand among the log's demands.
    """

    def queued(task: Task) -> Task:
        log_demand = task.demands[demand]
        return replace(
            task, demands=(log_demand, *(other_demand for other_demand in task.demands if other_demand is not log_demand))
        )

    return TaskGraph(tuple(queued(task) if task.gate_task else task for task in graph.tasks))


def template_of(graph: TaskGraph, batches: int) -> Template:
    """Return a task graph as arrays for the event loop, for `batches` batches.

    Raises ValueError for a graph with several rolling logs.
    """
    tasks = graph.tasks
    servers = {server: i for i, server in enumerate(dict.fromkeys(task.server for task in tasks))}
    rolls = [k for k, task in enumerate(tasks) if task.gate_task]
    if len(rolls) > 1:
        raise ValueError("a graph can have one rolling log.")
    rows: list[tuple[int, ...]] = []
    followers: list[int] = []
    for task, same_batch, next_batch in zip(
        tasks, _followers(graph, "predecessors"), _followers(graph, "previous_batch_predecessors"), strict=True
    ):
        first_follower, needs, is_apart = len(followers), len(set(task.predecessors)), _is_apart(task, tasks)
        followers += same_batch + next_batch
        waits = needs, needs + len(set(task.previous_batch_predecessors))
        rows.append(
            (
                servers[task.server],
                task.background,
                is_apart,
                *waits,
                first_follower,
                first_follower + len(same_batch),
                len(followers),
            )
        )
    return Template(
        batches=batches,
        tasks=np.array(rows, TASK),
        followers=np.array(followers, dtype=np.int64),
        roll=rolls[0] if rolls else -1,
        gate=graph.index(tasks[rolls[0]].gate_task) if rolls else -1,
        staleness_bound=tasks[rolls[0]].staleness_bound if rolls else 0,
        servers=len(servers),
    )


def _is_apart(task: Task, tasks: tuple[Task, ...]) -> bool:
    """Return whether a task may run far ahead: it waits only for itself, no other task waits for it or shares its server."""
    if (task.predecessors, task.previous_batch_predecessors, task.background) != ((), (task.name,), False):
        return False
    related_names = [
        other_task.name
        for other_task in tasks
        if other_task.server == task.server or task.name in (*other_task.predecessors, *other_task.previous_batch_predecessors)
    ]
    return related_names == [task.name]


def _followers(graph: TaskGraph, needs: str) -> list[list[int]]:
    """Return for each task the tasks that name it in their `needs`."""
    followers: list[list[int]] = [[] for _ in graph.tasks]
    for k, task in enumerate(graph.tasks):
        for name in set(getattr(task, needs)):
            followers[graph.index(name)].append(k)
    return followers
