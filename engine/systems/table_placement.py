"""The placement of tables over a system's parts, computed once and passed on.

It has each part's load under the plan in force, and the traffic between parts.
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
    """A plan, with the share of a batch that each part has, (P,).

    parts, pieces: the parts and the plan.
    lookups, rows, indices: lookups, unique rows and indices; a range of columns counts as that share of a lookup or row.
    table_bytes: bytes of tables.
    far_rows: unique rows outside HBM, in DRAM and below DRAM, (2, P), for a system with tables in several memories.
    nbytes_by_memory: bytes in each memory, for a system with tables in several memories.
    work: lookups and rows, weighted by their cost.
    weight: the cost of each table's lookups and rows over the first table's, (2, T); None if all rows have the same cost.
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
    """Work of each part, weighted by the cost of each table's rows.

    lookups, rows: lookups and unique rows, (P,).
    far_rows: rows outside HBM, in DRAM and below DRAM, (2, P).
    The weight is a table's cost over the first table's cost. If all rows have the same cost, these are the plain numbers.
    """

    lookups: Floats
    rows: Floats
    far_rows: Floats


class FarSkews(NamedTuple):
    """Skews of unique rows outside HBM; a skew is the largest amount over the mean.

    gpu: over GPUs. node: over the DRAM of nodes. below_dram: over the memories below DRAM of nodes.
    """

    gpu: float = 1.0
    node: float = 1.0
    below_dram: float = 1.0


class Links(NamedTuple):
    """Traffic of the links of groups of parts, such as expanders.

    vectors, indices, rows, lookups: for what is sent, (all traffic over that without a plan, traffic of the busiest link over
        the mean).
    """

    vectors: tuple[float, float] = (1.0, 1.0)
    indices: tuple[float, float] = (1.0, 1.0)
    rows: tuple[float, float] = (1.0, 1.0)
    lookups: tuple[float, float] = (1.0, 1.0)


class Skews(NamedTuple):
    """The largest part's lookups, and unique rows, over the mean of all parts."""

    lookups: float = 1.0
    rows: float = 1.0


@dataclass(frozen=True)
class TablePlacement:
    """The plan of tables in force, and its effects on a batch.

    balance: the plan with each part's load, None if all parts have an equal share.
    skews, far_skews, links: imbalance of parts, memories and links.
    pooled, indices: pooled vectors and indices that cross between parts, one way, without replicated rows.
    replicas: the replicated rows.
    tables: number of pieces of tables on the part with the most pieces.
    Tasks depend on all fields but `balance`: placements with equal effects share the tasks of their batches.
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
        """The cost of each table's lookups and rows over the first table's, (2, T).

        None if all rows have the same cost.
        """
        return self.balance.weight if self.balance else None

    @property
    def plan(self) -> tuple[int, Pieces] | None:
        """The number of parts and the plan; None if all parts have an equal share."""
        return (self.balance.parts.number, self.balance.pieces) if self.balance else None


def skew(amounts: Floats) -> float:
    """Return the largest amount over the mean amount; 1 if all amounts are 0."""
    return float(amounts.max() / amounts.mean()) if amounts.any() else 1.0
