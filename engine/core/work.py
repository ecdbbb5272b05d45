"""Kinds of work that a system asks of a device, as amounts.

They have no seconds and no joules.
Amounts are floats or arrays with one value per batch (or per design point); zero amounts cost nothing.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .row_sizes import RowBytes, RowMix, mean_bytes

Amount = float | NDArray[np.float64]
Requester = Literal["host", "near-data", "gpu", "card"]  # requester of a memory's rows, which sets the accesses in flight


@dataclass(frozen=True)
class Work:
    """One kind of work: its fields are amounts and properties of the data.

    skew: the work of the slowest part of a device over its even share, for parts that share the work unevenly.
    """

    skew: Amount = field(default=1.0, kw_only=True)


@dataclass(frozen=True)
class RowReads(Work):
    """Read embedding rows at random.

    rows, row_bytes: the number of rows, and the bytes of each.
    raw_share: share of the lookups that read rows written just before (read after write).
    requester: the requester of the rows.
    missed_lines: lines that miss the memory's cache.
    written_back_lines: lines written back to make room for them.
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

    rows, row_bytes: the number of rows, and the bytes of each.
    requester: the requester of the rows.
    missed_lines: lines that miss the memory's cache.
    clean_lines: lines of the memory's cache that were not written lately.
    """

    rows: Amount
    row_bytes: RowBytes
    requester: Requester = "host"
    missed_lines: Amount = 0.0
    clean_lines: Amount = 0.0


@dataclass(frozen=True)
class RowLog(Work):
    """Copy embedding rows to the log region of the same memory.

    Rows are read, and entries of row and number appended.

    rows, row_bytes, entry_bytes: the number of rows, the bytes of a row, and the bytes of a log entry.
    requester: the requester of the rows.
    missed_lines: lines that miss the memory's cache.
    """

    rows: Amount
    row_bytes: RowBytes
    entry_bytes: RowBytes
    requester: Requester = "host"
    missed_lines: Amount = 0.0


@dataclass(frozen=True)
class HomeWrites(Work):
    """Write updated rows from a volatile buffer to their home; `RowUpdates` has the cost."""

    rows: Amount
    row_bytes: RowBytes


@dataclass(frozen=True)
class Stream(Work):
    """Read or write `nbytes` in sequence."""

    nbytes: Amount
    write: bool = True


@dataclass(frozen=True)
class Persist(Work):
    """Make `flags` small words durable."""

    flags: Amount


@dataclass(frozen=True)
class Move(Work):
    """Carry `nbytes` line by line over a link that needs no software.

    Each line waits for `source_memory` too.
    """

    nbytes: Amount
    source_memory: str = ""


@dataclass(frozen=True)
class Copy(Work):
    """Carry `nbytes` over a link by software.

    Each of `handoffs` is a synchronisation, a copy call and a dispatch.
    """

    nbytes: Amount
    handoffs: Amount = 0.0
    pinned: bool = True


@dataclass(frozen=True)
class Direct(Work):
    """Let GPU threads access `nbytes` of rows in host memory across the link (UVM)."""

    nbytes: Amount


@dataclass(frozen=True)
class Fetch(Work):
    """Carry `nbytes`, summed over all GPUs, between nodes and embedding servers.

    Each GPU uses its own network card.
    """

    nbytes: Amount


@dataclass(frozen=True)
class Pool(Work):
    """Pass `nbytes` of rows through adders, to pool rows or to apply gradients.

    memory: the memory whose controllers add, "" for a processor.
    tables: the tables that software without fused kernels handles one by one.
    """

    nbytes: Amount
    memory: str = ""
    tables: float = 0.0


@dataclass(frozen=True)
class HostEmbedding(Work):
    """Embedding work on the host CPU, a part of one batch's lookup-and-update software path.

    lookups, nbytes: the lookups, and the bytes of their rows.
    share: the share of the software path.
    tables: the tables that an eager library handles one by one.
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
    """Gather rows from host memory into a buffer, or scatter them, by host CPU.

    rows, row_bytes: the number of rows, and the bytes of each.
    scatter: True to scatter, False to gather.
    calls: the number of remote calls if the host is an embedding server.
    """

    rows: Amount
    row_bytes: RowBytes
    scatter: bool = False
    calls: float = 1.0


