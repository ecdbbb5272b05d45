"""Recovery after a fault, as tasks: a system's own, a restore, or a new start.

The module also has the tasks that free a full log.
"""

from ...core.graph import Demand, Task, TaskGraph, check_graph
from ...core.work import AllGather, Copy, Move, Persist, Requester, RowUpdates, Stream
from ...scenario.scenario import Scenario
from ..system import RecoveryWork, Settled
from .collective_waits import with_waits
from .lanes import FROM_MEMORY, TO_MEMORY
from .shared import FLAGS
from .wires import over_card_link


def recover(settled: Settled, recovery: RecoveryWork) -> TaskGraph:
    """Return the tasks of a recovery.

    The tasks are the system's own; else a restore from its log or from its memory behind CXL; else those of a new start.
    Of several GPUs each loads an equal part of the MLP, and then gathers the parts of the others.
    """
    system, behind_cxl = settled.system, "cxl" in settled.system.devices
    gather = _gather_mlp(settled.scenario, recovery.mlp_bytes)
    if system.recover:
        tasks = system.recover(settled.scenario, recovery)
    elif settled.log_policy.log or behind_cxl:
        tasks = (*_restore(system.memory, "cxl" if behind_cxl else "pcie", recovery), *gather)
    else:
        load = (Demand("pcie", Copy(recovery.mlp_bytes, handoffs=1)),)
        tasks = (Task("Load MLP", "Other", load, previous_batch_predecessors=("Load MLP",)), *gather)
    graph = TaskGraph(with_waits(settled.scenario, over_card_link(settled.wires, tasks)))
    check_graph(graph, frozenset(system.devices))
    return graph


def _gather_mlp(s: Scenario, nbytes: float) -> tuple[Task, ...]:
    """Return the task after which every GPU has the whole MLP; () for one GPU, which has loaded it all."""
    if s.machine.num_gpus == 1:
        return ()
    return (Task("Gather MLP", "Other", (Demand("network", AllGather(nbytes)),), ("Load MLP",)),)


def _restore(memory: str, link: str, recovery: RecoveryWork) -> tuple[Task, ...]:
    """Return the tasks of a restore: read logs, put rows back, verify tables, load the MLP.

    A medium's own cache was lost with the power.
    """
    requester: Requester = "near-data" if link == "cxl" else "host"
    rows, previous_end = RowUpdates(recovery.rows, recovery.row_bytes, requester, recovery.rows), ("Load MLP",)
    carry = Move(recovery.mlp_bytes) if link == "cxl" else Copy(recovery.mlp_bytes, handoffs=1)
    load = (Demand(memory, Stream(recovery.mlp_bytes, write=False)), Demand(link, carry, FROM_MEMORY))
    return (
        Task(
            "Read log",
            "Other",
            (Demand(memory, Stream(recovery.log_bytes, write=False)),),
            previous_batch_predecessors=previous_end,
        ),
        Task("Put rows back", "Other", (Demand(memory, rows),), ("Read log",)),
        Task("Verify tables", "Other", (Demand(memory, Stream(recovery.scan_bytes, write=False)),), ("Put rows back",)),
        Task("Load MLP", "Other", load, ("Verify tables",)),
    )


def full_checkpoint(memory: str, link: str, mlp_bytes: float) -> tuple[Task, ...]:
    """Return the tasks that free a full log: write MLPs, set the logs' flags.

    They run when every updated row is in its table.
    """
    carry = Move(mlp_bytes) if link == "cxl" else Copy(mlp_bytes, handoffs=1)
    store = (Demand(memory, Stream(mlp_bytes)), Demand(link, carry, TO_MEMORY))
    return (
        Task("Write MLPs", "Checkpoint", store, previous_batch_predecessors=("Set flags",)),
        Task("Set flags", "Checkpoint", (Demand(memory, Persist(FLAGS)),), ("Write MLPs",)),
    )
