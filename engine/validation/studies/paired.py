"""Paired differences over seeds: their mean and its confidence interval by Student's t."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin, sqrt
from statistics import fmean, stdev

CONFIDENCE = 0.95
HALVINGS = 100


@dataclass(frozen=True)
class PairedDifference:
    """The mean of paired differences, and the half width of its 95 % interval."""

    mean: float
    half_width: float

    @property
    def low(self) -> float:
        """The interval's lower end."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """The interval's upper end."""
        return self.mean + self.half_width


def paired_difference(differences: Sequence[float]) -> PairedDifference:
    """Return the mean of at least two differences with its 95 % interval.

    The differences are taken as independent and nearly normal.
    """
    count = len(differences)
    return PairedDifference(fmean(differences), student_quantile(count - 1) * stdev(differences) / sqrt(count))


def student_quantile(freedom: int, confidence: float = CONFIDENCE) -> float:
    """Return the quantile t of Student's distribution for a two-sided confidence.

    The distribution has `freedom` degrees; `confidence` of it lies between -t and t.
    """
    low, high = 0.0, pi / 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if enclosed_share(middle, freedom) < confidence else (low, middle)
    return sqrt(freedom) * sin(low) / cos(low)


def enclosed_share(angle: float, freedom: int) -> float:
    """Return the share of Student's distribution that lies between -t and t.

    t is tan(angle) times sqrt(freedom), with `freedom` the degrees of freedom.
    Source of the finite series for whole degrees: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3-4.
    """
    odd = freedom % 2
    term, total = (cos(angle) if odd else 1.0), 0.0
    for k in range(2 + odd, freedom + 1, 2):
        total += term
        term *= cos(angle) ** 2 * (k - 1) / k
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total
