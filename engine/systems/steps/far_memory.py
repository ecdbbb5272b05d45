"""Steps of scale-out systems: rows outside HBM, which GPUs read and write through PCIe, and the exchange between GPUs."""

import numpy as np

from ...core.graph import Demand, Task
from ...core.work import Amount, Copy, Pool, RowReads, RowUpdates
from ...scenario.scenario import Scenario
from ..traffic import Traffic
from . import gpu, shared

Names = tuple[str, ...]
ENDS = ("Embedding update", "Bottom MLP backward")


def end_of_batch(s: Scenario) -> Names:
    """Return the tasks that a batch ends with: training is synchronous, and nothing foreground runs past them."""
    return (*ENDS, *(("All-reduce",) if s.machine.num_gpus > 1 else ()))


def next_batch(amount: Amount) -> Amount:
    """Return the next batch's amounts; the first batch's rows are charged to the last, so that none is lost."""
    return np.roll(amount, -1)


def read(t: Traffic, name: str, rows: Amount, after: Names = (), after_previous: Names = (), background: bool = False) -> Task:
    """GPUs gather `rows` rows from DRAM through PCIe; in the background they do it only while they are idle."""
    demands = (
        Demand("gpu", Pool(rows * t.vector_bytes)),
        Demand("dram", RowReads(rows, t.vector_bytes)),
        Demand("pcie", Copy(rows * t.vector_bytes), gpu.UP),
    )
    return Task(name, "Embedding", demands, after, after_previous, background)


def step(s: Scenario, t: Traffic, far: Amount, looked_up_after: Names = (), updated_after: Names = ()) -> tuple[Task, ...]:
    """One synchronous batch over all GPUs, whose `far` rows are written back to DRAM with the update."""
    indices, arrived = index_exchange(s, t)
    pooled, forward = gpu.exchange(s, "Pooled all-to-all", t.pooled_bytes, ("Embedding lookup",))
    gradients, backward = gpu.exchange(s, "Gradient all-to-all", t.pooled_bytes, ("Top MLP",))
    return (
        gpu.training_loop(),
        gpu.features(t, "Embedding lookup"),
        *indices,
        gpu.lookup(t, looked_up_after or arrived, end_of_batch(s)),
        *pooled,
        shared.bottom_forward(s, end_of_batch(s)),
        shared.top(s, ("Bottom MLP forward", *forward)),
        *gradients,
        shared.bottom_backward(s, ("Top MLP",)),
        *gpu.all_reduce(s, t, ("Bottom MLP backward",)),
        *_update(t, far, (*backward, *updated_after)),
    )


def index_exchange(s: Scenario, t: Traffic) -> tuple[tuple[Task, ...], Names]:
    """Send each row's index to the GPU that has the row; return the task, and what to wait for."""
    return gpu.exchange(s, "Index all-to-all", t.feature_bytes, ("Sparse features",))


def _update(t: Traffic, far: Amount, after: Names) -> tuple[Task, Task]:
    """The update's kernel writes each row where it lives, at the pace of the slowest memory or link."""
    spread, update = gpu.update(t, t.rows, after)
    write = (Demand("dram", RowUpdates(far, t.row_bytes)), Demand("pcie", Copy(far * t.row_bytes), gpu.DOWN))
    return spread, Task(update.name, update.stage, (*update.demands, *write), update.after)
