"""Steps of systems whose host CPU looks rows up and updates them, in the same thread that drives the training loop."""

from dataclasses import dataclass, replace

from ...core.graph import Demand, Names, Task
from ...core.work import Amount, Copy, RowReads, RowUpdates
from ...scenario.scenario import Scenario
from ..traffic import Traffic
from . import gpu, shared

CPU = ""  # the host's one lane, for its software and its arithmetic


def lookup(t: Traffic, share: Amount = 1.0, after: Names = ("Training loop",)) -> Task:
    """A `share` of a mini-batch's lookups by the host, at the pace of its software, its CPU or its memory."""
    reads = Demand("dram", RowReads(share * t.rows, t.vector_bytes))
    return shared.host_embedding(t, "Embedding lookup", (reads,), after, share=share)


def update(t: Traffic, after: Names, share: Amount = 1.0) -> Task:
    """A `share` of a mini-batch's updates by the host."""
    writes = Demand("dram", RowUpdates(share * t.rows, t.row_bytes))
    return shared.host_embedding(t, "Embedding update", (writes,), after, share=share)


@dataclass(frozen=True)
class Others:
    """What the mini-batches do that do not take the hybrid's way: where it comes in before the lookup, before the top
    MLP, and what ends the batch."""

    before: Names = ("Training loop",)
    lookup: Names = ("Vectors to GPU",)
    last: Names = ("Embedding update",)


def hybrid(s: Scenario, t: Traffic, share: Amount = 1.0, others: Others = Others()) -> tuple[Task, ...]:
    """Embeddings on the host, MLPs on GPUs that share the samples, one after the other; `share` is 1 where so, else 0."""

    def cross(name: str, lane: str, after: Names) -> Task:
        return Task(name, "Transfer", (Demand("pcie", Copy(share * t.pooled_bytes, handoffs=share), lane),), after)

    reduced = gpu.all_reduce(s, t, ("Bottom MLP backward",))
    return (
        gpu.training_loop(after_previous=others.last, lane=CPU),
        lookup(t, share, others.before),
        cross("Vectors to GPU", gpu.UP, ("Embedding lookup",)),
        shared.bottom_forward(s, tuple(task.name for task in reduced) or ("Bottom MLP backward",)),
        shared.top(s, ("Bottom MLP forward", *others.lookup)),
        cross("Gradients to host", gpu.DOWN, ("Top MLP",)),
        update(t, ("Gradients to host",), share),
        shared.bottom_backward(s, ("Top MLP",)),
        *reduced,
    )


def on_host(task: Task) -> Task:
    """Return a GPU's task as the host's own."""
    return replace(task, demands=tuple(Demand("host", demand.work, CPU) for demand in task.demands))