@dataclass(frozen=True)
class DriveBatch(Work):
    """The training loop's own work for a batch, on the host.

    kernels, collectives: the kernels and collectives that the loop calls.
    tables: the tables that Python handles one by one.
    values: the values of samples that the loop brings in.
    processes: the parallel processes of a node, one core each.
    """

    kernels: Amount = 0.0
    collectives: Amount = 0.0
    tables: Amount = 0.0
    values: Amount = 0.0
    processes: float = 1.0


@dataclass(frozen=True)
class CacheSoftware(Work):
    """Maintain a software cache for a batch, `times` times."""

    times: float = 1.0


@dataclass(frozen=True)
class AllToAll(Work):
    """Exchange bytes among all GPUs, or among hosts.

    nbytes: all bytes that leave a GPU.
    fabric, network: the bytes that the busiest GPU sends or receives over the fabric of its node and over the network.
    hosts: True if the hosts of nodes exchange: a message goes to each other node, and nothing over the fabric.
    """

    nbytes: Amount
    fabric: Amount
    network: Amount
    hosts: bool = False


@dataclass(frozen=True)
class AllReduce(Work):
    """Sum `nbytes` of every GPU over all GPUs."""

    nbytes: Amount


@dataclass(frozen=True)
class BottomMLP(Work):
    """One direction of the bottom MLP of `widths` (dense features first) for `samples` samples.

    In the backward direction the update reads and writes `state` words of the optimizer with each weight, as in `TopPart`.
    """

    samples: Amount
    widths: tuple[int, ...]
    direction: Literal["forward", "backward"]
    state: int = 0


@dataclass(frozen=True)
class TopPart(Work):
    """Feature interaction and the top MLP, forward and backward.

    samples, widths: the samples, and the widths of the top MLP, input first.
    elements: the elements of all vectors of a sample together.
    state: words of the optimizer that the update reads and writes with each weight.
    ranks: the rank of each layer of a cross network, 0 for a full matrix; () without a cross network.
    pairs: True if all pairs of vectors have products, False if vectors are concatenated.
    projections: layers before the interaction: their number, the vectors of a sample, the input and the output width.
    vectors: the vectors of a sample that have products, 0 without products.
    """

    samples: Amount
    widths: tuple[int, ...]
    elements: int
    state: int = 0
    ranks: tuple[int, ...] = ()
    pairs: bool = True
    projections: tuple[tuple[int, int, int, int], ...] = ()
    vectors: int = 0


def amounts(work: Work) -> dict[str, Any]:
    """Return the numeric amounts of some work by field name."""
    fields_by_name = {name: getattr(work, name) for name in work.__dataclass_fields__}
    return {name: amount for name, amount in fields_by_name.items() if not isinstance(amount, str | tuple | bool | RowMix)}


def written_bytes(work: Work) -> Amount:
    """Return the bytes that the work stores into its memory."""
    if isinstance(work, RowUpdates):
        return work.rows * mean_bytes(work.row_bytes)
    if isinstance(work, RowLog):
        return work.rows * mean_bytes(work.entry_bytes)
    if isinstance(work, Stream) and work.write:
        return work.nbytes
    return work.flags * 64 if isinstance(work, Persist) else 0.0


def cross_parameters(width: int, ranks: tuple[int, ...]) -> int:
    """Return the number of weights and biases of a cross network on `width` features.

    A rank of 0 is a full matrix.
    """
    return sum((2 * rank if rank else width) * width + width for rank in ranks)


def mlp_parameters(widths: tuple[int, ...]) -> int:
    """Return the number of weights and biases of an MLP with these widths, input first."""
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(widths))
