"""The CXL systems with an undo log, from strict to relaxed: one graph, two policies."""

from dataclasses import replace

import numpy as np

from . import blocks
from .core.graph import Demand, Task, TaskGraph
from .core.work import Move, Pool, Stream
from .scenario.scenario import Scenario
from .system import Ways
from .traffic import Traffic

FORWARD_DONE = ("Bottom MLP forward", "Embedding lookup")


def undo_plan(s: Scenario, w: Ways, t: Traffic) -> TaskGraph:
    """Log during the top part, update after the commit; `w` says how far log and lookup are relaxed."""
    now, early = (t, ()) if not w.relaxed_lookup else _split(s, t)
    gpu = blocks.gpu_side(s, t, FORWARD_DONE, tuple(task.name for task in early[:1]))
    shadow = _shadow(t) if w.bound > 0 else ()
    before_update = (*gpu.trained, "Commit", *(task.name for task in early[:1]))
    return TaskGraph(
        (
            blocks.sparse_features(t, "cxl"),
            blocks.bottom_forward(s, ("Embedding update", "Bottom MLP backward")),
            blocks.near_lookup(s, now, "pmem", "cxl", "Embedding lookup", ("Sparse features",), ("Embedding update",)),
            *gpu.pooling,
            blocks.top(s, ("Bottom MLP forward", gpu.pooled), tuple(x.name for x in early[1:])),
            *gpu.spreading,
            *early,
            *shadow,
            *blocks.undo_log(t, w.bound, FORWARD_DONE),
            blocks.bottom_backward(s, (*gpu.trained, "Commit", *(task.name for task in shadow))),
            blocks.near_update(s, t, "pmem", "cxl", before_update, persists="embedding update"),
        )
    )


def _split(s: Scenario, t: Traffic) -> tuple[Traffic, tuple[Task, Task]]:
    """Only the first batch looks up after the update; every other one is looked up a batch early, then corrected."""
    first = np.zeros_like(t.rows)
    first[0] = t.rows[0]
    following = np.append(t.rows[1:], 0.0)
    ahead = replace(t, rows=following, raw_share=np.zeros_like(t.rows))
    corrected = np.append(t.raw_share[1:], 0.0) * t.lookup_bytes
    lookup = blocks.near_lookup(s, ahead, "pmem", "cxl", "Early lookup", FORWARD_DONE)
    where = "near-data" if s.machine.near_data_compute else "gpu"
    flow = (Demand("cxl", Move(np.sign(following) * t.pooled_bytes), blocks.OUT),) if where == "near-data" else ()
    correct = Task(
        "Correct pooled", "Embedding", (Demand(where, Pool(corrected)), *flow), ("Top MLP", "Early lookup"), background=True
    )
    return replace(t, rows=first, raw_share=np.zeros_like(t.rows)), (lookup, correct)


def _shadow(t: Traffic) -> tuple[Task, ...]:
    """A log that spans batches reads a copy of the parameters, made by the GPU's copy engine."""
    copy = Demand("gpu", Stream(t.mlp_bytes), blocks.COPY_ENGINE, beside=True)
    return (Task("Shadow copy", "Checkpoint", (copy,), FORWARD_DONE, background=True),)
