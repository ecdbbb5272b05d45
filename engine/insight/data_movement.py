"""Data movement in one batch: the payload that each task asks each device to read, update, write, pool or carry.

A byte counts once on every device that it passes, without the lines, copies and hops that a device makes of it. What layers
move within a GPU or a host's caches is theirs alone and is not counted.
"""

from dataclasses import dataclass

import numpy as np

from ..core.work import (
    AllReduce,
    AllToAll,
    Amount,
    Copy,
    Direct,
    Fetch,
    HostRows,
    Move,
    Persist,
    Pool,
    RowLog,
    RowReads,
    RowUpdates,
    Stream,
    Work,
    written,
)
from ..scenario.scenario import Scenario
from ..schedule.machine import expected_line, machine_of, settle
from ..schedule.steady_state import ran


@dataclass(frozen=True)
class DataMove:
    """What one task moves on one device in a mean steady batch, in bytes; `way` is "" for work that only computes."""

    task: str
    stage: str
    device: str
    lane: str
    way: str
    nbytes: float

    @property
    def place(self) -> str:
        """Where and how: a link's direction where it has one, as in "cxl out", else the way, as in "pmem read"."""
        return f"{self.device} {self.lane if self.way == 'carried' and self.lane else self.way}"


def data_moves(scenario: Scenario) -> tuple[DataMove, ...]:
    """Return what moves in a batch of the estimate, a row for each task and device; nothing for what does not fit."""
    settled = settle(scenario)
    if settled.problems:
        return ()
    line = expected_line(machine_of(settled.scenario))
    batches = line.window()[2]
    shares = ran(line, batches)
    rows = []
    for share, task in zip(shares, line.graph.tasks, strict=True):
        for demand in task.demands:
            way, amount = payload(demand.work)
            nbytes = share * float(np.mean(np.atleast_1d(amount)[-batches:]))
            rows.append(DataMove(task.name, task.stage, demand.device, demand.lane, way, nbytes))
    return tuple(rows)


def payload(work: Work) -> tuple[str, Amount]:
    """Return how a piece of work moves bytes, and how many; a home write was counted with its update."""
    match work:
        case Move() | Copy() | Direct() | Fetch():
            return "carried", work.nbytes
        case AllToAll() | AllReduce():
            return "exchanged", work.nbytes
        case Pool():
            return "pooled", work.nbytes
        case RowReads():
            return "read", work.rows * work.row_bytes
        case RowUpdates():
            return "updated", work.rows * work.row_bytes
        case HostRows():
            return "gathered", work.rows * work.row_bytes
        case Stream(write=False):
            return "read", work.nbytes
        case RowLog() | Stream() | Persist():
            return "written", written(work)
    return "", 0.0
