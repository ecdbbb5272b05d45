"""Tasks of systems with tables on embedding servers: rows and gradients cross the network."""

from ...core.graph import Demand, Names, Task
from ...core.row_sizes import mean_bytes
from ...core.work import Amount, Copy, Fetch, HostRows, Stream
from ...scenario.scenario import Scenario
from ...workload.caching.unique_rows import unique_copies
from ..exchange.crossing import even_crossing
from ..sharding import Parts
from ..traffic import INDEX_BYTES, Traffic
from . import gpu
from .lanes import FROM_SERVERS, TO_SERVERS


def fetch(t: Traffic, rows: Amount, previous_batch_predecessors: Names) -> tuple[Task, ...]:
    """Return the tasks that bring `rows` rows from servers; the last is `Rows to GPU`.

    Servers gather and send the rows, and every node copies its rows to its GPU. Rows come with their optimizer state, because
    the GPU updates them.
    """
    nbytes = rows * (t.moved_nbytes + INDEX_BYTES)
    transfer = (
        Demand("network", Fetch(nbytes), FROM_SERVERS),
        Demand("remote", Stream(nbytes, write=False, skew=t.row_skew), FROM_SERVERS),
    )
    take = (Demand("remote", HostRows(rows, t.moved_bytes, skew=t.row_skew)),)
    return (
        Task("Gather remote rows", "Embedding", take, previous_batch_predecessors=previous_batch_predecessors),
        Task("Rows over network", "Transfer", transfer, ("Gather remote rows",)),
        Task("Rows to GPU", "Transfer", (Demand("pcie", Copy(rows * t.moved_nbytes), gpu.TO_GPU),), ("Rows over network",)),
    )


def gather_gradients(s: Scenario, t: Traffic, predecessors: Names) -> tuple[tuple[Task, ...], Names]:
    """Return the task that sends row gradients to all trainers, and names to wait for.

    Every trainer sends the gradients of its samples' rows, with the row indices.
    """
    trainers = s.machine.num_gpus
    if trainers == 1:
        return (), predecessors
    nbytes = trainers * unique_copies(s, trainers) * t.rows * (mean_bytes(t.sizes.unique.gradient) + INDEX_BYTES)
    work = even_crossing(Parts(trainers, s.machine.gpus_per_node), 1.0).work(nbytes)
    return (Task("Gather gradients", "Transfer", (Demand("network", work),), predecessors),), ("Gather gradients",)


def send_back(
    t: Traffic, rows: Amount, predecessors: Names, background: bool = False, calls: float = 1.0, cards: float = 1.0
) -> tuple[Task, ...]:
    """Return the tasks that write `rows` rows back; the last is `Scatter remote rows`.

    Trainers copy the rows from their GPUs.
    calls: remote calls per batch; below 1 if the rows of several batches are sent together.
    cards: the load of one trainer's network card, in multiples of an even share.
    """
    nbytes = rows * (t.moved_nbytes + INDEX_BYTES)
    transfer = (
        Demand("network", Fetch(nbytes, skew=cards), TO_SERVERS),
        Demand("remote", Stream(nbytes, skew=t.row_skew), TO_SERVERS),
    )
    scatter = (Demand("remote", HostRows(rows, t.moved_bytes, scatter=True, calls=calls, skew=t.row_skew)),)
    copy = (Demand("pcie", Copy(rows * t.moved_nbytes, skew=cards), gpu.FROM_GPU),)
    return (
        Task("Rows from GPU", "Transfer", copy, predecessors, background=background),
        Task("Rows to servers", "Transfer", transfer, ("Rows from GPU",), background=background),
        Task("Scatter remote rows", "Embedding", scatter, ("Rows to servers",), background=background),
    )
