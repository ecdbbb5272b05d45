"""Tasks of all GPUs together: all-to-alls, and the all-reduce of the MLPs' gradients."""

from ...core.graph import Demand, Names, Task
from ...core.work import AllReduce, Amount
from ...scenario.scenario import Scenario
from ..system import Settled
from ..traffic import Traffic
from .crossing import Crossing


def exchange(name: str, crossing: Crossing, predecessors: Names, share: Amount = 1.0) -> tuple[tuple[Task, ...], Names]:
    """Return an all-to-all of a `share` of the batch, and task names to wait for.

    Without traffic between parts there is no task, and the names are `predecessors`.
    """
    if not crossing.nbytes:
        return (), predecessors
    return (Task(name, "Transfer", (Demand("network", crossing.work(share)),), predecessors),), (name,)


def index_exchange(
    settled: Settled, predecessors: Names = ("Sparse features",), share: Amount = 1.0
) -> tuple[tuple[Task, ...], Names]:
    """Return the task that sends indices to their parts, and the names to wait for."""
    return exchange("Index all-to-all", settled.placement.indices, predecessors, share)


def vector_exchange(settled: Settled, name: str, predecessors: Names, share: Amount = 1.0) -> tuple[tuple[Task, ...], Names]:
    """Return the task that sends pooled vectors or gradients, and the names to wait for.

    Pooled vectors go to the parts that have their samples; gradients go back.
    """
    return exchange(name, settled.placement.pooled, predecessors, share)


def mlp_done(s: Scenario) -> Names:
    """Return the names of the last tasks that train a batch's MLPs."""
    return ("Bottom MLP backward", *mlp_summed(s))


def mlp_summed(s: Scenario) -> Names:
    """Return the name of the task that sums the MLPs' gradients; () for one GPU."""
    return ("All-reduce",) if s.machine.num_gpus > 1 else ()


def all_reduce(s: Scenario, t: Traffic) -> tuple[Task, ...]:
    """Return the task that sums the MLPs' gradients over all GPUs; () for one GPU."""
    if s.machine.num_gpus == 1:
        return ()
    return (Task("All-reduce", "Transfer", (Demand("network", AllReduce(t.mlp_gradient_bytes)),), ("Bottom MLP backward",)),)
