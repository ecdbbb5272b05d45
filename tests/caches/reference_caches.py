"""Each cache policy once more, by its definition, in dictionaries and lists; below, the engine's own over a list of batches."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence

import numpy as np

from engine.caches.policies import lfu as engine_lfu
from engine.caches.policies import lru, set_associative, set_associative_lfu
from engine.caches.row_index import COUNTS, EVICTED, MISSED_LOOKUPS, MISSES, NUM_FILLED, REFUSED, UNIQUE
from engine.core.arrays import Floats, Ints

COLUMNS = ("unique", "missed_lookups", "misses", "evicted", "held")


class Lru:
    """A row's place in the dictionary is its age."""

    def __init__(self, rows):
        self.rows, self.held = rows, OrderedDict()

    def use(self, row):
        self.held.move_to_end(row)

    def evict(self, kept):
        del self.held[next(row for row in self.held if row not in kept)]

    def admit(self, row):
        self.held[row] = None


class Lfu(Lru):
    """Each row with its count and the time when it reached it."""

    def __init__(self, rows):
        self.rows, self.held, self.time = rows, {}, 0

    def use(self, row):
        self.time += 1
        self.held[row] = (self.held.get(row, (0, 0))[0] + 1, self.time)

    admit = use

    def evict(self, kept):
        del self.held[min((row for row in self.held if row not in kept), key=self.held.__getitem__)]


def served(cache, batches: Iterable[Sequence[int]]) -> list[list[int]]:
    """Return the counts of each batch in the order of COLUMNS."""
    result = []
    for ids in batches:
        before = set(cache.held)
        unique = list(dict.fromkeys(ids))
        hits, missing = [row for row in unique if row in before], [row for row in unique if row not in before]
        for row in hits:
            cache.use(row)
        evictions = max(0, len(before) + len(missing) - cache.rows)
        for _ in range(evictions):
            cache.evict(set(hits))
        for row in missing:
            cache.admit(row)
        result.append([len(unique), sum(row not in before for row in ids), len(missing), evictions, len(cache.held)])
    return result


def counted_in_sets(batches: Iterable[Sequence[int]], ways: int, sets: int, set_of) -> list[list[int]]:
    """Each set holds the rows looked up most so far, as far as they asked while they were: nothing is ever forgotten."""
    counts: dict[int, int] = {}
    places: list[list[int | None]] = [[None] * ways for _ in range(sets)]
    result = []
    for ids in batches:
        before = {row for own in places for row in own if row is not None}
        for row in ids:
            counts[row] = counts.get(row, 0) + 1
        missing = sorted((row for row in dict.fromkeys(ids) if row not in before), key=lambda row: -counts[row])
        came, evicted, refused = set(), 0, 0
        for row in missing:
            own = places[set_of(row)]
            free = [way for way, other in enumerate(own) if other not in came]
            least = min(free, key=lambda way: -1 if own[way] is None else counts[own[way]], default=None)
            if least is None or (own[least] is not None and counts[own[least]] > counts[row]):
                refused += 1
                continue
            evicted += own[least] is not None
            own[least] = row
            came.add(row)
        held = sum(row is not None for own in places for row in own)
        missed = sum(row not in before for row in ids)
        result.append([len(set(ids)), missed, len(missing), evicted + refused, held, refused])
    return result


def cache_misses(batches: Iterable[Ints], rows: float) -> Floats:
    """Return the lookups of each batch that miss the engine's own LRU cache of so many rows, empty at first."""
    return np.array([counts[MISSES] for _, counts in followed(lru, lru.no_rows(int(rows)), batches)], dtype=np.float64)


def followed(policy, cache, batches: Iterable[Ints]):
    """Yield the cache after each batch, and what the batch did."""
    for ids in batches:
        counts = np.zeros(COUNTS, dtype=np.int64)
        cache = policy.serve_batch(cache, ids, counts)
        yield cache, counts


MOVED = [UNIQUE, MISSED_LOOKUPS, MISSES, EVICTED]


def lfu(batches: Iterable[Ints], rows: int) -> list[list[int]]:
    """Return what the engine's LFU cache does with each batch, in the order of COLUMNS."""
    done = followed(engine_lfu, engine_lfu.no_rows(rows), batches)
    return [[*counts[MOVED].tolist(), int(cache.state[NUM_FILLED])] for cache, counts in done]


def lru_in_sets(batches: Iterable[Ints], rows: int, ways: int) -> list[list[int]]:
    """Return what the engine's set-associative cache does, in the order of COLUMNS, and the rows it refuses."""
    cache, found = set_associative.no_rows(rows, ways), []
    for n, ids in enumerate(batches):
        counts = np.zeros(COUNTS, dtype=np.int64)
        cache = set_associative.serve_batch(cache, n, ids, counts)
        held = int((cache.way_rows != set_associative.EMPTY).sum())
        found.append([*counts[MOVED].tolist(), held, int(counts[REFUSED])])
    return found


def lfu_in_sets(batches: Iterable[Ints], rows: int, ways: int) -> list[list[int]]:
    """Return what the engine's sets by count do, in the order of COLUMNS, and the rows they refuse."""
    done = followed(set_associative_lfu, set_associative_lfu.no_rows(rows, ways), batches)
    return [[*counts[MOVED].tolist(), int((cache.ways >= 0).sum()), int(counts[REFUSED])] for cache, counts in done]
