"""Fits the law of bag lengths to a table: their mean and spread, and how well that says how many bags are empty."""

from typing import NamedTuple

import numpy as np

from ...core.arrays import Ints
from ...workload.bags import chances, length_spread


class BagFit(NamedTuple):
    """Bags of a table: lookups a sample, a whole number, the spread of lengths, the share of empty bags, the exact mean."""

    pooling: int = 1
    length_cv: float = 0.0
    empty: float = 0.0
    mean: float = 1.0

    @property
    def generated_empty(self) -> float:
        """The share of bags that are empty as generated."""
        return float(chances(self.pooling, self.length_cv)[0]) if self.length_cv else 0.0


def bag_fit(lengths: Ints | int) -> BagFit:
    """Fit to the lengths of a table's bags, or to the one that all have; the mean is rounded, and 1 at least."""
    if isinstance(lengths, int):
        return BagFit(lengths, mean=float(lengths))
    mean = float(lengths.mean())
    return BagFit(max(round(mean), 1), length_spread(lengths), float(np.mean(lengths == 0)), mean)
