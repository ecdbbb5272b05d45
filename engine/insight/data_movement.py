"""Data movement in one batch: the payload of each task on each device.

A device reads, updates, writes, pools or carries the payload.
A byte counts once on each device that it passes. The larger lines, extra copies and hops within a device are not counted, nor
are bytes that layers move within a GPU or within a host's caches. Rows that a GPU accesses across a link one by one count as the
whole lines of a CXL link, or the whole sectors of a GPU, in which they cross.
"""

from dataclasses import dataclass

import numpy as np

from ..core import work
from ..core.row_sizes import granule_bytes, mean_bytes
from ..hardware.devices.gpu import SECTOR
from ..scenario.scenario import Scenario
from ..schedule.machine import expected_timeline, machine_of, settle
from ..systems.steps.wires import PORT


@dataclass(frozen=True)
class DataMove:
    """Bytes that one task moves on one device in a mean steady batch.

    task, stage: the task's name, and the stage that it belongs to.
    device, lane: the device, and the direction of a link, "" without one.
    way: carried, exchanged, pooled, read, updated, gathered or written; "" for work that only computes.
    nbytes: the payload [bytes].
    """

    task: str
    stage: str
    device: str
    lane: str
    way: str
    nbytes: float

    @property
    def place(self) -> str:
        """The device with its direction, such as "cxl out" or "pmem read".

        For a link it is the direction, for another device the kind of access.
        """
        return f"{self.device} {self.lane if self.way == 'carried' and self.lane else self.way}"


def data_moves(scenario: Scenario) -> tuple[DataMove, ...]:
    """Return the data moves of an estimated batch, one for each task and device.

    Return () for a scenario that does not fit.
    """
    settled = settle(scenario)
    if settled.problems:
        return ()
    line = expected_timeline(machine_of(settled))
    rows = []
    for share, task in zip(line.ran_shares.tolist(), line.graph.tasks, strict=True):
        for demand in task.demands:
            if demand.device == PORT:
                continue  # whose bytes are those of the links behind it
            way, amount = payload(demand.work)
            nbytes = share * float(np.mean(amount))
            rows.append(DataMove(task.name, task.stage, demand.device, demand.lane, way, nbytes))
    return tuple(rows)


def payload(task_work: work.Work) -> tuple[str, work.Amount]:
    """Return how a task's work moves bytes, such as "read", and the number of bytes.

    The way is "" and the number 0 for work that only computes. A home write is counted with its update.
    """
    match task_work:
        case work.Move() | work.Copy() | work.Fetch():
            return "carried", task_work.nbytes
        case work.Direct():
            return "carried", task_work.rows * granule_bytes(task_work.row_bytes, SECTOR)
        case work.AllToAll() | work.AllReduce():
            return "exchanged", task_work.nbytes
        case work.Pool():
            return "pooled", task_work.nbytes
        case work.RowReads():
            return "read", task_work.rows * mean_bytes(task_work.row_bytes)
        case work.RowUpdates():
            return "updated", task_work.rows * mean_bytes(task_work.row_bytes)
        case work.HostRows():
            return "gathered", task_work.rows * mean_bytes(task_work.row_bytes)
        case work.Stream(write=False):
            return "read", task_work.nbytes
        case work.RowLog() | work.Stream() | work.Persist():
            return "written", work.written_bytes(task_work)
    return "", 0.0
