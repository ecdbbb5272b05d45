"""The placement of tables over a system's parts, computed once and passed on.

It has the load of each part under the plan in force, and the traffic between parts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..core.arrays import Floats
from .exchange.crossing import NO_CROSSING, Crossing
from .exchange.replicas import NO_REPLICAS, Replicas
from .sharding import Parts, Pieces

# Cost of each table's lookups and unique rows over the first table's, (2, T); None if all are alike.
Weight = tuple[tuple[float, ...], tuple[float, ...]] | None


@dataclass(frozen=True, eq=False)
class Balance:
    """A plan with each part's share of a batch, (P,).

    parts, pieces: the parts and the plan.
    lookups, rows, indices: lookups, unique rows and indices; a range of a table's columns counts as that share of a lookup or
        row.
    table_bytes: bytes of tables.
    far_rows: unique rows outside HBM, in DRAM and below it, (2, P), of a system with several memories.
    nbytes_by_memory: bytes in each memory, of such a system.
    work: cost of lookups and rows.
    weight: cost of each table's lookups and rows, (2, T), of unlike rows.
    """

    parts: Parts
    pieces: Pieces
    lookups: Floats
    rows: Floats
    indices: Floats
    table_bytes: Floats
    far_rows: Floats
    nbytes_by_memory: Mapping[str, Floats]
    work: "PartWork"
    weight: Weight


class PartWork(NamedTuple):
    """Lookups, unique rows and rows outside HBM of each part, by cost.

    They are (P,), (P,) and (2, P). Each counts by its table's cost over the first table's: the numbers themselves if all rows
    are alike.
    """

    lookups: Floats
    rows: Floats
    far_rows: Floats


class FarSkews(NamedTuple):
    """Skews of unique rows outside HBM: over GPUs, over nodes, and `below_dram` DRAM.

    The last is over nodes. A skew is the largest part's amount over the mean.
    """

    gpu: float = 1.0
    node: float = 1.0
    below_dram: float = 1.0


class Links(NamedTuple):
    """Traffic of the links of groups, such as expanders.

    It is (ratio to no plan, skew over links).
    """

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

    balance: None if all parts have an even share.
    skews, far_skews, links: imbalance of parts, memories and links.
    pooled, indices: bytes that cross between parts, one way, without replicated rows.
    replicas: the replicated rows.
    tables: pieces of tables on the part with most of them.
    Steps read all fields but `balance`: placements with the same effects share plans of batches.
    """

    balance: Balance | None = None
    skews: Skews = field(default_factory=Skews)
    far_skews: FarSkews = field(default_factory=FarSkews)
    links: Links = field(default_factory=Links)
    pooled: Crossing = NO_CROSSING
    indices: Crossing = NO_CROSSING
    replicas: Replicas = NO_REPLICAS
    tables: float = 0.0

    @property
    def weight(self) -> Weight:
        """Cost of each table's lookups and rows over the first table's, (2, T), or None.

        None if all rows are alike.
        """
        return self.balance.weight if self.balance else None

    @property
    def plan(self) -> tuple[int, Pieces] | None:
        """The number of parts, and the pieces of tables on each."""
        return (self.balance.parts.number, self.balance.pieces) if self.balance else None


def skew(amounts: Floats) -> float:
    """Return the largest amount over the mean."""
    return float(amounts.max() / amounts.mean()) if amounts.any() else 1.0
