"""Task graph of the CXL systems with an undo log, from strict to relaxed: one graph, two policies."""

from dataclasses import replace

import numpy as np

from ...core.graph import Demand, Task, TaskGraph
from ...core.work import Move, Pool, Stream
from ...scenario.scenario import Scenario
from ..system import LogPolicy
from ..traffic import Traffic
from . import shared

FORWARD_DONE = ("Bottom MLP forward", "Embedding lookup")


def undo_plan(s: Scenario, w: LogPolicy, t: Traffic) -> TaskGraph:
    """Log during the top part, update after the commit; `w` says how far log and lookup are relaxed."""
    now, early = (t, ()) if not w.relaxed_lookup else _split(s, t)
    gpu = shared.gpu_side(s, t, FORWARD_DONE, tuple(task.name for task in early[:1]))
    shadow = _shadow(t) if w.mlp_staleness_bound > 0 else ()
    before_update = (*gpu.trained, "Commit", *(task.name for task in early[:1]))
    return TaskGraph(
        (
            shared.sparse_features(t, "cxl"),
            shared.bottom_forward(s, ("Embedding update", "Bottom MLP backward")),
            shared.near_lookup(s, now, "pmem", "cxl", "Embedding lookup", ("Sparse features",), ("Embedding update",)),
            *gpu.pooling,
            shared.top(s, ("Bottom MLP forward", gpu.pooled), tuple(x.name for x in early[1:])),
            *gpu.spreading,
            *early,
            *shadow,
            *shared.undo_log(t, w.mlp_staleness_bound, FORWARD_DONE),
            shared.bottom_backward(s, (*gpu.trained, "Commit", *(task.name for task in shadow))),
            shared.near_update(s, t, "pmem", "cxl", before_update, persists="embedding update"),
        )
    )


def _split(s: Scenario, t: Traffic) -> tuple[Traffic, tuple[Task, Task]]:
    """Only the first batch looks up after the update; every other one is looked up a batch early, then corrected."""
    first = np.zeros_like(t.rows)
    first[0] = t.rows[0]
    following = np.append(t.rows[1:], 0.0)
    ahead = replace(t, rows=following, raw_share=np.zeros_like(t.rows))
    corrected = np.append(t.raw_share[1:], 0.0) * t.lookup_bytes
    lookup = shared.near_lookup(s, ahead, "pmem", "cxl", "Early lookup", FORWARD_DONE)
    where = "near-data" if s.machine.near_data_compute else "gpu"
    flow = (Demand("cxl", Move(np.sign(following) * t.pooled_bytes), shared.OUT),) if where == "near-data" else ()
    correct = Task(
        "Correct pooled", "Embedding", (Demand(where, Pool(corrected)), *flow), ("Top MLP", "Early lookup"), background=True
    )
    return replace(t, rows=first, raw_share=np.zeros_like(t.rows)), (lookup, correct)


def _shadow(t: Traffic) -> tuple[Task, ...]:
    """A log that spans batches reads a copy of the parameters, made by the GPU's copy engine."""
    copy = Demand("gpu", Stream(t.mlp_bytes), shared.COPY_ENGINE, beside=True)
    return (Task("Shadow copy", "Checkpoint", (copy,), FORWARD_DONE, background=True),)
