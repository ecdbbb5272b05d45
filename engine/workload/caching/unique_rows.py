"""Expected unique rows of several batches, of parts of a batch, and of look-ahead caches."""

from typing import NamedTuple

import numpy as np

from ...core.memo import point_by_point
from ...scenario.scenario import Scenario
from ..accesses import table_lookups, without_repeats
from ..expected import REUSE_CLOSENESS, gap_rate, unused_chance
from ..spectrum import id_space
from .expected_cache import TINY


@point_by_point
def expected_unique(s: Scenario, batches: int) -> float:
    """Return the expected number of unique rows of `batches` consecutive batches."""
    s = without_repeats(s)
    space = id_space(s)
    return float(space.rows @ (1 - unused_chance(batches * float(table_lookups(s).sum()) * gap_rate(space.p), s.data.locality)))


@point_by_point
def unique_copies(s: Scenario, parts: int) -> float:
    """Return the mean number of a batch's `parts` equal parts that use a unique row."""
    s = without_repeats(s)
    space = id_space(s)
    x, c = float(table_lookups(s).sum()) * gap_rate(space.p), s.data.locality
    return float(parts * (space.rows @ (1 - unused_chance(x / parts, c))) / (space.rows @ (1 - unused_chance(x, c))))


@point_by_point
def look_ahead_rows(s: Scenario) -> float:
    """Return the number of rows that a look-ahead cache holds.

    The cache holds a row between two uses that are at most `policy.look_ahead_batches` batches apart; locality is left out.
    """
    s = without_repeats(s)
    space = id_space(s)
    x = s.policy.look_ahead_batches * float(table_lookups(s).sum()) * gap_rate(space.p)
    return float(space.rows @ (1 - np.exp(-x) * (1 + x)))


class SingleUseShares(NamedTuple):
    """Shares of the rows moved by a look-ahead cache that serve a single lookup.

    `passing` rows come for one lookup and leave after its batch; `last_use` rows are used once in the last batch that uses them.
    """

    passing: float
    last_use: float


@point_by_point
def single_use_shares(s: Scenario) -> SingleUseShares:
    """Return the shares of rows that a look-ahead cache moves for a single lookup.

    Each use is assumed to be in the middle of its batch.
    """
    s = without_repeats(s)
    space, ahead_batches, c = id_space(s), s.policy.look_ahead_batches, s.data.locality
    x = float(table_lookups(s).sum()) * gap_rate(space.p)
    unused_here, unused_ahead = (
        unused_chance(n * x, c) * (1 - c + c * np.exp(-REUSE_CLOSENESS * n * x)) for n in (0.5, ahead_batches + 0.5)
    )
    fetched = float(space.rows @ (unused_chance(ahead_batches * x, c) - unused_chance((ahead_batches + 1) * x, c)))
    single_uses = space.rows * x * unused_ahead
    # fetched is 0 where all tables are small and never leave
    passing, last_use = (min(1.0, float(single_uses @ chance) / max(fetched, TINY)) for chance in (unused_ahead, unused_here))
    return SingleUseShares(passing, last_use)
