"""Data movement in one batch: the payload that each task asks each device to read, update, write, pool or carry.

A byte counts once on every device that it passes, without the lines, copies and hops that a device makes of it. What layers
move within a GPU or a host's caches is theirs alone and is not counted.
"""

from dataclasses import dataclass

import numpy as np

from ..core import work
from ..core.row_sizes import mean_bytes
from ..scenario.scenario import Scenario
from ..schedule.machine import expected_line, machine_of, settle


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
    line = expected_line(machine_of(settled))
    rows = []
    for share, task in zip(line.ran.tolist(), line.graph.tasks, strict=True):
        for demand in task.demands:
            way, amount = payload(demand.work)
            nbytes = share * float(np.mean(amount))
            rows.append(DataMove(task.name, task.stage, demand.device, demand.lane, way, nbytes))
    return tuple(rows)


def payload(done: work.Work) -> tuple[str, work.Amount]:
    """Return how a piece of work moves bytes, and how many; a home write was counted with its update."""
    match done:
        case work.Move() | work.Copy() | work.Direct() | work.Fetch():
            return "carried", done.nbytes
        case work.AllToAll() | work.AllReduce():
            return "exchanged", done.nbytes
        case work.Pool():
            return "pooled", done.nbytes
        case work.RowReads():
            return "read", done.rows * mean_bytes(done.row_bytes)
        case work.RowUpdates():
            return "updated", done.rows * mean_bytes(done.row_bytes)
        case work.HostRows():
            return "gathered", done.rows * mean_bytes(done.row_bytes)
        case work.Stream(write=False):
            return "read", done.nbytes
        case work.RowLog() | work.Stream() | work.Persist():
            return "written", work.written(done)
    return "", 0.0
