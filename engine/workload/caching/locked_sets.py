"""Expected conflicts of a set-associative cache that locks the rows of the batch in training and of the one after it.

The missing rows of a batch come in while the batch before it trains, so that the rows of both must stay. A row that finds every
way of its set locked is refused: it is used where it lives.
"""

from functools import lru_cache
from math import lgamma
from typing import NamedTuple

import numpy as np

from ...core.arrays import Floats
from ..expected import gap_rate, in_both, refused_share, rising, stay, unused
from ..spectrum import Spectrum

WAYS = 32  # of a set: as many as a warp has threads
FEW = 1e-6  # refused rows of a batch that count as none, as a share of its unique rows
NEAR = 1e-6  # how exactly the share of admitted rows is found
ROUNDS = 500  # of a set's Markov chain, most of which settle within fifty


class LockedSets(NamedTuple):
    """Steady state of a cache: lookups that an unused row `stays`, share of missing rows `admitted`, rows `refused` per batch."""

    stays: float
    admitted: float
    refused: float


@lru_cache(maxsize=256)
def locked_sets(space: Spectrum, served: float, capacity: float, locality: float = 0.0) -> LockedSets:
    """Return the steady state of a cache of `capacity` rows over batches of `served` lookups.

    The share of admitted rows is the one that its own effects lead to: rows that are refused lock no way and are missing again.
    """
    rate, sets, ways = gap_rate(space.p), max(1, int(capacity) // WAYS), max(1, min(WAYS, int(capacity)))
    places = min(float(sets * ways), capacity)  # rows beyond whole sets have no place
    void = unused(served * rate, locality)
    in_both_batches = space.rows * in_both(void, unused(2 * served * rate, locality))
    unique = float((space.rows * (1 - void)).sum())

    def state(admitted: float) -> tuple[float, float, float]:
        """Return how long rows stay if so many are admitted, the missing rows of a batch, and those of them without a way."""
        stays = float(stay(space, places, locality, admitted)) if capacity >= 1 else 0.0
        away = unused(stays * rate, locality)
        back, gone = away - unused((stays + served) * rate, locality), refused_share(away, admitted)
        missing = float(space.rows @ (back + gone * (1 - void - back)))
        locked = unique - (1 - admitted) * missing
        reused = float(in_both_batches @ (1 - gone))
        return stays, missing, min(missing, sets * without_way((unique - reused) / sets, min(1.0, reused / locked), ways))

    stays, missing, refused = state(1.0)
    if refused <= FEW * unique:
        return LockedSets(stays, 1.0, refused)

    def excess(admitted: Floats) -> Floats:
        _, missing, refused = state(float(admitted))
        return np.asarray(refused - (1 - admitted) * missing)

    admitted = float(rising(excess, np.asarray(NEAR), np.asarray(1.0), NEAR))
    stays, missing, _ = state(admitted)
    return LockedSets(stays, admitted, (1 - admitted) * missing)


def without_way(coming: float, reuse: float, ways: int = WAYS) -> float:
    """Return the mean rows of a batch that find all `ways` of their set locked, per set.

    How many ways of a set a batch has locked is a Markov chain. The next batch uses each locked row with the chance `reuse`, and
    a Poisson number of other rows, `coming` in the mean; these take free ways as far as there are any.
    """
    counts = np.arange(ways + 1)
    poisson = np.exp(counts * np.log(max(coming, 1e-300)) - coming - np.array([lgamma(n + 1.0) for n in counts]))
    at_least = np.clip(1 - np.concatenate(([0.0], np.cumsum(poisson))), 0.0, 1.0)  # P(D >= n), n = 0 ... ways + 1
    free = ways - counts
    beyond = np.maximum(coming * at_least[free] - free * at_least[free + 1], 0.0)  # E[(D - free)+], by locked ways
    follow = np.zeros((ways + 1, ways + 1))
    for locked in counts:
        stays = _binomial(int(locked), reuse)
        comes = np.append(poisson[: free[locked]], at_least[free[locked]])
        row = np.convolve(stays, comes)
        follow[locked, : len(row)] = row
    share = np.zeros(ways + 1)
    share[0] = 1.0
    for _ in range(ROUNDS):
        last, share = share, (share + share @ follow) / 2  # its mean where full sets and free ones take turns
        if np.abs(share - last).max() < 1e-9:
            break
    return float(share @ beyond)


def _binomial(many: int, chance: float) -> Floats:
    row = np.ones(1)
    for _ in range(many):
        row = np.convolve(row, (1 - chance, chance))
    return row
