"""The planner's gap: the bandwidth that TorchRec's planner expects of a cached table, beside what its hits really give.

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
        """By how much each step changes the bandwidth; their product is real / planner."""
        return tuple(after / before for before, after in pairwise(self))


def overlay(ratio: float, hit_rate: float) -> Overlay:
    """Return the bandwidths of a table of whose rows a share is in the cache, and of whose lookups the cache has another."""
    theirs, hits = (share * HBM + (1 - share) * HBM_TO_DDR for share in (ratio, hit_rate))
    return Overlay(theirs / DERATING, theirs, hits, 1 / (hit_rate / HBM + (1 - hit_rate) / HBM_TO_DDR))
