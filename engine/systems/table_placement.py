"""The placement of tables over a system's parts, worked out once and handed down.

It has what the plan in force asks of each part, and what crosses between parts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..core.arrays import Floats
from .exchange.crossing import NO_CROSSING, Crossing
from .exchange.replicas import NO_REPLICAS, Replicas
from .sharding import Parts, Pieces

# How many times as much as the first table's each table's lookups and unique rows take, (2, T); None where all are alike.
Weight = tuple[tuple[float, ...], tuple[float, ...]] | None


@dataclass(frozen=True, eq=False)
class Balance:
    """A plan with each part's share of a batch, (P,).

    Shares are of lookups, unique rows and indices, and of bytes of tables `held`; a range of a table's columns counts as that
    share of a lookup, or of a row. Of a system that places tables over several memories, `far` (2, P) are unique rows outside
    HBM, in DRAM and below it, and `kept` the bytes in each memory. `work` is what lookups and rows take, of
    unlike rows by the `weight` of each table's lookups and rows, (2, T).
    """

    parts: Parts
    pieces: Pieces
    lookups: Floats
    rows: Floats
    indices: Floats
    held: Floats
    far: Floats
    kept: Mapping[str, Floats]
    work: "PartWork"
    weight: Weight


class PartWork(NamedTuple):
    """Lookups, unique rows and rows outside HBM of each part, (P,), (P,) and (2, P), each as many times as its table's rows take
    the time of the first table's: the numbers themselves where all rows are alike.
    """

    lookups: Floats
    rows: Floats
    far: Floats


class Far(NamedTuple):
    """Skews of unique rows outside HBM: over GPUs, over nodes, and over nodes of those `below` DRAM.

    A skew is how many times the mean the part has that has most.
    """

    gpu: float = 1.0
    node: float = 1.0
    below: float = 1.0


class Links(NamedTuple):
    """Traffic of the links of groups, such as expanders: (times as much as without a plan, skew over links)."""

    vectors: tuple[float, float] = (1.0, 1.0)
    indices: tuple[float, float] = (1.0, 1.0)
    rows: tuple[float, float] = (1.0, 1.0)
    lookups: tuple[float, float] = (1.0, 1.0)


class Skews(NamedTuple):
    """Skews over parts: of a batch's lookups, and of its unique rows."""

    lookups: float = 1.0
    rows: float = 1.0


@dataclass(frozen=True)
class TablePlacement:
    """The plan of tables in force and its effects on a batch.

    `balance`: None where all parts have an even share. `skews`, `far`, `links`: how uneven parts, memories and links are.
    `pooled`, `indices`: bytes that cross between parts, one way, if no row is replicated. `replicas`: the replicated rows.
    `tables`: how many pieces of tables the part with most of them has.
    Steps read all but `balance`: placements with the same effects share plans of batches.
    """

    balance: Balance | None = None
    skews: Skews = field(default_factory=Skews)
    far: Far = field(default_factory=Far)
    links: Links = field(default_factory=Links)
    pooled: Crossing = NO_CROSSING
    indices: Crossing = NO_CROSSING
    replicas: Replicas = NO_REPLICAS
    tables: float = 0.0

    @property
    def weight(self) -> Weight:
        """How many times as much as the first table's each table's lookups and rows take, (2, T); None where all are alike."""
        return self.balance.weight if self.balance else None

    @property
    def plan(self) -> tuple[int, Pieces] | None:
        """How many parts there are, and the pieces of tables that each has."""
        return (self.balance.parts.number, self.balance.pieces) if self.balance else None


def skew(amounts: Floats) -> float:
    """Return how many times the mean the largest amount is."""
    return float(amounts.max() / amounts.mean()) if amounts.any() else 1.0
