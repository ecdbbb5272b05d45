"""Tasks that training systems share: each system chooses, orders and places them.

A function whose name ends with "plan" returns all tasks of a batch.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.arrays import Floats
from ...core.graph import Demand, Names, Persists, Task
from ...core.row_sizes import mean_bytes
from ...core.work import (
    Amount,
    BottomMLP,
    Copy,
    HomeWrites,
    HostEmbedding,
    Move,
    Persist,
    Pool,
    Requester,
    RowLog,
    RowReads,
    RowUpdates,
    Stream,
    TopPart,
    Work,
)
from ...hardware.concurrency import LINE
from ...hardware.device import assumed_value
from ...hardware.devices.pmem import HOME_LANES, MEDIA
from ...scenario.scenario import Scenario, cross_ranks, dense_optimizer, per_table, projection_dim
from ...scenario.storage import mlp_state
from ..exchange.collectives import all_reduce, index_exchange, mlp_summed, vector_exchange
from ..system import Settled
from ..traffic import SKEWS, Traffic, elements, projection_layers, top_widths, vector_count
from .lanes import FROM_MEMORY, TO_MEMORY
from .repeated import (
    accessed_row,
    accessed_rows,
    accumulated_bytes,
    lookup_transfer,
    read_skew,
    spread_by_gpu,
    update_skew,
    update_transfer,
    updated_row,
    updated_rows,
)

FLAGS = 4.0  # flags set for rows and MLP, and cleared for the checkpoint before
FORWARD_DONE = ("Bottom MLP forward", "Embedding lookup")
BACKWARD_DONE = ("Bottom MLP backward", "Embedding update")
DRAIN, COPY_ENGINE = "drain", "copy engine"


def bottom_forward(scenario: Scenario, previous_batch_predecessors: Names) -> Task:
    """Return the task of the bottom MLP's forward pass."""
    work = BottomMLP(scenario.data.batch_size, scenario.model.bottom_mlp, "forward")
    return Task(
        "Bottom MLP forward", "Bottom MLP", (Demand("gpu", work),), previous_batch_predecessors=previous_batch_predecessors
    )


def bottom_backward(scenario: Scenario, predecessors: Names) -> Task:
    """Return the task of the bottom MLP's backward pass and update."""
    work = BottomMLP(scenario.data.batch_size, scenario.model.bottom_mlp, "backward", mlp_state(dense_optimizer(scenario.model)))
    return Task("Bottom MLP backward", "Bottom MLP", (Demand("gpu", work),), predecessors)


def top_part(scenario: Scenario, samples: Amount) -> TopPart:
    """Return the work of the feature interaction and the top MLP for `samples` samples."""
    model = scenario.model
    ranks, pairs = cross_ranks(model), model.interaction == "dot"
    dims = per_table(model, "embedding_dim")
    vectors = (vector_count(scenario) + 1) * projection_dim(model) if pairs else elements(scenario) + max(dims)
    state = mlp_state(dense_optimizer(model))
    interacting_vectors = vector_count(scenario) + 1 if pairs else 0
    projections = projection_layers(scenario)
    return TopPart(samples, top_widths(scenario), vectors, state, ranks, pairs, projections, interacting_vectors)


def top(scenario: Scenario, predecessors: Names, previous_batch_predecessors: Names = ()) -> Task:
    """Return the task of the feature interaction and the top MLP, forward and backward."""
    work = top_part(scenario, scenario.data.batch_size)
    return Task("Top MLP", "Top MLP", (Demand("gpu", work),), predecessors, previous_batch_predecessors)


def sparse_features(settled: Settled, t: Traffic, link: str) -> Task:
    """Return the task that sends the batch's row indices to the memory side.

    It starts as soon as the previous batch's lookup has ended. Each of several GPUs sends those of its samples.
    """
    times, skew = settled.placement.links.indices
    work = Move(times * t.feature_bytes, skew=skew) if link == "cxl" else Copy(t.feature_bytes)
    return Task(
        "Sparse features", "Transfer", (Demand(link, work, TO_MEMORY),), previous_batch_predecessors=("Embedding lookup",)
    )


