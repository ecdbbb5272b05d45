"""Bagpipe: looking ahead over coming batches, trainers keep a remote row in HBM as long as it will be used again."""

from ...core.graph import Demand, Task, TaskGraph
from ...core.work import AllToAll
from ...scenario.scenario import Scenario
from ...workload.expected_cache import look_ahead_rows, spread
from ..crossing import even
from ..loop import training_loop
from ..sharding import Parts
from ..steps import gpu, remote
from ..system import Cache, LogPolicy, System
from ..traffic import Traffic, row_bytes, table_bytes

BULK = 50  # batches between two write-backs


def plan(s: Scenario, w: LogPolicy, t: Traffic) -> TaskGraph:
    """Missing rows come while the batch before trains; only rows that the next batch uses are synchronised at once."""
    copies = spread(s, s.machine.num_gpus)
    now, later = _synchronise(s, t, copies)
    return TaskGraph(
        (
            training_loop(),
            *remote.fetch(t, t.misses, (), ("Embedding lookup",)),
            gpu.features(t, "Embedding lookup"),
            *gpu.step(
                s,
                t,
                copies * t.rows,
                ("Rows to GPU", "Sparse features"),
                ("Embedding update", *(task.name for task in now)),
                reduced=True,
                spread_after=("Scatter remote rows", *(task.name for task in later)),
            ),
            *now,
            *later,
            *remote.send_back(t, t.evicted, ("Embedding update",), background=True, calls=1 / BULK),
        )
    )


def _synchronise(s: Scenario, t: Traffic, copies: float) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """Rows that several trainers hold: gradients to the row's owner and new values back; one trainer has nothing to say."""
    if s.machine.num_gpus == 1:
        return (), ()
    each = even(Parts(s.machine.num_gpus, s.machine.gpus_per_node), copies * (t.gradient_bytes + t.vector_bytes))
    soon, rest = ((Demand("network", AllToAll(*(rows * one for one in each))),) for rows in (t.rows - t.cold, t.cold))
    return (
        (Task("Sync rows used next", "Transfer", soon, ("Gradient spreading",)),),
        (Task("Sync other rows", "Transfer", rest, ("Sync rows used next",), background=True),),
    )


SYSTEM = System(
    title="Bagpipe",
    summary="Remote tables behind a cache in HBM that knows coming batches; fetching, write-back and most syncing overlap.",
    devices=("host", "gpu", "pcie", "network", "remote"),
    memory="servers",
    plan=plan,
    family="Look-ahead",
    baseline="remote-no-cache",
    scales=True,
    shards="servers",
    cache=Cache("look-ahead", look_ahead_rows),
    places=lambda s: {"servers": table_bytes(s), "hbm": look_ahead_rows(s) * row_bytes(s)},
    cites=("Agarwal et al., arXiv 2202.12429",),
)
