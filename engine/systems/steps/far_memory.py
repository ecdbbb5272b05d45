"""Tasks of systems with rows outside HBM, which GPUs read and write through PCIe."""

from dataclasses import replace

import numpy as np

from ...core.graph import Demand, Names, Task
from ...core.row_sizes import mean_bytes
from ...core.work import Amount, Copy, Pool, RowReads, RowUpdates
from ...scenario.scenario import Scenario
from ..exchange import collectives
from ..system import Settled
from ..traffic import Traffic
from . import gpu


def end_of_batch(s: Scenario) -> Names:
    """Return the names of the last tasks of a batch.

    Training is synchronous: no foreground task of the next batch may start before they end.
    """
    return ("Embedding update", *collectives.mlp_done(s))


def next_batch(amount: Amount) -> Amount:
    """Return amounts shifted by one batch: batch n gets the amounts of batch n + 1.

    The last batch gets the amounts of the first batch.
    """
    return np.roll(amount, -1)


def read_far_rows(
    settled: Settled,
    t: Traffic,
    name: str,
    rows: Amount,
    predecessors: Names = (),
    previous_batch_predecessors: Names = (),
    background: bool = False,
) -> Task:
    """Return the task that gathers `rows` rows with their state from DRAM through PCIe.

    `background`: True if GPUs do so only while they are idle.
    """
    skews, row = settled.placement.far_skews, t.sizes.far_row
    demands = (
        Demand("gpu", Pool(rows * mean_bytes(row), skew=skews.gpu)),
        Demand("dram", RowReads(rows, row, requester="gpu", skew=skews.node)),
        Demand("pcie", Copy(rows * mean_bytes(row), skew=skews.gpu), gpu.TO_GPU),
    )
    return Task(name, "Embedding", demands, predecessors, previous_batch_predecessors, background)


def step_in_the_open(settled: Settled, t: Traffic, name: str, far_rows: Amount) -> tuple[Task, ...]:
    """Return the tasks of a batch that reads `far_rows` rows without overlap.

    The rows are read after the exchange of indices and before the lookup.
    """
    fetch = read_far_rows(settled, t, name, far_rows, collectives.index_exchange(settled)[1], end_of_batch(settled.scenario))
    return (fetch, *step(settled, t, far_rows, (fetch.name,)))


def step(
    settled: Settled, t: Traffic, far_rows: Amount, looked_up_after: Names = (), updated_after: Names = ()
) -> tuple[Task, ...]:
    """Return the tasks of one synchronous batch over all GPUs, with `far_rows` rows in DRAM.

    The update writes each row to the memory that holds it; the slowest memory or link decides its time. `looked_up_after` and
    `updated_after` are further tasks that lookup and update wait for.
    """
    batch_end, skews = end_of_batch(settled.scenario), settled.placement.far_skews
    *earlier_tasks, update = gpu.step_over_all(settled, t, batch_end, batch_end, looked_up_after, updated_after)
    write = (
        Demand("dram", RowUpdates(far_rows, t.sizes.far_row, "gpu", skew=skews.node)),
        Demand("pcie", Copy(far_rows * mean_bytes(t.sizes.far_row), skew=skews.gpu), gpu.FROM_GPU),
    )
    return (*earlier_tasks, replace(update, demands=(*update.demands, *write)))
