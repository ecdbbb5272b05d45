"""A trace of ids through a cache, one by one, as the textbooks have it: the misses alone, in arrays over all rows and uses."""

import numpy as np
from numba import njit

NONE = -1
ABSENT, HELD, AGAIN = range(3)


@njit(cache=True, nogil=True)
def lru(ids, rows, capacity):  # type: ignore[no-untyped-def]
    """Count misses; the ids themselves are the order of age: the oldest use that is its row's last is the row to go."""
    last = np.full(rows, NONE, dtype=np.int32)
    misses, held, oldest = 0, 0, 0
    for now in range(len(ids)):
        row = ids[now]
        if last[row] == NONE:
            misses += 1
            if held < capacity:
                held += 1
            else:
                while last[ids[oldest]] != oldest:
                    oldest += 1
                last[ids[oldest]] = NONE
                oldest += 1
        last[row] = now
    return misses


@njit(cache=True, nogil=True)
def lfu(ids, rows, capacity):  # type: ignore[no-untyped-def]
    """Count misses; each count has a list of uses, in which a use that is not its row's last is passed over."""
    used = np.zeros((rows, 2), dtype=np.int32)  # how often since the row came in, and when last
    later = np.empty(len(ids), dtype=np.int32)
    ends = np.empty((len(ids) + 2, 2), dtype=np.int32)  # of the list of each count, written when the count is first reached
    misses, held, most = 0, 0, 0
    for now in range(len(ids)):
        row = ids[now]
        count = used[row, 0] + 1
        if count == 1:
            misses += 1
            if held < capacity:
                held += 1
            else:
                _forget_lowest(ids, used, later, ends)
        if count > most:
            most, ends[count, 0] = count, NONE
        if ends[count, 0] == NONE:
            ends[count, 0] = now
        else:
            later[ends[count, 1]] = now
        ends[count, 1], later[now] = now, NONE
        used[row, 0], used[row, 1] = count, now
    return misses


@njit(cache=True, nogil=True)
def _forget_lowest(ids, used, later, ends):  # type: ignore[no-untyped-def]
    """Take the row out that was the first to reach the lowest count."""
    lowest = 1  # the row that came in last stands here, so that few empty counts are ever passed
    while True:
        use = ends[lowest, 0]
        while use != NONE and used[ids[use], 1] != use:
            use = later[use]
        if use != NONE:
            break
        ends[lowest, 0] = NONE
        lowest += 1
    ends[lowest, 0] = later[use]
    used[ids[use], 0], used[ids[use], 1] = 0, NONE


POLICIES = {"lru": lru, "lfu": lfu}
