"""The kinds of work a system can ask of a device: amounts only, no seconds and no joules.

Amounts are floats or arrays with one value per batch (or per design point); zero amounts cost nothing.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .row_sizes import RowBytes, RowMix, mean_bytes

Amount = float | NDArray[np.float64]
By = Literal["host", "near-data", "gpu", "card"]  # who asks a memory for rows, and so how many accesses are in flight


@dataclass(frozen=True)
class Work:
    """One kind of work: its fields are amounts, and what they are of.

    Where several parts of a device share it unevenly, the slowest one has `skew` times its even share.
    """

    skew: Amount = field(default=1.0, kw_only=True)


@dataclass(frozen=True)
class RowReads(Work):
    """Read embedding rows at random; `raw_share` of the lookups meet rows written just before, `by` says who asks for them.

    A memory with a cache of its own lacks `fetched` of its lines, here and below, and writes `returned` ones back for them.
    """

    rows: Amount
    row_bytes: RowBytes
    raw_share: Amount = 0.0
    by: By = "host"
    fetched: Amount = 0.0
    returned: Amount = 0.0


@dataclass(frozen=True)
class RowUpdates(Work):
    """Read, modify and write embedding rows in place; `clean` lines of a memory's cache were not written lately."""

    rows: Amount
    row_bytes: RowBytes
    by: By = "host"
    fetched: Amount = 0.0
    clean: Amount = 0.0


@dataclass(frozen=True)
class RowLog(Work):
    """Copy embedding rows to the log region of the same memory: read them, append entries of row and number."""

    rows: Amount
    row_bytes: RowBytes
    entry_bytes: RowBytes
    by: By = "host"
    fetched: Amount = 0.0


@dataclass(frozen=True)
class HomeWrites(Work):
    """Write already updated rows from a volatile buffer to their home; paid for by the update."""

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
    """Carry `nbytes` over a link that needs no software, line by line; each line read `out_of` a memory waits for it too."""

    nbytes: Amount
    out_of: str = ""


@dataclass(frozen=True)
class Copy(Work):
    """Carry `nbytes` over a link by software, after `handoffs` of synchronise, copy call and dispatch."""

    nbytes: Amount
    handoffs: Amount = 0.0
    pinned: bool = True


@dataclass(frozen=True)
class Direct(Work):
    """Let GPU threads read or write `nbytes` of rows in host memory themselves, across the link (UVM)."""

    nbytes: Amount


@dataclass(frozen=True)
class Fetch(Work):
    """Carry `nbytes`, summed over all GPUs, between their nodes and embedding servers; each GPU over its own card."""

    nbytes: Amount


@dataclass(frozen=True)
class Pool(Work):
    """Pass `nbytes` of rows through adders: pooling, or applying gradients; `beside` names the memory whose controllers do it.

    Software that is not fused does so for `tables` tables one by one.
    """

    nbytes: Amount
    beside: str = ""
    tables: float = 0.0


@dataclass(frozen=True)
class HostEmbedding(Work):
    """Embedding work on the host CPU, a `share` of one batch's lookup-and-update software path.

    An eager library looks up, or `updates`, so many `tables` one by one; a share of the lookups are `stateful`, of tables whose
    optimizer keeps state, and unique rows lie in `new_lines` of 64 B.
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
    """Gather rows from host memory into one buffer, or scatter them back, on a host CPU; `calls` if it is a remote one's."""

    rows: Amount
    row_bytes: RowBytes
    scatter: bool = False
    calls: float = 1.0


@dataclass(frozen=True)
class DriveBatch(Work):
    """What the training loop does for a batch: kernels and collectives that it calls, tables that Python handles one by one,
    values of samples that it brings in; in so many `processes` of a node, one core each, beside each other."""

    kernels: Amount = 0.0
    collectives: Amount = 0.0
    tables: Amount = 0.0
    values: Amount = 0.0
    processes: float = 1.0


@dataclass(frozen=True)
class CacheSoftware(Work):
    """Tend a software cache for a batch, `times` over."""

    times: float = 1.0


@dataclass(frozen=True)
class AllToAll(Work):
    """Exchange `nbytes`, all that leave a GPU; the busiest sends or receives so many over the `fabric` and over the `network`.

    Where the `hosts` of nodes exchange, a message goes to each other node, and nothing over the fabric.
    """

    nbytes: Amount
    fabric: Amount
    network: Amount
    hosts: bool = False


@dataclass(frozen=True)
class AllReduce(Work):
    """Sum `nbytes` that every GPU has over all GPUs."""

    nbytes: Amount


@dataclass(frozen=True)
class BottomMLP(Work):
    """One direction of the bottom MLP of `widths` (dense features first) for `samples` samples.

    Backward, its update reads and writes `state` words of the optimizer beside each weight; so does the top part's.
    """

    samples: Amount
    widths: tuple[int, ...]
    direction: Literal["forward", "backward"]
    state: int = 0


@dataclass(frozen=True)
class TopPart(Work):
    """Feature interaction of vectors of so many `elements` together and the top MLP of `widths`, forward and backward.

    With a cross network `ranks` has the rank of each of its layers, 0 for a full matrix; in `pairs` all pairs have products, else
    vectors are put beside each other. `projections` are layers before them: how many there are, for how
    many vectors a sample, from and to which width. `vectors` are those of a sample that have products, 0 without.
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
    """Return the numeric amounts of a piece of work by field name."""
    given = {name: getattr(work, name) for name in work.__dataclass_fields__}
    return {name: value for name, value in given.items() if not isinstance(value, str | tuple | bool | RowMix)}


def written(work: Work) -> Amount:
    """Return the bytes that the work stores into its memory."""
    if isinstance(work, RowUpdates):
        return work.rows * mean_bytes(work.row_bytes)
    if isinstance(work, RowLog):
        return work.rows * mean_bytes(work.entry_bytes)
    if isinstance(work, Stream) and work.write:
        return work.nbytes
    return work.flags * 64 if isinstance(work, Persist) else 0.0


def cross_parameters(width: int, ranks: tuple[int, ...]) -> int:
    """Return the weights and biases of a cross network on so many features, given the rank of each layer, 0 for a full matrix."""
    return sum((2 * rank if rank else width) * width + width for rank in ranks)


def mlp_parameters(widths: tuple[int, ...]) -> int:
    """Return the number of weights and biases of an MLP with these widths, input first."""
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(widths))
