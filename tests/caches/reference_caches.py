"""Each cache policy once more, by its definition, in dictionaries and lists; below, the engine's own over a list of batches."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence

import numpy as np

from engine.caches.policies import lfu as engine_lfu
from engine.caches.policies import lru, set_associative, set_associative_lfu
from engine.caches.row_index import COUNTS, EVICTED, MISSED_LOOKUPS, MISSES, REFUSED, UNIQUE
from engine.core.arrays import Floats, Ints

COLUMNS = ("unique", "missed_lookups", "misses", "evicted", "held")


class Lru:
    """A row's place in the dictionary is its age."""

    def __init__(self, rows):
        self.rows, self.contents = rows, OrderedDict()

    def use(self, row):
        self.contents.move_to_end(row)

    def evict(self, protected):
        del self.contents[next(row for row in self.contents if row not in protected)]

    def admit(self, row):
        self.contents[row] = None


class Lfu(Lru):
    """Each row with its count and the time when it reached it."""

    def __init__(self, rows):
        self.rows, self.contents, self.time = rows, {}, 0

    def use(self, row):
        self.time += 1
        self.contents[row] = (self.contents.get(row, (0, 0))[0] + 1, self.time)

    admit = use

    def evict(self, protected):
        del self.contents[min((row for row in self.contents if row not in protected), key=self.contents.__getitem__)]


def cache_counts(cache, batches: Iterable[Sequence[int]]) -> list[list[int]]:
    """Return the counts of each batch in the order of COLUMNS."""
    result = []
    for ids in batches:
        contents = set(cache.contents)
        unique = list(dict.fromkeys(ids))
        hits, misses = [row for row in unique if row in contents], [row for row in unique if row not in contents]
        for row in hits:
            cache.use(row)
        evictions = max(0, len(contents) + len(misses) - cache.rows)
        for _ in range(evictions):
            cache.evict(set(hits))
        for row in misses:
            cache.admit(row)
        result.append([len(unique), sum(row not in contents for row in ids), len(misses), evictions, len(cache.contents)])
    return result


def counted_in_sets(batches: Iterable[Sequence[int]], ways: int, sets: int, set_of) -> list[list[int]]:
    """Each set holds the rows looked up most so far, as far as they asked while they were: nothing is ever forgotten."""
    counts: dict[int, int] = {}
    places: list[list[int | None]] = [[None] * ways for _ in range(sets)]
    result = []
    for ids in batches:
        contents = {row for way_rows in places for row in way_rows if row is not None}
        for row in ids:
            counts[row] = counts.get(row, 0) + 1
        misses = sorted((row for row in dict.fromkeys(ids) if row not in contents), key=lambda row: -counts[row])
        arrivals, evicted, refused = set(), 0, 0
        for row in misses:
            way_rows = places[set_of(row)]
            candidate_ways = [way for way, occupant in enumerate(way_rows) if occupant not in arrivals]
            victim = min(candidate_ways, key=lambda way: -1 if way_rows[way] is None else counts[way_rows[way]], default=None)
            if victim is None or (way_rows[victim] is not None and counts[way_rows[victim]] > counts[row]):
                refused += 1
                continue
            evicted += way_rows[victim] is not None
            way_rows[victim] = row
            arrivals.add(row)
        occupancy = sum(row is not None for set_rows in places for row in set_rows)
        missed = sum(row not in contents for row in ids)
        result.append([len(set(ids)), missed, len(misses), evicted + refused, occupancy, refused])
    return result


def cache_misses(batches: Iterable[Ints], rows: float) -> Floats:
    """Return the lookups of each batch that miss the engine's LRU cache of so many rows, empty at first, one by one."""
    cache, missed = lru.no_rows(int(rows)), []
    for ids in batches:
        counts = np.zeros(COUNTS, dtype=np.int64)
        cache = lru.serve_batches(cache, ids, 1, counts)
        missed.append(counts[MISSES])
    return np.array(missed, dtype=np.float64)


def followed(policy, cache, batches: Iterable[Ints]):
    """Yield the cache after each batch, and what the batch did."""
    for ids in batches:
        counts = np.zeros(COUNTS, dtype=np.int64)
        cache = policy.serve_batch(cache, ids, counts)
        yield cache, counts


COUNT_COLUMNS = [UNIQUE, MISSED_LOOKUPS, MISSES, EVICTED]


def lfu(batches: Iterable[Ints], rows: int) -> list[list[int]]:
    """Return what the engine's LFU cache does with each batch, in the order of COLUMNS."""
    states = followed(engine_lfu, engine_lfu.no_rows(rows), batches)
    return [[*counts[COUNT_COLUMNS].tolist(), int(cache.state[engine_lfu.HELD])] for cache, counts in states]


def lru_in_sets(batches: Iterable[Ints], rows: int, ways: int) -> list[list[int]]:
    """Return what the engine's set-associative cache does, in the order of COLUMNS, and the rows it refuses."""
    cache, results = set_associative.no_rows(rows, ways), []
    for n, ids in enumerate(batches):
        counts = np.zeros(COUNTS, dtype=np.int64)
        cache = set_associative.serve_batch(cache, n, ids, counts)
        occupancy = int((cache.way_rows != set_associative.EMPTY).sum())
        results.append([*counts[COUNT_COLUMNS].tolist(), occupancy, int(counts[REFUSED])])
    return results


def lfu_in_sets(batches: Iterable[Ints], rows: int, ways: int) -> list[list[int]]:
    """Return what the engine's sets by count do, in the order of COLUMNS, and the rows they refuse."""
    states = followed(set_associative_lfu, set_associative_lfu.no_rows(rows, ways), batches)
    return [[*counts[COUNT_COLUMNS].tolist(), int((cache.ways >= 0).sum()), int(counts[REFUSED])] for cache, counts in states]
