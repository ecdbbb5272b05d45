"""Levels of memory, each holding all that the faster ones hold (inclusive), and the time to read through them one by one.

One curve of LRU hits serves every choice of sizes: a level serves the lookups that hit in it and in no faster one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..core.arrays import Floats
from ..errors import BadInput


@dataclass(frozen=True, slots=True)
class Level:
    """A memory: how many rows it caches, the bytes that one row moves in it (a block of 4,096 for SSDs), and its rate.

    The last level of a hierarchy is home: it holds every row, and its `rows` do not matter.
    """

    name: str
    rows: float
    row_bytes: float
    bytes_per_second: float

    @property
    def seconds(self) -> float:
        """Seconds that one row takes."""
        return self.row_bytes / self.bytes_per_second


def served(hit_rate: Callable[[Floats], Floats], levels: Sequence[Level]) -> Floats:
    """Return the share of lookups that each level serves; `hit_rate` is a curve's, of any capacities in rows.

    Raises BadInput where a level is smaller than a faster one, which no inclusive hierarchy can be.
    """
    rows = np.array([level.rows for level in levels[:-1]], dtype=np.float64)
    for inner, outer in pairwise(levels[:-1]):
        if outer.rows < inner.rows:
            raise BadInput(
                f"{outer.name} holds {outer.rows:,.0f} rows, fewer than {inner.name}'s {inner.rows:,.0f}; make it larger."
            )
    return np.diff(np.concatenate(([0.0], hit_rate(rows), [1.0])))


def seconds(shares: Floats, levels: Sequence[Level]) -> float:
    """Return the mean seconds of a lookup when lookups are served one after the other."""
    return float(sum(share * level.seconds for share, level in zip(shares, levels, strict=True)))


def harmonic(shares: Sequence[float], rates: Sequence[float]) -> float:
    """Return the rate of a stream of which each share moves at its own rate, one after the other: 1/B = sum of share/rate."""
    return 1 / sum(share / rate for share, rate in zip(shares, rates, strict=True))


def arithmetic(shares: Sequence[float], rates: Sequence[float]) -> float:
    """Return the mean of the rates by share: what a stream would reach if each share took the same time, not the same bytes."""
    return sum(share * rate for share, rate in zip(shares, rates, strict=True))
