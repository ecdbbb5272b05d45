"""Expected conflicts of a set-associative cache that locks rows in use.

The missing rows of a batch are fetched while the previous batch trains, so the cache must keep (lock) the rows of both batches. A
row that finds each way of its set locked is refused, and is used in its home memory.
"""

from functools import lru_cache
from math import lgamma
from typing import NamedTuple

import numpy as np

from ...core.arrays import Floats
from ..expected import both_windows_chance, gap_rate, refused_share, rising_root, stay_time, unused_chance
from ..spectrum import Spectrum

WAYS = 32  # ways of a set: as many as a warp has threads
NEGLIGIBLE_SHARE = 1e-6  # refused rows of a batch that count as none, as a share of its unique rows
ADMISSION_TOLERANCE = 1e-6  # how exactly the share of admitted rows is found
ROUNDS = 500  # steps of a set's Markov chain; most chains settle within fifty


class LockedSets(NamedTuple):
    """The steady state of a set-associative cache that locks rows.

    stay_lookups: the number of lookups for which an unused row stays.
    admitted: the share of missing rows that enter the cache.
    refused: the number of refused rows per batch.
    """

    stay_lookups: float
    admitted: float
    refused: float


@lru_cache(maxsize=256)
def locked_sets(space: Spectrum, served_lookups: float, capacity: float, locality: float = 0.0) -> LockedSets:
    """Return the steady state of a cache of `capacity` rows that locks rows.

    A batch has `served_lookups` lookups. The share of admitted rows is a fixed point, since refused rows lock no way and are
    missing again.
    """
    rate, sets, ways = gap_rate(space.p), max(1, int(capacity) // WAYS), max(1, min(WAYS, int(capacity)))
    places = min(float(sets * ways), capacity)  # rows beyond whole sets have no place
    void = unused_chance(served_lookups * rate, locality)
    in_both_batches = space.rows * both_windows_chance(void, unused_chance(2 * served_lookups * rate, locality))
    unique = float((space.rows * (1 - void)).sum())

    def state(admitted: float) -> tuple[float, float, float]:
        """Return the lookups that rows stay, a batch's missing rows, and its rows without a way."""
        stay_lookups = float(stay_time(space, places, locality, admitted)) if capacity >= 1 else 0.0
        absent_chance = unused_chance(stay_lookups * rate, locality)
        miss_chance, refused_chance = (
            absent_chance - unused_chance((stay_lookups + served_lookups) * rate, locality),
            refused_share(absent_chance, admitted),
        )
        missing_rows = float(space.rows @ (miss_chance + refused_chance * (1 - void - miss_chance)))
        locked = unique - (1 - admitted) * missing_rows
        reused = float(in_both_batches @ (1 - refused_chance))
        return (
            stay_lookups,
            missing_rows,
            min(missing_rows, sets * rows_without_way((unique - reused) / sets, min(1.0, reused / locked), ways)),
        )

    stay_lookups, missing_rows, refused = state(1.0)
    if refused <= NEGLIGIBLE_SHARE * unique:
        return LockedSets(stay_lookups, 1.0, refused)

    def excess(admitted: Floats) -> Floats:
        _, missing_rows, refused = state(float(admitted))
        return np.asarray(refused - (1 - admitted) * missing_rows)

    admitted = float(rising_root(excess, np.asarray(ADMISSION_TOLERANCE), np.asarray(1.0), ADMISSION_TOLERANCE))
    stay_lookups, missing_rows, _ = state(admitted)
    return LockedSets(stay_lookups, admitted, (1 - admitted) * missing_rows)


def rows_without_way(coming: float, reuse: float, ways: int = WAYS) -> float:
    """Return the mean number of a batch's rows per set that find no free way.

    All `ways` of their set are locked then. The number of ways that a batch locks in a set is a Markov chain. The next batch uses
    each locked row with probability `reuse`, and a Poisson number of other rows with mean `coming`, which take free ways as long
    as there are any.
    """
    counts = np.arange(ways + 1)
    poisson = np.exp(counts * np.log(max(coming, 1e-300)) - coming - np.array([lgamma(n + 1.0) for n in counts]))
    at_least = np.clip(1 - np.concatenate(([0.0], np.cumsum(poisson))), 0.0, 1.0)  # P(D >= n), n = 0 ... ways + 1
    free_ways = ways - counts
    overflow_rows = np.maximum(
        coming * at_least[free_ways] - free_ways * at_least[free_ways + 1], 0.0
    )  # E[(D - free)+], by locked ways
    follow = np.zeros((ways + 1, ways + 1))
    for locked in counts:
        reused_ways = _binomial(int(locked), reuse)
        new_ways = np.append(poisson[: free_ways[locked]], at_least[free_ways[locked]])
        row = np.convolve(reused_ways, new_ways)
        follow[locked, : len(row)] = row
    share = np.zeros(ways + 1)
    share[0] = 1.0
    for _ in range(ROUNDS):
        previous, share = share, (share + share @ follow) / 2  # its mean where full sets and free ones take turns
        if np.abs(share - previous).max() < 1e-9:
            break
    return float(share @ overflow_rows)


def _binomial(trials: int, chance: float) -> Floats:
    row = np.ones(1)
    for _ in range(trials):
        row = np.convolve(row, (1 - chance, chance))
    return row
