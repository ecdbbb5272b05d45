"""The planner's gap: the bandwidth that TorchRec's planner expects of a cached table, beside the real one.

The planner takes the share of rows in the cache for the share of hits, mixes the two rates arithmetically, and divides by
ten: `(ratio * HBM + (1 - ratio) * HBM_to_DDR) / 10`. Source: its constants, 897 and 32 GB/s, and that formula.
"""

from itertools import pairwise
from typing import NamedTuple

HBM, HBM_TO_DDR = 897e9, 32e9  # bytes per second, TorchRec planner constants
DERATING = 10.0


class Overlay(NamedTuple):
    """Bandwidths of one cached table in bytes per second, from the planner's to the real one, a step at a time.

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
    """Return the bandwidths of a table with a share `ratio` of its rows in the cache and a `hit_rate` of its lookups."""
    planner_rate, hit_weighted_rate = (share * HBM + (1 - share) * HBM_TO_DDR for share in (ratio, hit_rate))
    return Overlay(planner_rate / DERATING, planner_rate, hit_weighted_rate, 1 / (hit_rate / HBM + (1 - hit_rate) / HBM_TO_DDR))
