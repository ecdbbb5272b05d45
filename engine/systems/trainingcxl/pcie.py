"""PCIe: tables on a card of persistent memory with near-data logic, moved by software.

The host copies pooled vectors and gradients over PCIe and writes a redo log after each batch. A comparison with system PMEM
shows how much near-data logic saves without CXL. Source: Kwon et al., IEEE Micro 43(2), 2023.
"""

from ...core.graph import Task
from ..exchange import collectives
from ..steps import shared
from ..steps.lanes import FROM_MEMORY, TO_MEMORY
from ..steps.repeated import lookup_bytes, update_bytes
from ..system import LogPolicy, Settled, System
from ..traffic import Traffic


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch, with three software hand-offs.

    The hand-offs are after the forward pass, after the backward pass, and before the checkpoint. Pooled vectors cross the link
    if the card pools, else rows.
    """
    s = settled.scenario
    indices, arrived = collectives.index_exchange(settled)
    gpu = shared.gpu_side(settled, t, ("Forward hand-off",))
    return (
        shared.sparse_features(settled, t, "pcie"),
        *indices,
        shared.bottom_forward(s, ("Commit",)),
        shared.near_lookup(settled, t, "pmem", "pcie", "Embedding lookup", arrived, ("Commit",)),
        shared.handoff("Forward hand-off", lookup_bytes(s, t), ("Bottom MLP forward", "Embedding lookup"), FROM_MEMORY),
        *gpu.pooling,
        shared.top(s, (gpu.pooled,)),
        *gpu.spreading,
        shared.handoff("Backward hand-off", update_bytes(s, t), gpu.trained, TO_MEMORY),
        shared.bottom_backward(s, ("Backward hand-off",)),
        *collectives.all_reduce(s, t),
        shared.near_update(settled, t, "pmem", "pcie", ("Backward hand-off",)),
        shared.handoff("Checkpoint hand-off", 0.0, ("Bottom MLP backward", "Embedding update"), TO_MEMORY),
        *shared.redo_checkpoint(s, t, "pmem", "pcie", ("Checkpoint hand-off",)),
    )


SYSTEM = System(
    title="PCIe",
    summary="Tables on a PCIe card of persistent memory with near-data logic; software moves data and writes the redo log.",
    devices=("host", "gpu", "pcie", "card-link", "network", "near-data", "pmem"),
    one_node=True,
    memory="pmem",
    parts_kind="modules",
    plan=plan,
    log_policy=LogPolicy("redo"),
    cites=("Kwon et al., IEEE Micro 43(2), 2023",),
)
