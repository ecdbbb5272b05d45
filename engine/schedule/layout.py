"""A plan laid out as arrays: what every design point with the same plan shares, and what each device takes for its part.

D demands of K tasks ask V devices for work in N batches. Few batches differ from each other: `kind` says which of R each is
like, and costs are computed for these alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.graph import STAGES, Demand, Task, TaskGraph
from ..core.work import Work, written
from ..hardware.device import Device, joules, seconds, stored
from .kernels.template import Accounts

MOST_COSTS = 1024


class Costs(NamedTuple):
    """What one device takes for its demands, (d, R): seconds, joules by amounts, bytes that its media stores."""

    seconds: Floats
    joules: Floats
    stored: Floats


@dataclass(frozen=True, eq=False)
class PlanLayout:
    """The arrays of a plan; `cells` are the (stage, device) of the breakdown's rows, `mine` the demands of each device.

    `written` (D, R) are bytes stored into persistent memory. `costs` remembers what devices took, by identity.
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
    costs: dict[int, tuple[Device, Costs]] = field(default_factory=dict)

    def taken(self, name: str, device: Device) -> Costs:
        """Return what a device takes for its demands."""
        known = self.costs.get(id(device))
        if known is None:
            if len(self.costs) >= MOST_COSTS:
                self.costs.clear()
            known = self.costs[id(device)] = (device, self._costs(name, device))
        return known[1]

    def _costs(self, name: str, device: Device) -> Costs:
        works = [self.demands[d].work for d in self.mine[name]]
        stores = [stored(device, work) if name == "pmem" else 0.0 for work in works]
        return Costs(
            by_kind(self.kinds, [seconds(device, work) for work in works]),
            by_kind(self.kinds, [joules(device, work) for work in works]),
            by_kind(self.kinds, stores),
        )


def by_kind(kinds: int, rows: list[Any]) -> Floats:
    """Return amounts, each one number or one for each kind of batch, as (len(rows), kinds)."""
    table = np.empty((len(rows), kinds))
    for row, amount in zip(table, rows, strict=True):
        row[:] = amount
    return table


def laid_out(graph: TaskGraph, devices: tuple[str, ...], batches: int) -> PlanLayout:
    """Lay out a plan of so many batches on the named devices."""
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
    amounts = [
        value
        for task in graph.tasks
        for demand in task.demands
        for value in vars(demand.work).values()
        if _varies(value, batches)
    ]
    if not amounts:
        return np.zeros(batches, dtype=np.int64), np.zeros(1, dtype=np.int64)
    _, example, kind = np.unique(np.stack(amounts), axis=1, return_index=True, return_inverse=True)
    return kind.reshape(-1).astype(np.int64), example.astype(np.int64)


def _varies(value: Any, batches: int) -> bool:
    """Return whether there is a value for each batch; a tuple describes the work, such as the widths of layers."""
    return isinstance(value, np.ndarray) and value.shape == (batches,)


def _of(example: Ints, batches: int, demand: Demand) -> Demand:
    """Return the demand in a batch of each kind alone."""
    short = {name: value[example] for name, value in vars(demand.work).items() if _varies(value, batches)}
    work: Work = replace(demand.work, **short)
    return replace(demand, work=work)