def near_lookup(
    settled: Settled, t: Traffic, memory: str, link: str, name: str, predecessors: Names, previous_batch_predecessors: Names = ()
) -> Task:
    """Return the task that looks rows up and pools them at the memory's controllers.

    Pooled vectors flow to the GPU at the same time. Without near-data compute, rows cross the link unpooled. If the link needs
    software, the system adds a hand-off task.
    """
    s, has_rows = settled.scenario, np.sign(t.rows)
    flow: tuple[Demand, ...] = ()
    if s.machine.near_data_compute:
        flow += (
            Demand("near-data", Pool(has_rows * (t.lookup_bytes + t.lookups * t.fp32_extra_bytes), memory, skew=t.lookup_skew)),
        )
    if link == "cxl":
        flow += (Demand("cxl", lookup_transfer(settled, t, memory, has_rows), FROM_MEMORY),)
    requester: Requester = "near-data" if s.machine.near_data_compute or link != "cxl" else "card"
    lines = (has_rows * amount if amount.any() else amount for amount in (t.missed_lines, t.written_back_lines))
    rows = has_rows * accessed_rows(s, t)
    reads = RowReads(rows, accessed_row(s, t).vector, t.raw_share, requester, *lines, skew=read_skew(s, t))
    return Task(name, "Embedding", (Demand(memory, reads), *flow), predecessors, previous_batch_predecessors)


def near_update(settled: Settled, t: Traffic, memory: str, link: str, predecessors: Names, persists: Persists = "") -> Task:
    """Return the task that adds up gradients and updates rows at the memory's controllers.

    Pooled gradients flow in at the same time; without near-data compute, new rows flow in. With an undo log the update itself is
    durable; with a redo log the updated rows wait in a volatile buffer.
    """
    s, rows, flow = settled.scenario, updated_row(settled.scenario, t), tuple[Demand, ...]()
    if s.machine.near_data_compute:
        added_bytes, updated_bytes = (
            accumulated_bytes(s, t),
            updated_rows(s, t) * (mean_bytes(rows.row) + mean_bytes(rows.fp32_extra)),
        )
        max_part_bytes = added_bytes * t.lookup_skew + updated_bytes * update_skew(s, t)  # assumes that one part has most of both
        flow += (
            Demand(
                "near-data",
                Pool(added_bytes + updated_bytes, memory, skew=max_part_bytes / np.maximum(added_bytes + updated_bytes, 1.0)),
            ),
        )
    if link == "cxl":
        flow += (Demand("cxl", update_transfer(settled, t), TO_MEMORY),)
    update = RowUpdates(updated_rows(s, t), rows.row, "near-data", t.refetched_lines, t.clean_lines, skew=update_skew(s, t))
    return Task("Embedding update", "Embedding", (Demand(memory, update), *flow), predecessors, persists=persists)


@dataclass(frozen=True)
class GpuSide:
    """The GPUs' share of embedding work.

    pooling, spreading: tasks that pool vectors and that spread gradients to rows; () if near-data logic does so.
    pooled: name of the task to wait for before the top MLP.
    trained: names of the tasks to wait for before any update of rows.
    dense: names of the tasks to wait for before the bottom MLP's backward pass.
    """

    pooling: tuple[Task, ...]
    spreading: tuple[Task, ...]
    pooled: str
    trained: Names
    dense: Names


