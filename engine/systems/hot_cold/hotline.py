"""Hotline: popular samples train first, while a card gathers the rows of the others.

Every GPU has a copy of the hot rows; the host has all rows. While the popular samples train, an accelerator card splits the
batch and reads the cold rows from host memory. Only headline results are known: Adnan et al., arXiv 2204.05436.
"""

from ...core.graph import Demand, Task
from ...core.row_sizes import mean_bytes
from ...core.work import AllReduce, RowReads, RowUpdates
from ..loop import training_loop
from ..steps import gpu
from ..system import Settled, System
from ..traffic import Traffic, hot_bytes, hot_rows, table_bytes


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of two micro-batches: popular samples first, then the other samples.

    The card gathers the rows of the other samples while the popular samples train, and writes them back during the next batch.
    For each lookup of the other samples, the card makes one read: from host memory, or for a hot row from a GPU's memory.
    """
    s = settled.scenario
    popular_traffic, other_traffic = gpu.by_popularity(t, t.popular, t.popular_lookups)
    gpus, gathered = s.machine.num_gpus, (1 - t.popular) * other_traffic.lookups
    row, hot = t.sizes.by_lookup, t.sizes.hot
    reads = Demand("gatherer", RowReads(gathered, row.vector)), Demand("dram", RowReads(gathered, row.vector, requester="card"))
    writes = Demand("gatherer", RowUpdates(gathered, row.row)), Demand("dram", RowUpdates(gathered, row.row, "card"))
    popular = gpu.micro_batch(s, popular_traffic, "Popular", t.popular, ("Sparse features",), ("Hot update",), t.tables)
    unpopular = gpu.micro_batch(s, other_traffic, "Other", 1 - t.popular, ("Gather other rows", popular[-1].name))
    summed = (Demand("network", AllReduce(t.mlp_gradient_bytes + t.popular * t.rows * mean_bytes(hot.gradient))),)
    reduce = (Task("All-reduce", "Transfer", summed, (unpopular[-1].name,)),) if gpus > 1 else ()
    update = (Demand("gpu", RowUpdates(gpus * t.popular * t.rows, hot.row)),)
    return (
        training_loop(),
        gpu.features(t, unpopular[0].name),
        Task("Gather other rows", "Embedding", reads, ("Sparse features",), ("Write other rows",)),
        *popular,
        *unpopular,
        *reduce,
        Task("Hot update", "Embedding", update, (reduce[0].name if reduce else unpopular[-1].name,)),
        Task("Write other rows", "Embedding", writes, (unpopular[-1].name,)),
    )


SYSTEM = System(
    title="Hotline",
    summary="Popular samples train on hot rows in HBM while a card gathers the rows of the batch's other samples.",
    devices=("host", "dram", "gpu", "pcie", "network", "gatherer"),
    memory="dram",
    plan=plan,
    family="Hot and cold rows",
    baseline="cpu-gpu",
    hot=hot_rows,
    places=lambda s: {"dram": table_bytes(s), "hbm": s.machine.num_gpus * hot_bytes(s)},
    cites=("Adnan et al., arXiv 2204.05436",),
    confidence="headline only",
)
