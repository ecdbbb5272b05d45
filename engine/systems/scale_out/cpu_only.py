"""CPU only: tables, lookups and MLPs all on the host; no GPU at all."""

from ...core.graph import Demand, Task, TaskGraph
from ...core.work import Stream
from ...scenario.scenario import Scenario
from ..steps import gpu, host, shared
from ..system import LogPolicy, RecoveryWork, System
from ..traffic import Traffic


def plan(s: Scenario, w: LogPolicy, t: Traffic) -> TaskGraph:
    """One step after the other in the host's one lane."""
    on_host = host.on_host
    return TaskGraph(
        (
            gpu.training_loop(after_previous=("Embedding update",), lane=host.CPU),
            host.lookup(t),
            on_host(shared.bottom_forward(s, ("Bottom MLP backward",))),
            on_host(shared.top(s, ("Bottom MLP forward", "Embedding lookup"))),
            on_host(shared.bottom_backward(s, ("Top MLP",))),
            host.update(t, ("Top MLP",)),
        )
    )


def recover(s: Scenario, recovery: RecoveryWork) -> TaskGraph:
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
    family="Hot and cold rows",
    baseline="cpu-gpu",
    scales=True,
    cites=("facebookresearch/dlrm on CPUs",),
)
