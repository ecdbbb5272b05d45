"""Whether ids are dense enough for an array over all rows, which is several times faster than looking rows up in a hash."""

from collections.abc import Sequence

from ..core.arrays import Ints

SPREAD, FEW = 8, 2**20  # with more rows than so many an id, an array over all rows would be mostly empty
MOST_IDS = 2**31 - 1


def dense_rows(batches: Sequence[Ints]) -> int:
    """Return how many rows an array from 0 to the highest id must have, or 0 where it is not worth its memory."""
    filled = [ids for ids in batches if len(ids)]
    count = sum(map(len, filled))
    if not filled or count > MOST_IDS or min(int(ids.min()) for ids in filled) < 0:
        return 0
    rows = max(int(ids.max()) for ids in filled) + 1
    return rows if rows <= SPREAD * count + FEW else 0
