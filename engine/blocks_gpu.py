"""Steps of systems whose GPUs hold embeddings: kernels on the GPU, collectives between GPUs, the training loop's software."""

from itertools import pairwise

from engine.graph import Demand, Task, TaskGraph
from engine.scenario import Scenario
from engine.system import Recovery
from engine.traffic import Traffic
from engine.work import AllReduce, AllToAll, Amount, Copy, Pool, RowUpdates, Software

Names = tuple[str, ...]
LOOP, UP, DOWN = "training loop", "to GPU", "from GPU"


def training_loop(after: Names = ()) -> Task:
    """The host's own software for a batch; it may run ahead of the GPUs, but not of itself."""
    return Task("Training loop", "Other", (Demand("host", Software("loop"), LOOP),), after, ("Training loop",))


def features(t: Traffic, used_by: str) -> Task:
    """The batch's row indices, copied to the GPUs once the batch before has used its own."""
    return Task("Sparse features", "Transfer", (Demand("pcie", Copy(t.feature_bytes), UP),), after_previous=(used_by,))


def lookup(t: Traffic, after: Names, after_previous: Names = (), share: Amount = 1.0) -> Task:
    """Read and pool a `share` of the batch's lookups from GPU memory."""
    return Task("Embedding lookup", "Embedding", (Demand("gpu", Pool(share * t.lookup_bytes)),), after, after_previous)


def update(t: Traffic, rows: Amount, after: Names, share: Amount = 1.0, after_previous: Names = ()) -> tuple[Task, ...]:
    """Spread a `share` of the gradients over their lookups, then update `rows` rows in GPU memory."""
    return (
        Task("Gradient spreading", "Embedding", (Demand("gpu", Pool(share * t.lookup_bytes)),), after, after_previous),
        Task("Embedding update", "Embedding", (Demand("gpu", RowUpdates(rows, t.row_bytes)),), ("Gradient spreading",)),
    )


def behind(of: str, batches: int) -> tuple[Task, ...]:
    """Tasks without work: "{n} behind" ends when task `of` has, n batches before; what waits for it runs no further ahead."""
    names = [of, *(f"{n} behind" for n in range(1, batches + 1))]
    idle = (Demand("gpu", Pool(0.0), "order"),)
    return tuple(Task(name, "Other", idle, after_previous=(before,)) for before, name in pairwise(names))


def exchange(s: Scenario, name: str, nbytes: Amount, after: Names) -> tuple[tuple[Task, ...], Names]:
    """Return an all-to-all and what to wait for after it; one GPU has nothing to exchange."""
    if s.machine.num_gpus == 1:
        return (), after
    return (Task(name, "Transfer", (Demand("network", AllToAll(nbytes)),), after),), (name,)


def all_reduce(s: Scenario, t: Traffic, after: Names) -> tuple[Task, ...]:
    """Sum the MLPs' gradients over all GPUs."""
    if s.machine.num_gpus == 1:
        return ()
    return (Task("All-reduce", "Transfer", (Demand("network", AllReduce(t.mlp_bytes)),), after),)


def start_again(link: str, recovery: Recovery) -> TaskGraph:
    """Nothing was kept: the first parameters are loaded again and training starts over."""
    load = (Demand(link, Copy(recovery.mlp_bytes, handoffs=1)),)
    return TaskGraph((Task("Load MLP", "Other", load, after_previous=("Load MLP",)),))
