"""The gap of TorchRec's planner: expected and real bandwidth of a cached table.

The planner takes the share of rows in the cache for the share of hits, mixes the two rates arithmetically, and divides by
ten: `(ratio * HBM + (1 - ratio) * HBM_to_DDR) / 10`. Source: the planner's constants, 897 and 32 GB/s, and this formula.
"""

from itertools import pairwise
from typing import NamedTuple

HBM, HBM_TO_DDR = 897e9, 32e9  # bytes per second, TorchRec planner constants
DERATING = 10.0


class Overlay(NamedTuple):
    """Bandwidths of one cached table [bytes/s], from the planner's number to the real one.

    planner: the planner's number.
    without_derating: the same, not divided by ten.
    with_real_hits: mixed arithmetically as before, with the real hit rate.
    real: mixed harmonically with the real hit rate, as serial reads mix.
    """

    planner: float
    without_derating: float
    with_real_hits: float
    real: float

    @property
    def factors(self) -> tuple[float, ...]:
        """The factor by which each step changes the bandwidth; their product is real / planner."""
        return tuple(next_bandwidth / bandwidth for bandwidth, next_bandwidth in pairwise(self))


def overlay(ratio: float, hit_rate: float) -> Overlay:
    """Return a table's bandwidths, with `ratio` of its rows cached and a `hit_rate`."""
    planner_rate, hit_weighted_rate = (share * HBM + (1 - share) * HBM_TO_DDR for share in (ratio, hit_rate))
    return Overlay(planner_rate / DERATING, planner_rate, hit_weighted_rate, 1 / (hit_rate / HBM + (1 - hit_rate) / HBM_TO_DDR))
