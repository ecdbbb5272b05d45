"""Tasks of systems whose host CPU looks rows up and updates them.

The CPU does both in the thread that runs the training loop.
"""

from dataclasses import replace

from ...core.graph import Demand, Names, Task
from ...core.work import Amount, Copy, RowReads, RowUpdates
from ...workload.accesses import table_lookups
from ..exchange import collectives
from ..loop import training_loop
from ..system import Settled
from ..traffic import Traffic
from . import gpu, shared

CPU = ""  # the host's one lane, for its software and its arithmetic


def lookup(t: Traffic, share: Amount = 1.0, predecessors: Names = ("Training loop",)) -> Task:
    """Return the task of the host's lookups, for a `share` of a mini-batch.

    The slowest of the host's software, CPU and memory decides its time.
    """
    reads = Demand("dram", RowReads(share * t.rows, t.vector_bytes, skew=t.row_skew))
    return shared.host_embedding(t, "Embedding lookup", (reads,), predecessors, share=share, skew=t.lookup_skew)


def update(t: Traffic, predecessors: Names, share: Amount = 1.0) -> Task:
    """Return the task of the host's updates, for a `share` of a mini-batch."""
    writes = Demand("dram", RowUpdates(share * t.rows, t.row_bytes, skew=t.row_skew))
    return shared.host_embedding(t, "Embedding update", (writes,), predecessors, share=share, skew=t.lookup_skew, updates=True)


def hybrid(
    settled: Settled,
    t: Traffic,
    share: Amount = 1.0,
    start_after: Names = ("Training loop",),
    looked_up: Names = ("Vectors to GPU",),
    batch_end: Names = ("Embedding update",),
) -> tuple[Task, ...]:
    """Return a batch's tasks with embeddings on the host and MLPs on GPUs, in sequence.

    share: 1 for a mini-batch that trains in this way, else 0.
    start_after, looked_up, batch_end: tasks that the first task, the top MLP, and the next batch wait for.

    The hosts of several nodes each have some of the tables, and exchange pooled vectors and gradients over their network cards.
    """

    def cross(name: str, lane: str, predecessors: Names) -> Task:
        return Task(name, "Transfer", (Demand("pcie", Copy(share * t.pooled_bytes, handoffs=share), lane),), predecessors)

    s = settled.scenario
    reduced = collectives.all_reduce(s, t)
    indices, arrived = collectives.index_exchange(settled, start_after, share * (t.lookups / table_lookups(s).sum()))
    pooled, forward = collectives.vector_exchange(settled, "Pooled all-to-all", ("Embedding lookup",), share)
    gradients, backward = collectives.vector_exchange(settled, "Gradient all-to-all", ("Gradients to host",), share)
    return (
        training_loop(previous_batch_predecessors=batch_end, lane=CPU),
        *indices,
        lookup(t, share, arrived),
        *pooled,
        cross("Vectors to GPU", gpu.TO_GPU, forward),
        shared.bottom_forward(s, tuple(task.name for task in reduced) or ("Bottom MLP backward",)),
        shared.top(s, ("Bottom MLP forward", *looked_up)),
        cross("Gradients to host", gpu.FROM_GPU, ("Top MLP",)),
        *gradients,
        update(t, backward, share),
        shared.bottom_backward(s, ("Top MLP",)),
        *reduced,
    )


def on_host(task: Task) -> Task:
    """Return a GPU's task changed to a task of the host."""
    return replace(task, demands=tuple(Demand("host", demand.work, CPU) for demand in task.demands))