def gpu_side(settled: Settled, t: Traffic, looked_up: Names, early_tasks: tuple[Task, ...] = ()) -> GpuSide:
    """Return the GPUs' share of embedding work, which follows the tasks `looked_up`.

    Without near-data logic each of several GPUs owns an equal share of the rows. It alone reads, pools and updates them, so the
    GPUs exchange partial sums of vectors, and gradients. `early_tasks`: the previous batch's early lookup and its correction.
    """
    s, early_names = settled.scenario, tuple(task.name for task in early_tasks)
    gradients, arrived = vector_exchange(settled, "Gradient all-to-all", ("Top MLP",))
    spread = (Demand("gpu", Pool(t.gpu_spread_bytes, tables=t.tables)),)
    spreading = (Task("Gradient spreading", "Embedding", spread, arrived),) if spread_by_gpu(s) else ()
    trained = tuple(task.name for task in spreading) or ("Top MLP",)
    if s.machine.near_data_compute:
        return GpuSide((), spreading, looked_up[-1], trained, trained)
    pooling = Task("Pooling", "Embedding", (Demand("gpu", Pool(t.gpu_lookup_bytes)),), looked_up, early_names[:1])
    vectors, pooled = vector_exchange(settled, "Pooled all-to-all", (pooling.name,))
    vectors = tuple(replace(task, previous_batch_predecessors=early_names[1:]) for task in vectors)
    return GpuSide((pooling, *vectors), (*gradients, *spreading), pooled[0], trained, ("Top MLP",) if gradients else trained)


def handoff(name: str, nbytes: Amount, predecessors: Names, way: str) -> Task:
    """Return the task of one software hand-off: synchronise, copy `nbytes` one `way`, dispatch."""
    return Task(name, "Transfer", (Demand("pcie", Copy(nbytes, handoffs=1), way),), predecessors)


def host_embedding(
    t: Traffic,
    name: str,
    memory: tuple[Demand, ...],
    predecessors: Names = (),
    previous_batch_predecessors: Names = (),
    share: Amount = 1.0,
    skew: Amount = 1.0,
    updates: bool = False,
) -> Task:
    """Return the task of a lookup or update on the host.

    share: the part of the batch that the task serves, from 0 to 1.
    memory: the demands on the host's memory; the slower of CPU and memory decides the time.
    skew: the work of the busiest host over the mean of all hosts.
    updates: True for the update, False for the lookup.
    """
    new_lines = t.rows * (1 + mean_bytes(t.vector_bytes) / LINE)  # rows are not aligned to lines
    work = HostEmbedding(t.lookups, t.lookup_bytes, 0.5 * share, t.whole_tables, updates, t.stateful, new_lines, skew=skew)
    return Task(name, "Embedding", (Demand("host", work), *memory), predecessors, previous_batch_predecessors)


def home_lane(s: Scenario, memory: str) -> str:
    """Return the lane of home writes: that of all work of the memory.

    It is `DRAIN` if the medium's rates are fitted with a lane of home writes alone.
    """
    lanes = MEDIA.extra_constants(s.machine.pmem).get(HOME_LANES.name) if memory == "pmem" else None
    return DRAIN if lanes and assumed_value(s.machine, memory, lanes) else ""


def redo_checkpoint(
    s: Scenario, t: Traffic, memory: str, link: str, predecessors: Names, requester: Requester = "near-data"
) -> tuple[Task, ...]:
    """Return the tasks of a redo log at batch end: rows, MLP, their flags.

    After the flags, the logged rows are written to their tables in the background, whenever the memory has nothing else to do.
    Several GPUs each log a range of the MLP, once all have its new values.
    """
    carry = Move(t.mlp_bytes) if link == "cxl" else Copy(t.mlp_bytes)
    mlp = (Demand(memory, Stream(t.mlp_bytes)), Demand(link, carry, TO_MEMORY))
    home = Demand(memory, HomeWrites(t.rows, t.row_bytes, skew=t.row_skew), home_lane(s, memory))
    row_log = (Demand(memory, RowLog(t.rows, t.row_bytes, t.entry_bytes, requester, t.refetched_lines, skew=t.row_skew)),)
    return (
        Task("Embedding log", "Checkpoint", row_log, predecessors, ("Home write",), persists="embedding log"),
        Task("MLP log", "Checkpoint", mlp, ("Embedding log", *mlp_summed(s)), persists="mlp log"),
        Task("Commit", "Checkpoint", (Demand(memory, Persist(FLAGS)),), ("MLP log",), persists="commit"),
        Task("Home write", "Checkpoint", (home,), ("Commit",), background=True, persists="home write"),
    )


