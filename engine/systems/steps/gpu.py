"""Tasks of systems whose GPUs hold embeddings: kernels on GPUs, collectives between GPUs."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from ...core.arrays import Floats
from ...core.graph import Demand, Names, Stage, Task
from ...core.row_sizes import RowBytes, joined_row_mix
from ...core.work import AllReduce, Amount, BottomMLP, Copy, Pool, RowUpdates, Work
from ...scenario.scenario import Scenario, dense_optimizer
from ...scenario.storage import mlp_state
from ..exchange import collectives
from ..exchange.crossing import NO_CROSSING
from ..exchange.replicas import vector_sent
from ..loop import training_loop
from ..system import Settled
from ..traffic import Traffic, tables_apart
from . import shared
from .lanes import FROM_GPU, TO_GPU

__all__ = ("FROM_GPU", "TO_GPU")


def features(t: Traffic, used_by: str, share: Amount = 1.0) -> Task:
    """Return the task that copies a `share` of the batch's row indices to the GPUs.

    It waits until the task `used_by` of the previous batch has used that batch's indices.
    """
    work = (Demand("pcie", Copy(share * t.feature_bytes), TO_GPU),)
    return Task("Sparse features", "Transfer", work, previous_batch_predecessors=(used_by,))


def lookup(t: Traffic, predecessors: Names, previous_batch_predecessors: Names = (), skew: Amount = 1.0) -> Task:
    """Return the task that reads and pools the batch's lookups from GPU memory.

    `skew`: the lookups of the busiest GPU, over the mean of all GPUs.
    """
    return Task(
        "Embedding lookup",
        "Embedding",
        (Demand("gpu", Pool(t.gpu_lookup_bytes, skew=skew)),),
        predecessors,
        previous_batch_predecessors,
    )


def update(
    t: Traffic,
    rows: Amount,
    predecessors: Names,
    previous_batch_predecessors: Names = (),
    skew: Amount = 1.0,
    row_skew: Amount = 1.0,
    updated_after: Names = (),
    share: Amount = 1.0,
    row_bytes: RowBytes | None = None,
) -> tuple[Task, ...]:
    """Return the tasks that spread a `share` of gradients and update rows in HBM.

    rows: number of rows to update. row_bytes: their bytes, by default those of the batch's unique rows.
    predecessors, previous_batch_predecessors: tasks that the spreading waits for.
    updated_after: further tasks that the update waits for.
    skew, row_skew: the lookups and the rows of the busiest GPU, over the mean of all GPUs.
    """
    spread = Pool(share * t.gpu_spread_bytes, tables=t.tables, skew=skew)
    rewrite = RowUpdates(rows, t.row_bytes if row_bytes is None else row_bytes, skew=row_skew)
    return (
        Task("Gradient spreading", "Embedding", (Demand("gpu", spread),), predecessors, previous_batch_predecessors),
        Task("Embedding update", "Embedding", (Demand("gpu", rewrite),), ("Gradient spreading", *updated_after)),
    )


def train_step(
    settled: Settled,
    t: Traffic,
    rows: Amount,
    predecessors: Names,
    previous_batch_predecessors: Names = (),
    sharded: bool = False,
    spread_after: Names = (),
    updated_after: Names = (),
) -> tuple[Task, ...]:
    """Return the tasks that train a batch on rows in HBM, kernel by kernel.

    Several GPUs sum the gradients of their MLPs.
    rows: number of rows to update.
    predecessors, previous_batch_predecessors: tasks that the lookup waits for.
    sharded: True if each GPU has a part of the rows, so that vectors and gradients are exchanged; else each has all it uses.
    spread_after: tasks of the previous batch that the spreading of gradients waits for.
    updated_after: further tasks that the update of rows waits for.
    """
    s, placement = settled.scenario, settled.placement
    summed = collectives.all_reduce(s, t)
    skew, row_skew, crossing = (t.lookup_skew, t.row_skew, placement.pooled) if sharded else (1.0, 1.0, NO_CROSSING)
    pooled, forward = collectives.exchange("Pooled all-to-all", crossing, ("Embedding lookup",))
    gradients, backward = collectives.exchange("Gradient all-to-all", crossing, ("Top MLP",))
    return (
        lookup(t, predecessors, previous_batch_predecessors, skew),
        *pooled,
        shared.bottom_forward(s, ("Bottom MLP backward", *(task.name for task in summed))),
        shared.top(s, ("Bottom MLP forward", *forward)),
        *gradients,
        shared.bottom_backward(s, ("Top MLP",)),
        *summed,
        *update(t, rows, backward, spread_after, skew, row_skew, updated_after),
    )


def wait_tasks(task_name: str, batches: int) -> tuple[Task, ...]:
    """Return tasks without work, by which other tasks can wait for an earlier batch.

    The task "{n} behind" ends when `task_name` of n batches before ends, for n from 1 to `batches`.
    """
    names = [task_name, *(f"{n} behind" for n in range(1, batches + 1))]
    idle = (Demand("gpu", Pool(0.0), "order"),)
    return tuple(Task(name, "Other", idle, previous_batch_predecessors=(predecessor,)) for predecessor, name in pairwise(names))


def step_over_all(
    settled: Settled,
    t: Traffic,
    lookup_after_previous: Names,
    mlp_after_previous: Names,
    looked_up_after: Names = (),
    updated_after: Names = (),
) -> tuple[Task, ...]:
    """Return the tasks of a synchronous batch over all GPUs; the update is the last.

    Each GPU has its part of the tables.
    lookup_after_previous, mlp_after_previous: tasks of the previous batch that the lookup and the bottom MLP wait for.
    looked_up_after: tasks that the lookup waits for, by default the exchange of indices.
    updated_after: further tasks that the update waits for.
    """
    s, replicated = settled.scenario, settled.placement.replicas.rows > 0
    index_share, vector_share = (1 - t.replicated_lookups, 1 - t.replicated_vectors) if replicated else (1.0, 1.0)
    indices, arrived = collectives.index_exchange(settled, share=index_share)
    pooled, forward = collectives.vector_exchange(settled, "Pooled all-to-all", ("Embedding lookup",), vector_share)
    gradients, backward = collectives.vector_exchange(settled, "Gradient all-to-all", ("Top MLP",), vector_share)
    if replicated:
        updates = _update_replicated(s, t, backward, updated_after)
    else:
        updates = update(t, t.rows, (*backward, *updated_after), skew=t.lookup_skew, row_skew=t.row_skew)
    return (
        training_loop(),
        features(t, "Embedding lookup"),
        *indices,
        lookup(t, looked_up_after or arrived, lookup_after_previous, t.replicated_lookups + index_share * t.lookup_skew),
        *pooled,
        shared.bottom_forward(s, mlp_after_previous),
        shared.top(s, ("Bottom MLP forward", *forward)),
        *gradients,
        shared.bottom_backward(s, ("Top MLP",)),
        *collectives.all_reduce(s, t),
        *updates,
    )


def _update_replicated(s: Scenario, t: Traffic, predecessors: Names, updated_after: Names) -> tuple[Task, ...]:
    """Return the tasks that update partitioned rows in place, and every copy of replicated rows.

    The gradients of replicated rows are first summed over all GPUs.
    """
    gpus, partitioned = s.machine.num_gpus, t.rows - t.replicated_rows
    updated = partitioned + gpus * t.replicated_rows
    row_skew = (partitioned * t.row_skew + gpus * t.replicated_rows) / updated
    spreading = Demand("gpu", Pool(t.replicated_lookups * t.gpu_spread_bytes, tables=tables_apart(s)))  # all have rows here
    all_reduce = Demand("network", AllReduce(t.replicated_rows * vector_sent(s, t.sizes.hot.gradient)))
    return (
        Task("Replicated spreading", "Embedding", (spreading,), ("Top MLP",)),
        Task("Replicated all-reduce", "Transfer", (all_reduce,), ("Replicated spreading",)),
        *update(
            t,
            updated,
            predecessors,
            skew=t.lookup_skew,
            row_skew=row_skew,
            updated_after=("Replicated all-reduce", *updated_after),
            share=1 - t.replicated_lookups,
            row_bytes=joined_row_mix((t.row_bytes, t.sizes.hot.row), (t.rows.sum(), (gpus - 1) * t.replicated_rows.sum())),
        ),
    )


def by_popularity(amounts: Traffic, samples: Floats, lookups: Floats) -> tuple[Traffic, Traffic]:
    """Return the traffic of a batch of popular samples only, and of other samples only.

    `samples` is the share of popular samples, `lookups` is their share of lookups. If bags have different lengths, popular
    samples have fewer lookups than others. If all bags have one length, both results are `amounts`.
    """
    if np.array_equal(samples, lookups):
        return amounts, amounts
    ratios = (
        np.where(sample_share > 0, popular_share / np.where(sample_share > 0, sample_share, 1.0), 1.0)
        for popular_share, sample_share in ((lookups, samples), (1 - lookups, 1 - samples))
    )
    popular, ordinary = (replace(amounts, lookups=amounts.lookups * ratio) for ratio in ratios)
    return popular, ordinary


def micro_batch(
    s: Scenario,
    t: Traffic,
    name: str,
    share: Amount,
    predecessors: Names,
    previous_batch_predecessors: Names = (),
    tables: float = 0.0,
) -> tuple[Task, ...]:
    """Return the tasks of a `share` of the batch's samples, one after the other.

    The tasks are from lookup to gradient spreading. `tables`: number of tables that are updated one by one.
    """
    model, samples, state = s.model, share * s.data.batch_size, mlp_state(dense_optimizer(s.model))
    steps: tuple[tuple[str, Stage, Work], ...] = (
        ("lookup", "Embedding", Pool(share * t.gpu_lookup_bytes)),
        ("bottom MLP forward", "Bottom MLP", BottomMLP(samples, model.bottom_mlp, "forward")),
        ("top MLP", "Top MLP", shared.top_part(s, samples)),
        ("bottom MLP backward", "Bottom MLP", BottomMLP(samples, model.bottom_mlp, "backward", state)),
        ("gradient spreading", "Embedding", Pool(share * t.gpu_spread_bytes, tables=tables)),
    )
    tasks: list[Task] = []
    for step, stage, work in steps:
        step_predecessors = (tasks[-1].name,) if tasks else predecessors
        tasks.append(
            Task(f"{name} {step}", stage, (Demand("gpu", work),), step_predecessors, () if tasks else previous_batch_predecessors)
        )
    return tuple(tasks)
