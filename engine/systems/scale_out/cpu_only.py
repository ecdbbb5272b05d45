"""CPU only: one or several hosts keep the tables and train the MLPs.

It is training without any GPU, for comparison and for small models. Source: facebookresearch/dlrm on CPUs.
"""

from ...core.graph import Demand, Task
from ...core.work import Stream
from ...hardware.device import gpus_in_node, nodes
from ...scenario.scenario import Scenario
from ..exchange import collectives
from ..exchange.crossing import Crossing
from ..loop import training_loop
from ..steps import host, shared
from ..system import RecoveryWork, Settled, System
from ..traffic import Traffic, mlp_gradient_bytes


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch, which the host's one lane serves one by one.

    Several hosts share tables and samples, and exchange vectors and gradients.
    """
    s, on_host = settled.scenario, host.on_host
    indices, arrived = collectives.index_exchange(settled, ("Training loop",))
    pooled, forward = collectives.vector_exchange(settled, "Pooled all-to-all", ("Embedding lookup",))
    gradients, backward = collectives.vector_exchange(settled, "Gradient all-to-all", ("Top MLP",))
    summed, reduced = collectives.exchange("All-reduce", _ring(s, 2 * mlp_gradient_bytes(s)), ("Bottom MLP backward",))
    return (
        training_loop(previous_batch_predecessors=("Embedding update",), lane=host.CPU),
        *indices,
        host.lookup(t, predecessors=arrived),
        *pooled,
        on_host(shared.bottom_forward(s, reduced)),
        on_host(shared.top(s, ("Bottom MLP forward", *forward))),
        *gradients,
        on_host(shared.bottom_backward(s, ("Top MLP",))),
        *summed,
        host.update(t, backward),
    )


def _ring(s: Scenario, rounds_nbytes: float) -> Crossing:
    """Return the traffic of a ring of hosts: the bytes of one round, or of two to sum gradients."""
    hosts = nodes(s.machine)
    nbytes = (hosts - 1) * rounds_nbytes
    return Crossing(nbytes, 0.0, nbytes * (1 / hosts) / gpus_in_node(s.machine), hosts=True)


def recover(s: Scenario, recovery: RecoveryWork) -> tuple[Task, ...]:
    """Return the tasks of a new start, which read the first MLP parameters again.

    Of several hosts each reads an equal part, and then gathers the parts of the others.
    """
    load = (Demand("dram", Stream(recovery.mlp_bytes, write=False)),)
    gathered, _ = collectives.exchange("Gather MLP", _ring(s, recovery.mlp_bytes), ("Load MLP",))
    return (Task("Load MLP", "Other", load, previous_batch_predecessors=("Load MLP",)), *gathered)


SYSTEM = System(
    title="CPU only",
    summary="Tables, lookups and MLPs on the CPUs of one or several hosts, without GPUs.",
    devices=("host", "dram", "network"),
    memory="dram",
    plan=plan,
    recover=recover,
    family="Hot and cold rows",
    baseline="cpu-gpu",
    parts_kind="nodes",
    cites=("facebookresearch/dlrm on CPUs",),
)
