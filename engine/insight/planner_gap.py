"""The planner's gap: TorchRec's expected bandwidth of a cached table beside the real.

The planner takes the share of rows in the cache for the share of hits, mixes the two rates arithmetically, and divides by
ten: `(ratio * HBM + (1 - ratio) * HBM_to_DDR) / 10`. Source: its constants, 897 and 32 GB/s, and that formula.
"""

from itertools import pairwise
from typing import NamedTuple

HBM, HBM_TO_DDR = 897e9, 32e9  # bytes per second, TorchRec planner constants
DERATING = 10.0


class Overlay(NamedTuple):
    """Bandwidths of one cached table in bytes/s, from the planner's to the real.

    `with_real_hits` is still mixed arithmetically, `real` harmonically, as serial reads mix.
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
    """Return a table's bandwidths, with a cached `ratio` of rows and a `hit_rate`."""
    planner_rate, hit_weighted_rate = (share * HBM + (1 - share) * HBM_TO_DDR for share in (ratio, hit_rate))
    return Overlay(planner_rate / DERATING, planner_rate, hit_weighted_rate, 1 / (hit_rate / HBM + (1 - hit_rate) / HBM_TO_DDR))
