"""The planner's gap: the bandwidth that TorchRec's planner expects of a cached table, beside what its hits really give.

The planner takes the share of rows in the cache for the share of hits, mixes the two rates arithmetically, and divides by
ten: `(ratio * HBM + (1 - ratio) * HBM_to_DDR) / 10`. Source: its constants, 897 and 32 GB/s, and that formula.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

HBM, HBM_TO_DDR = 897e9, 32e9  # bytes per second, TorchRec planner constants
DERATING = 10.0


@dataclass(frozen=True, slots=True)
class Overlay:
    """Bandwidths of one cached table in bytes per second, from the planner's to the real one, a step at a time."""

    ratio: float
    hit_rate: float

    @property
    def planner(self) -> float:
        """As the planner has it."""
        return self.without_derating / DERATING

    @property
    def without_derating(self) -> float:
        """The share of rows as hit rate, mixed arithmetically."""
        return arithmetic((self.ratio, 1 - self.ratio), (HBM, HBM_TO_DDR))

    @property
    def with_real_hits(self) -> float:
        """The real hit rate, still mixed arithmetically."""
        return arithmetic((self.hit_rate, 1 - self.hit_rate), (HBM, HBM_TO_DDR))

    @property
    def real(self) -> float:
        """The real hit rate, mixed harmonically as serial reads mix."""
        return harmonic((self.hit_rate, 1 - self.hit_rate), (HBM, HBM_TO_DDR))

    @property
    def factors(self) -> tuple[float, ...]:
        """By how much each step changes the bandwidth; their product is real / planner."""
        ways = (self.planner, self.without_derating, self.with_real_hits, self.real)
        return tuple(after / before for before, after in pairwise(ways))


def harmonic(shares: Sequence[float], rates: Sequence[float]) -> float:
    """Return the rate of a stream of which each share moves at its own rate, one after the other: 1/B = sum of share/rate."""
    return 1 / sum(share / rate for share, rate in zip(shares, rates, strict=True))


def arithmetic(shares: Sequence[float], rates: Sequence[float]) -> float:
    """Return the mean of the rates by share: what a stream would reach if each share took the same time, not the same bytes."""
    return sum(share * rate for share, rate in zip(shares, rates, strict=True))
