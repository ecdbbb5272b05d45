"""The placement of tables over a system's parts: the plan in force, what it asks of each part, and what crosses between them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..core.arrays import Floats
from .crossing import NO_CROSSING, Crossing
from .sharding import Parts, Pieces


@dataclass(frozen=True, eq=False)
class Balance:
    """What a plan asks of each part in a batch, (P,): lookups, unique rows, indices, and bytes of tables held.

    A range of a table's columns counts as that share of a lookup, or of a row. `far` (2, P) are unique rows of tables outside
    HBM, in DRAM and below it, and `kept` the bytes in each memory, of a system that places tables over several.
    """

    parts: Parts
    pieces: Pieces
    lookups: Floats
    rows: Floats
    indices: Floats
    held: Floats
    far: Floats
    kept: Mapping[str, Floats]


class Far(NamedTuple):
    """How many times the mean the GPU has, or the node, that has most unique rows outside HBM; `below` are those below DRAM."""

    gpu: float = 1.0
    node: float = 1.0
    below: float = 1.0


class Links(NamedTuple):
    """What crosses the links of groups, such as expanders, as (times as much as without a plan, skew over the links)."""

    vectors: tuple[float, float] = (1.0, 1.0)
    indices: tuple[float, float] = (1.0, 1.0)
    rows: tuple[float, float] = (1.0, 1.0)
    lookups: tuple[float, float] = (1.0, 1.0)


class Skews(NamedTuple):
    """How many times the mean the part has that has most: of a batch's lookups, and of its unique rows."""

    lookups: float = 1.0
    rows: float = 1.0


@dataclass(frozen=True)
class TablePlacement:
    """How tables lie over parts, and what that makes of a batch; `balance` is None where all parts are asked alike.

    `pooled` crosses between parts one way of pooled vectors or their gradients, `indices` of row indices. Steps read all but
    `balance`, so that placements which come to the same share plans of batches.
    """

    balance: Balance | None = None
    skews: Skews = field(default_factory=Skews)
    far: Far = field(default_factory=Far)
    links: Links = field(default_factory=Links)
    pooled: Crossing = NO_CROSSING
    indices: Crossing = NO_CROSSING

    @property
    def plan(self) -> tuple[int, Pieces] | None:
        """How many parts there are, and the pieces of tables that each has."""
        return (self.balance.parts.number, self.balance.pieces) if self.balance else None


def skew(amounts: Floats) -> float:
    """Return how many times the mean the largest amount is."""
    return float(amounts.max() / amounts.mean()) if amounts.any() else 1.0
