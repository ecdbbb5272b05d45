"""Fit the lengths of a table's bags: their mean and their spread.

A bag is the lookups of one sample in one table. The fit also tells the share of empty bags that its law generates.
"""

from typing import NamedTuple

import numpy as np

from ...core.arrays import Ints
from ...workload.bags import chances, length_spread


class BagFit(NamedTuple):
    """The fitted law of a table's bag lengths.

    pooling: lookups per sample, a whole number.
    length_cv: spread of bag lengths, as a coefficient of variation.
    empty: share of bags that are empty in the file.
    mean: exact mean length in the file.
    is_history: whether the lookups are a user's history, which has a law of lengths of its own.
    """

    pooling: int = 1
    length_cv: float = 0.0
    empty: float = 0.0
    mean: float = 1.0
    is_history: bool = False

    @property
    def generated_empty(self) -> float:
        """The share of empty bags that the generator draws by this fit."""
        return float(chances(self.pooling, self.length_cv)[0]) if self.length_cv and not self.is_history else 0.0


def bag_fit(lengths: Ints | int) -> BagFit:
    """Fit a table's bag lengths, given as an array or as one common length.

    The mean is rounded to a whole number, at least 1.
    """
    if isinstance(lengths, int):
        return BagFit(lengths, mean=float(lengths))
    mean = float(lengths.mean())
    return BagFit(max(round(mean), 1), length_spread(lengths), float(np.mean(lengths == 0)), mean)
