"""Remote tables without a cache: every batch fetches its rows from embedding servers and sends their gradients back."""

from ...core.graph import TaskGraph
from ...scenario.scenario import Scenario
from ...workload.expected_cache import spread
from ..loop import training_loop
from ..steps import gpu, remote
from ..system import LogPolicy, System
from ..traffic import Traffic, table_bytes


def plan(s: Scenario, w: LogPolicy, t: Traffic) -> TaskGraph:
    """Nothing overlaps: calls to servers block the training loop, and rows are read after the batch before has been written."""
    rows = spread(s, s.machine.num_gpus) * t.rows
    return TaskGraph(
        (
            training_loop(("Rows to GPU",)),
            *remote.fetch(t, rows, (), ("Scatter remote rows", "Training loop")),
            gpu.features(t, "Embedding lookup"),
            *gpu.step(s, t, rows, ("Rows to GPU", "Sparse features"), reduced=True),
            *remote.send_back(t, rows, ("Embedding update", "Training loop")),
        )
    )


SYSTEM = System(
    title="Remote, no cache",
    summary="Tables on embedding servers; every batch's rows come and go over the network, and nothing overlaps.",
    devices=("host", "gpu", "pcie", "network", "remote"),
    memory="servers",
    plan=plan,
    family="Look-ahead",
    baseline="remote-no-cache",
    scales=True,
    shards="servers",
    places=lambda s: {"servers": table_bytes(s)},
    cites=("the baseline of Agarwal et al., arXiv 2202.12429",),
)
