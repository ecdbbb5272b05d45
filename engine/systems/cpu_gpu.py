"""CPU-GPU: tables and their lookups on the host, MLPs on the GPUs, one after the other; the usual hybrid."""

from engine import blocks_gpu, blocks_host
from engine.graph import TaskGraph
from engine.scenario import Scenario
from engine.system import Recovery, System, Ways
from engine.traffic import Traffic


def plan(s: Scenario, w: Ways, t: Traffic) -> TaskGraph:
    """The host looks up and pools, the GPUs train, the host updates."""
    return TaskGraph(blocks_host.hybrid(s, t))


def recover(s: Scenario, recovery: Recovery) -> TaskGraph:
    """Nothing was kept: training starts over."""
    return blocks_gpu.start_again("pcie", recovery)


SYSTEM = System(
    title="CPU-GPU",
    summary="Tables and embedding work on the host CPU, MLPs data-parallel on the GPUs, nothing overlapped.",
    devices=("host", "dram", "gpu", "pcie", "network"),
    memory="dram",
    plan=plan,
    recover=recover,
    ways=Ways("", 0, False),
    family="Hot and cold rows",
    baseline="cpu-gpu",
    scales=True,
    cites=("facebookresearch/dlrm, its hybrid mode",),
)
