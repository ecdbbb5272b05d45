"""A popularity cut into cells: every hot rank alone, and beyond them runs of ranks of nearly equal share.

A run is at most 1/128 of its first rank long, so no rank's share is off by more than 0.4 s percent, while a billion
ranks need some 3,000 cells. Drawing and expecting both use the cells, so they mean the same distribution.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ..core.arrays import Floats, Ints
from .popularity import Popularity

ALONE = 1024
STEPS = 128
ENDLESS = 2**40  # ranks of ids that hardly come back


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Runs of ranks in order: `first` rank (0 is the hottest), `width` in ranks, `mass` as a share of lookups.

    `scale` turns (r+q)^-s into the share of rank r; `alone` is how many leading cells hold exactly one rank.
    """

    first: Ints
    width: Ints
    mass: Floats
    scale: float
    alone: int


def cells(popularity: Popularity) -> Cells:
    """Return the cells of a popularity; they do not depend on the rows it is folded into."""
    return _cells(replace(popularity, rows=1))


@lru_cache(maxsize=2048)
def _cells(popularity: Popularity) -> Cells:
    heavy = np.array(popularity.heavy)
    edges = _edges(popularity.V) if popularity.mass > 0 else np.array([1])
    weight = zipf_mass(edges[:-1], edges[1:], popularity.s, popularity.q)
    once = np.full(int(popularity.once > 0), popularity.once)
    whole = heavy.sum() + popularity.mass + popularity.once
    scale = popularity.mass / whole / weight.sum() if len(weight) else 0.0
    first = np.concatenate((np.arange(len(heavy)), len(heavy) + edges - 1))[: len(heavy) + len(weight) + len(once)]
    width = np.concatenate((np.ones(len(heavy), dtype=np.int64), np.diff(edges), np.full(len(once), ENDLESS)))
    mass = np.concatenate((heavy / whole, scale * weight, once / whole))
    return Cells(first, width, mass, float(scale), len(heavy) + min(len(weight), ALONE))


def _edges(ranks: int) -> Ints:
    """Return the first rank of each run, and one past the last."""
    alone = np.arange(1, min(ranks, ALONE) + 2)
    if ranks <= ALONE:
        return alone
    steps = int(np.ceil(STEPS * np.log((ranks + 1) / (ALONE + 1))))
    return np.concatenate((alone, np.rint(np.geomspace(ALONE + 1, ranks + 1, steps + 1)).astype(np.int64)[1:]))


def zipf_mass(low: Ints, high: Ints, s: float, q: float) -> Floats:
    """Return the sum of (r+q)^-s over low <= r < high: a term where the run has one, else Euler-Maclaurin at midpoints."""
    a, b = low + q - 0.5, high + q - 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.log(b / a)
        area = a ** (1 - s) * (np.expm1((1 - s) * step) / (1 - s) if s != 1 else step)
        slope = s / 24 * (b ** (-s - 1) - a ** (-s - 1))
    return np.where(high - low == 1, (low + q) ** -s, area + slope)
