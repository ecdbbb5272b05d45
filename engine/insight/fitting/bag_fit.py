"""Fits the law of bag lengths to a table: mean and spread.

It also says how well these give the share of empty bags.
"""

from typing import NamedTuple

import numpy as np

from ...core.arrays import Ints
from ...workload.bags import chances, length_spread


class BagFit(NamedTuple):
    """Bags of a table: lookups, spread of lengths, share of empty bags, exact mean.

    The lookups per sample are a whole number.
    """

    pooling: int = 1
    length_cv: float = 0.0
    empty: float = 0.0
    mean: float = 1.0

    @property
    def generated_empty(self) -> float:
        """The share of bags that are empty as generated."""
        return float(chances(self.pooling, self.length_cv)[0]) if self.length_cv else 0.0


def bag_fit(lengths: Ints | int) -> BagFit:
    """Fit bag lengths of a table, given all lengths or the only one.

    The mean is rounded, and at least 1.
    """
    if isinstance(lengths, int):
        return BagFit(lengths, mean=float(lengths))
    mean = float(lengths.mean())
    return BagFit(max(round(mean), 1), length_spread(lengths), float(np.mean(lengths == 0)), mean)