def undo_log(t: Traffic, bound: int) -> tuple[Task, ...]:
    """Return the tasks of an undo log of rows and MLP during the top MLP.

    The log has old values. The flags of the rows' log and of the MLP's log are set before any row is updated in place. Several
    GPUs each log a range of the MLP. `bound`: the number of batches by which the MLP's log may lag.
    """
    mlp = (Demand("cxl", Move(t.mlp_bytes), TO_MEMORY), Demand("pmem", Stream(t.mlp_bytes)))
    row_log = (Demand("pmem", RowLog(t.rows, t.row_bytes, t.entry_bytes, "near-data", t.refetched_lines, skew=t.row_skew)),)
    return (
        Task("Embedding log", "Checkpoint", row_log, FORWARD_DONE, background=True, persists="embedding log"),
        Task("MLP log", "Checkpoint", mlp, ("Embedding log",), gate_task="Top MLP", staleness_bound=bound, persists="mlp log"),
        Task("Commit", "Checkpoint", (Demand("pmem", Persist(FLAGS)),), ("Embedding log", "MLP log"), persists="commit"),
    )


def near_plan(settled: Settled, t: Traffic, memory: str, barrier: Names, checkpoint: tuple[Task, ...] = ()) -> tuple[Task, ...]:
    """Return the tasks of a batch with lookup and update at the memory's controllers.

    The lookup runs during the bottom MLP's forward pass, the update during its backward pass; each task starts when its inputs
    are ready. A batch starts after the tasks `barrier` of the previous batch, and ends with the tasks `checkpoint`.
    """
    s = settled.scenario
    indices, arrived = index_exchange(settled)
    gpu = gpu_side(settled, t, ("Embedding lookup",))
    return (
        sparse_features(settled, t, "cxl"),
        *indices,
        bottom_forward(s, (*barrier, *mlp_summed(s))),
        near_lookup(settled, t, memory, "cxl", "Embedding lookup", arrived, barrier),
        *gpu.pooling,
        top(s, ("Bottom MLP forward", gpu.pooled)),
        *gpu.spreading,
        bottom_backward(s, gpu.dense),
        *all_reduce(s, t),
        near_update(settled, t, memory, "cxl", gpu.trained),
        *checkpoint,
    )


def host_plan(
    s: Scenario, t: Traffic, memory: str, reads: Work, updates: Work, cache: tuple[tuple[Demand, ...], ...] = ((), ())
) -> tuple[Task, ...]:
    """Return the tasks of a batch whose rows the host gathers and sends unpooled.

    Each batch has three software hand-offs (forward, backward, checkpoint), and ends with a redo log. Each GPU has the vectors of
    its samples copied over its own link. The medium's `reads` and
    `updates` run beside the host's lookup and update, in tasks of their own: the medium is free for home writes once they end.
    `cache` are the demands of the host's lookup and of its update on the memory that caches rows.
    """
    in_lookup, in_update = cache
    return (
        bottom_forward(s, ("Commit",)),
        Task("Row reads", "Embedding", (Demand(memory, reads),), previous_batch_predecessors=("Commit",)),
        host_embedding(t, "Embedding lookup", in_lookup, previous_batch_predecessors=("Commit",)),
        handoff("Forward hand-off", t.lookup_bytes, (*FORWARD_DONE, "Row reads"), FROM_MEMORY),
        top(s, ("Forward hand-off",)),
        handoff("Backward hand-off", t.spread_bytes, ("Top MLP",), TO_MEMORY),
        bottom_backward(s, ("Backward hand-off",)),
        *all_reduce(s, t),
        Task("Row updates", "Embedding", (Demand(memory, updates),), ("Backward hand-off",)),
        host_embedding(t, "Embedding update", in_update, ("Backward hand-off",), updates=True),
        handoff("Checkpoint hand-off", 0.0, (*BACKWARD_DONE, "Row updates"), TO_MEMORY),
        *redo_checkpoint(s, t, memory, "pcie", ("Checkpoint hand-off",), "host"),
    )


