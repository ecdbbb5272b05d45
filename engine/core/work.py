"""Kinds of work that a system asks of a device, without seconds or joules.

An amount is a float, or an array with one value per batch or per design point. Work of zero amounts costs nothing.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arithmetic import total
from .row_sizes import RowBytes, RowMix, mean_bytes

Amount = float | NDArray[np.float64]
Requester = Literal["host", "near-data", "gpu", "card"]  # requester of a memory's rows, which sets the accesses in flight


@dataclass(frozen=True)
class Work:
    """One kind of work; its fields are amounts and properties of the data.

    skew: for parts that share the work unevenly, the work of the busiest part over the mean of all parts.
    """

    skew: Amount = field(default=1.0, kw_only=True)


@dataclass(frozen=True)
class RowReads(Work):
    """Read embedding rows at random.

    rows, row_bytes: the number of rows, and the bytes of each row.
    raw_share: share of the lookups that read rows written just before (read after write).
    requester: the hardware that asks the memory for the rows.
    missed_lines: lines that are not in the memory's own cache.
    written_back_lines: changed lines that the memory's own cache evicts for the missed lines.
    """

    rows: Amount
    row_bytes: RowBytes
    raw_share: Amount = 0.0
    requester: Requester = "host"
    missed_lines: Amount = 0.0
    written_back_lines: Amount = 0.0


@dataclass(frozen=True)
class RowUpdates(Work):
    """Read, modify and write embedding rows in place.

    rows, row_bytes: the number of rows, and the bytes of each row.
    requester: the hardware that asks the memory for the rows.
    missed_lines: lines that are not in the memory's own cache.
    clean_lines: lines in the memory's own cache that are not among the lines written last.
    """

    rows: Amount
    row_bytes: RowBytes
    requester: Requester = "host"
    missed_lines: Amount = 0.0
    clean_lines: Amount = 0.0


@dataclass(frozen=True)
class RowLog(Work):
    """Copy embedding rows to the log region of the same memory.

    Each row is read, and an entry of the row's number and its values is appended.

    rows, row_bytes, entry_bytes: the number of rows, the bytes of a row, and the bytes of a log entry.
    requester: the hardware that asks the memory for the rows.
    missed_lines: lines that are not in the memory's own cache.
    """

    rows: Amount
    row_bytes: RowBytes
    entry_bytes: RowBytes
    requester: Requester = "host"
    missed_lines: Amount = 0.0


@dataclass(frozen=True)
class HomeWrites(Work):
    """Write updated rows from a volatile buffer to their place in the tables.

    The written bytes already count with the `RowUpdates` of the batch, so this work counts none.
    """

    rows: Amount
    row_bytes: RowBytes


@dataclass(frozen=True)
class Stream(Work):
    """Read or write `nbytes` in sequence; `write` is True to write."""

    nbytes: Amount
    write: bool = True


@dataclass(frozen=True)
class Persist(Work):
    """Make `flags` small words durable, each in one 64 B line."""

    flags: Amount


@dataclass(frozen=True)
class Move(Work):
    """Carry `nbytes` line by line over a link that needs no software.

    Rows count whole lines of 64 B, as each row has lines of its own.
    Each line also waits for the answer of the memory `source_memory`; "" for no memory.
    """

    nbytes: Amount
    source_memory: str = ""


@dataclass(frozen=True)
class Copy(Work):
    """Carry `nbytes` over a link by software, from pinned or pageable memory.

    handoffs: the number of software hand-offs; each is a synchronisation, a copy call and a dispatch.
    """

    nbytes: Amount
    handoffs: Amount = 0.0
    pinned: bool = True


@dataclass(frozen=True)
class Direct(Work):
    """Let GPU threads access rows in host memory across the link (UVM).

    rows, row_bytes: the number of rows, and the bytes of each row.
    """

    rows: Amount
    row_bytes: RowBytes


@dataclass(frozen=True)
class Fetch(Work):
    """Carry `nbytes`, summed over all GPUs, between nodes and embedding servers.

    Each GPU uses the network card that belongs to it.
    """

    nbytes: Amount


@dataclass(frozen=True)
class Pool(Work):
    """Pass `nbytes` of rows through adders, to pool rows or to apply gradients.

    memory: the memory at whose controllers the adders are; "" for the adders of a processor.
    tables: the number of tables that software without fused kernels handles one by one.
    """

    nbytes: Amount
    memory: str = ""
    tables: float = 0.0


@dataclass(frozen=True)
class HostEmbedding(Work):
    """Embedding lookups or updates on the host CPU.

    lookups, nbytes: the lookups, and the bytes of their rows.
    share: this work's share of the software time of a batch's lookup and update together.
    tables: the number of tables that an eager library handles one by one.
    updates: True for updates, False for lookups.
    stateful: share of the lookups in tables whose optimizer keeps state.
    new_lines: lines of 64 B that hold the unique rows.
    """

    lookups: Amount
    nbytes: Amount
    share: Amount
    tables: Amount = 0.0
    updates: bool = False
    stateful: float = 0.0
    new_lines: Amount = 0.0


@dataclass(frozen=True)
class HostRows(Work):
    """Gather rows from host memory into a buffer, or scatter them, by the host CPU.

    rows, row_bytes: the number of rows, and the bytes of each row.
    scatter: True to scatter, False to gather.
    calls: the number of remote calls if the host is an embedding server.
    """

    rows: Amount
    row_bytes: RowBytes
    scatter: bool = False
    calls: float = 1.0


@dataclass(frozen=True)
class DriveBatch(Work):
    """Work of the training loop itself for one batch, on the host.

    kernels, collectives: the kernels and collectives that the loop launches.
    tables: the number of tables that Python code handles one by one.
    values: the number of input values (indices, dense features, labels) that the loop reads.
    further_ids: the values that are a feature's second and further ids.
    processes: the number of parallel processes of a node, each on one core.
    """

    kernels: Amount = 0.0
    collectives: Amount = 0.0
    tables: Amount = 0.0
    values: Amount = 0.0
    further_ids: Amount = 0.0
    processes: float = 1.0


@dataclass(frozen=True)
class CacheSoftware(Work):
    """Run the software that maintains a cache for a batch, `times` times."""

    times: float = 1.0


@dataclass(frozen=True)
class AllToAll(Work):
    """Exchange bytes among all GPUs, or among all hosts.

    nbytes: bytes that leave a GPU, summed over all GPUs.
    fabric, network: the bytes that the busiest GPU sends or receives over the fabric of its node and over the network.
    hosts: True if the hosts exchange: each sends a message to each other node, and no byte over the fabric.
    """

    nbytes: Amount
    fabric: Amount
    network: Amount
    hosts: bool = False


@dataclass(frozen=True)
class AllReduce(Work):
    """Sum `nbytes` of gradients of each GPU over all GPUs."""

    nbytes: Amount


@dataclass(frozen=True)
class AllGather(Work):
    """Bring `nbytes` to each GPU, of which each GPU has an equal part."""

    nbytes: Amount


@dataclass(frozen=True)
class Agreement(Work):
    """Waits of all GPUs for each other, one before each of `calls` collectives."""

    calls: Amount


@dataclass(frozen=True)
class BottomMLP(Work):
    """One pass of the bottom MLP, forward or backward.

    samples: the samples of the batch.
    widths: the widths of the MLP's layers, the number of dense features first.
    direction: "forward" or "backward"; the backward pass includes the update.
    state: words of the optimizer that the update reads and writes with each weight.
    """

    samples: Amount
    widths: tuple[int, ...]
    direction: Literal["forward", "backward"]
    state: int = 0


class SequenceShape(NamedTuple):
    """The layers that read a sample's history.

    events: mean number of events of a history, the candidate included. positions: mean number of positions: events and contexts.
    squares: mean of the squared number of positions.
    uneven_events, uneven_squares: events and squared positions of the busiest GPU, over the mean of all GPUs.
    event_width: elements of an event's vectors of all sequence tables together.
    contexts: (vectors of a sample, elements) of the pooled and dense vectors, each a position, by their width.
    layers, dim: number of HSTU layers, and elements of a position between them.
    heads_dim: elements of all attention heads of a layer together.
    gated: vectors of `heads_dim` elements that a layer's last matrix reads: 3, or 1 without concatenation.
    """

    events: Any
    positions: Any
    squares: Any
    uneven_events: Any
    uneven_squares: Any
    event_width: int
    contexts: tuple[tuple[int, int], ...]
    layers: int
    dim: int
    heads_dim: int
    gated: int = 3


@dataclass(frozen=True)
class TopPart(Work):
    """Feature interaction and the top MLP, forward and backward.

    samples, widths: the samples of the batch, and the widths of the top MLP's layers, the input's first.
    elements: the number of elements of all vectors of a sample together; None where history layers take them in.
    state: words of the optimizer that the update reads and writes with each weight.
    ranks: the rank of each layer of a cross network, 0 for a full matrix; () without a cross network.
    pairs: True if the interaction is the products of all pairs of vectors, False if it concatenates the vectors.
    projections: layers before the interaction: (number of layers, vectors of a sample, input width, output width) each.
    vectors: the number of vectors of a sample that have products; 0 without products.
    """

    samples: Amount
    widths: tuple[int, ...]
    elements: int | None
    state: int = 0
    ranks: tuple[int, ...] = ()
    pairs: bool = True
    projections: tuple[tuple[int, int, int, int], ...] = ()
    vectors: int = 0


@dataclass(frozen=True)
class HistoryPart(Work):
    """Layers that read the histories of `samples` samples, forward and backward.

    elements: the number of elements of all vectors of a sample together, which the layers take in.
    state: words of the optimizer that the update reads and writes with each weight.
    """

    samples: Amount
    shape: SequenceShape
    elements: int | None = None
    state: int = 0


LayerWork = BottomMLP | HistoryPart | TopPart


def amounts(work: Work) -> dict[str, Any]:
    """Return the numeric amounts of `work` by the name of the field."""
    fields_by_name = {name: getattr(work, name) for name in work.__dataclass_fields__}
    return {name: amount for name, amount in fields_by_name.items() if not isinstance(amount, str | tuple | bool | RowMix | None)}


def written_bytes(work: Work) -> Amount:
    """Return the bytes that the work writes into its memory."""
    if isinstance(work, RowUpdates):
        return work.rows * mean_bytes(work.row_bytes)
    if isinstance(work, RowLog):
        return work.rows * mean_bytes(work.entry_bytes)
    if isinstance(work, Stream) and work.write:
        return work.nbytes
    return work.flags * 64 if isinstance(work, Persist) else 0.0


def cross_parameters(width: int, ranks: tuple[int, ...]) -> int:
    """Return the number of weights and biases of a cross network on `width` features.

    `ranks` has the rank of each layer; 0 is a full matrix.
    """
    return total((2 * rank if rank else width) * width + width for rank in ranks)


def mlp_parameters(widths: tuple[int, ...]) -> int:
    """Return the number of weights and biases of an MLP.

    `widths` are the widths of its layers, the input's first.
    """
    return total((inputs + 1) * outputs for inputs, outputs in pairwise(widths))
