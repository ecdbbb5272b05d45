"""CPU only: tables, lookups and MLPs all on the host; no GPU at all."""

from .. import blocks, blocks_host
from ..core.graph import Demand, Task, TaskGraph
from ..core.work import Stream
from ..scenario.scenario import Scenario
from ..system import Recovery, System, Ways
from ..traffic import Traffic


def plan(s: Scenario, w: Ways, t: Traffic) -> TaskGraph:
    """One step after the other in the host's one lane."""
    on_host = blocks_host.on_host
    return TaskGraph(
        (
            blocks_host.training_loop(),
            blocks_host.lookup(t),
            on_host(blocks.bottom_forward(s, ("Bottom MLP backward",))),
            on_host(blocks.top(s, ("Bottom MLP forward", "Embedding lookup"))),
            on_host(blocks.bottom_backward(s, ("Top MLP",))),
            blocks_host.update(t, ("Top MLP",)),
        )
    )


def recover(s: Scenario, recovery: Recovery) -> TaskGraph:
    """Nothing was kept: the first parameters are read again and training starts over."""
    load = (Demand("dram", Stream(recovery.mlp_bytes, write=False)),)
    return TaskGraph((Task("Load MLP", "Other", load, after_previous=("Load MLP",)),))


SYSTEM = System(
    title="CPU only",
    summary="Tables, embedding work and MLPs on the host CPU.",
    devices=("host", "dram"),
    memory="dram",
    plan=plan,
    recover=recover,
    ways=Ways("", 0, False),
    family="Hot and cold rows",
    baseline="cpu-gpu",
    scales=True,
    cites=("facebookresearch/dlrm on CPUs",),
)
