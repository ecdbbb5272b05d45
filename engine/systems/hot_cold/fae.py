"""FAE: mini-batches of popular samples train wholly on GPUs, others on CPU and GPU.

Every GPU has a copy of the hot rows; the host has all rows. Samples are sorted beforehand into hot mini-batches, which need hot
rows only, and normal mini-batches. FAE saves time if most lookups are of few rows. Source: Adnan et al., arXiv 2103.00686.
"""

import numpy as np

from ...core.arrays import Floats
from ...core.constants import Constant
from ...core.graph import Demand, Task
from ...core.row_sizes import mean_bytes
from ...core.work import AllReduce, Copy, Pool, RowUpdates
from ..steps import gpu, host
from ..system import Settled, System
from ..traffic import Traffic, hot_bytes, hot_rows, table_bytes

GAP = Constant(
    "mini-batches between switches", 1000, "batches", 50, 38_000, "unsourced", "the published code switches once in a pass"
)


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a mini-batch, with amounts of 0 where it needs none.

    A hot mini-batch has amounts of 0 on the host, a normal mini-batch has amounts of 0 on hot rows.
    """
    s, hot = settled.scenario, hot_batches(t)
    gpus = s.machine.num_gpus
    turns = np.sign(t.popular * (1 - t.popular)) / GAP.value
    switch = (Demand("pcie", Copy(turns * (gpus + 1) * hot_bytes(s)), gpu.TO_GPU),)
    popular, ordinary = gpu.by_popularity(t, *(np.full_like(hot, share.mean()) for share in (t.popular, t.popular_lookups)))
    pool = (Demand("gpu", Pool(hot * popular.gpu_lookup_bytes)),)
    spread = (Demand("gpu", Pool(hot * popular.gpu_spread_bytes, tables=t.tables)),)
    summed = (Demand("network", AllReduce(hot * t.rows * mean_bytes(t.sizes.hot.gradient))),)
    reduce = (Task("Hot all-reduce", "Transfer", summed, ("Hot spreading",)),) if gpus > 1 else ()
    update = (Demand("gpu", RowUpdates(gpus * hot * t.rows, t.sizes.hot.row)),)
    return (
        Task("Hot rows at a switch", "Transfer", switch, ("Training loop",)),
        gpu.features(popular, "Hot lookup", hot),
        *host.hybrid(
            settled,
            ordinary,
            1 - hot,
            start_after=("Hot rows at a switch",),
            looked_up=("Hot lookup",),
            batch_end=("Hot update",),
        ),
        Task("Hot lookup", "Embedding", pool, ("Vectors to GPU", "Sparse features")),
        Task("Hot spreading", "Embedding", spread, ("Embedding update",)),
        *reduce,
        Task("Hot update", "Embedding", update, tuple(task.name for task in reduce) or ("Hot spreading",)),
    )


def hot_batches(t: Traffic) -> Floats:
    """Return 1 for each hot mini-batch and 0 for each normal mini-batch, (N,).

    A mini-batch is hot as soon as the popular samples so far fill another mini-batch.
    """
    full_batches = np.floor(np.cumsum(t.popular) + 1e-9)
    return np.diff(full_batches, prepend=0.0)


SYSTEM = System(
    title="FAE",
    summary="Samples sorted into hot and normal mini-batches; hot rows are copied to every GPU, other rows stay on the host.",
    devices=("host", "dram", "gpu", "pcie", "network"),
    memory="dram",
    plan=plan,
    family="Hot and cold rows",
    baseline="cpu-gpu",
    parts_kind="nodes",
    hot=hot_rows,
    places=lambda s: {"dram": table_bytes(s), "hbm": s.machine.num_gpus * hot_bytes(s)},
    constants=(GAP,),
    cites=("Adnan et al., arXiv 2103.00686; STAR-Laboratory/Accelerating-RecSys-Training",),
)