def undo_plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return a batch's tasks: undo log during the top MLP, update after its commit.

    The policies of the log decide how far the MLP's log may lag, and whether the lookup is relaxed.
    """
    s, bound = settled.scenario, settled.log_policy.mlp_staleness_bound
    batch_traffic, early_tasks = (t, ()) if not settled.log_policy.relaxed_lookup else _split(settled, t)
    indices, arrived = index_exchange(settled)
    gpu = gpu_side(settled, t, FORWARD_DONE, early_tasks)
    copy = (Demand("gpu", Stream(t.mlp_bytes), COPY_ENGINE, excluded_from_busy=True),)  # read by a log that spans batches
    shadow = (Task("Shadow copy", "Checkpoint", copy, FORWARD_DONE, background=True),) if bound > 0 else ()
    before_update = (*gpu.trained, "Commit", *(task.name for task in early_tasks[:1]))
    return (
        sparse_features(settled, t, "cxl"),
        *indices,
        bottom_forward(s, ("Embedding update", "Bottom MLP backward", *mlp_summed(s))),
        near_lookup(settled, batch_traffic, "pmem", "cxl", "Embedding lookup", arrived, ("Embedding update",)),
        *gpu.pooling,
        top(s, ("Bottom MLP forward", gpu.pooled), tuple(x.name for x in early_tasks[1:])),
        *gpu.spreading,
        *early_tasks,
        *shadow,
        *undo_log(t, bound),
        bottom_backward(s, (*gpu.dense, "Commit", *(task.name for task in shadow))),
        *all_reduce(s, t),
        near_update(settled, t, "pmem", "cxl", before_update, persists="embedding update"),
    )


def _of_next_batch(amounts: Floats, after_last: float) -> Floats:
    """Return each batch's amount of the next batch, (N,); the array itself if that is the same everywhere."""
    if (amounts == after_last).all():
        return amounts
    return np.append(amounts[1:], after_last)


def _split(settled: Settled, t: Traffic) -> tuple[Traffic, tuple[Task, Task]]:
    """Return the traffic of lookups after the update, and the tasks of early lookups.

    Only the first batch looks up after the update; every other one is looked up a batch early, then corrected.
    """
    first_batch = np.where(np.arange(t.batches) == 0, t.rows, 0.0)
    nothing = np.zeros(t.batches)  # pages that only hold 0 take no memory
    names = ("rows", "repeated_reads", "missed_lines", "written_back_lines")
    later: dict[str, Any] = {name: _of_next_batch(getattr(t, name), 0.0) for name in names}
    later |= {name: _of_next_batch(getattr(t, name), 1.0) for name in SKEWS}
    early_traffic, following = replace(t, **later, raw_share=nothing), later["rows"]
    corrected = np.append(t.raw_share[1:], 0.0) * (t.lookup_bytes + t.lookups * t.fp32_extra_bytes)
    lookup = near_lookup(settled, early_traffic, "pmem", "cxl", "Early lookup", FORWARD_DONE)
    device = "near-data" if settled.scenario.machine.near_data_compute else "gpu"
    flow = (
        (Demand("cxl", lookup_transfer(settled, early_traffic, "", np.sign(following)), FROM_MEMORY),)
        if device == "near-data"
        else ()
    )
    adds = Demand(device, Pool(corrected, "pmem", skew=early_traffic.lookup_skew) if device == "near-data" else Pool(corrected))
    _, arrived = vector_exchange(settled, "Gradient all-to-all", ("Top MLP",))
    correct = Task("Correct pooled", "Embedding", (adds, *flow), (*arrived, "Early lookup"), background=True)
    return replace(t, rows=first_batch, raw_share=nothing), (lookup, correct)
