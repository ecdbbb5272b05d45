"""Steps of systems whose tables live on embedding servers: rows come and gradients go over the network."""

from ...core.graph import Demand, Names, Task
from ...core.row_sizes import mean_bytes
from ...core.work import Amount, Copy, Fetch, HostRows, Stream
from ...scenario.scenario import Scenario
from ...workload.caching.expected_cache import spread
from ..exchange.crossing import even
from ..sharding import Parts
from ..traffic import INDEX_BYTES, Traffic
from . import gpu

FROM, TO = "from servers", "to servers"


def fetch(t: Traffic, rows: Amount, after_previous: Names) -> tuple[Task, ...]:
    """Servers gather `rows` rows, send them, and every node copies its own to its GPU; the last task is `Rows to GPU`.

    The GPU updates them, so that their optimizer state comes with them.
    """
    nbytes = rows * (t.moved_nbytes + INDEX_BYTES)
    transfer = (Demand("network", Fetch(nbytes), FROM), Demand("remote", Stream(nbytes, write=False, skew=t.row_skew)))
    take = (Demand("remote", HostRows(rows, t.moved_bytes, skew=t.row_skew)),)
    return (
        Task("Gather remote rows", "Embedding", take, after_previous=after_previous),
        Task("Rows over network", "Transfer", transfer, ("Gather remote rows",)),
        Task("Rows to GPU", "Transfer", (Demand("pcie", Copy(rows * t.moved_nbytes), gpu.UP),), ("Rows over network",)),
    )


def gather_gradients(s: Scenario, t: Traffic, predecessors: Names) -> tuple[tuple[Task, ...], Names]:
    """Every trainer sends the gradients of its samples' rows, with indices, to all others; return it and what to wait for."""
    trainers = s.machine.num_gpus
    if trainers == 1:
        return (), predecessors
    nbytes = trainers * spread(s, trainers) * t.rows * (mean_bytes(t.sizes.unique.gradient) + INDEX_BYTES)
    work = even(Parts(trainers, s.machine.gpus_per_node), 1.0).work(nbytes)
    return (Task("Gather gradients", "Transfer", (Demand("network", work),), predecessors),), ("Gather gradients",)


def send_back(
    t: Traffic, rows: Amount, predecessors: Names, background: bool = False, calls: float = 1.0, cards: float = 1.0
) -> tuple[Task, ...]:
    """Trainers copy `rows` rows from their GPUs; servers write them; the last task is `Scatter remote rows`.

    `calls` per batch: below one where several batches' rows go in bulk. One trainer sends all where it does so for `cards`.
    """
    nbytes = rows * (t.moved_nbytes + INDEX_BYTES)
    transfer = (Demand("network", Fetch(nbytes, skew=cards), TO), Demand("remote", Stream(nbytes, skew=t.row_skew)))
    scatter = (Demand("remote", HostRows(rows, t.moved_bytes, scatter=True, calls=calls, skew=t.row_skew)),)
    copy = (Demand("pcie", Copy(rows * t.moved_nbytes, skew=cards), gpu.DOWN),)
    return (
        Task("Rows from GPU", "Transfer", copy, predecessors, background=background),
        Task("Rows to servers", "Transfer", transfer, ("Rows from GPU",), background=background),
        Task("Scatter remote rows", "Embedding", scatter, ("Rows to servers",), background=background),
    )
