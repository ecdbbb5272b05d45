"""What a full run's cache does: the system's policy, applied to each batch's real ids in turn."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from engine import evict
from engine.cache import COUNTS, Room
from engine.caches import lfu, set_associative, set_associative_lfu
from engine.errors import CannotRun
from engine.scenario import Scenario
from engine.slots import with_room
from engine.system import Cache, cache_policy
from engine.workload import ranks, shelf
from engine.workload.arrays import Ints
from engine.workload.lru import admit, lru
from engine.workload.shelf import Moves
from engine.workload.source import Source

Server = Callable[[int, Ints], Moves]
NOTHING = Moves(0, 0, 0, 0)
PRELOADED = 0.7  # of the cache, by frequency, before the first batch (hpcaitech/CachedEmbedding)


def served(s: Scenario, cache: Cache, given: Source, batches: int) -> Iterator[Moves]:
    """Yield what each batch moves; batches fetched together move all their rows with the first of them.

    Raises CannotRun where a batch has more unique rows than a cache that must hold them.
    """
    serve, at_once, capacity = _server(s, cache, given, batches), cache.at_once(s), int(cache.rows(s))
    for n in range(batches):
        if n % at_once:
            yield NOTHING
            continue
        last = min(n + at_once, batches)
        moves = serve(n, np.concatenate([given.ids(k) for k in range(n, last)]))
        if cache.window(s) and moves.unique > capacity:
            raise CannotRun(too_small(s, capacity, moves.unique, f"batches {n} to {last - 1} have"))
        yield moves


def too_small(s: Scenario, capacity: float, unique: float, who: str) -> str:
    """Return the refusal of a cache that cannot hold the rows it must."""
    remedy = f"raise it to {min(1.0, s.policy.cache_load_factor * 1.01 * unique / max(capacity, 1)):.3g}"
    fewer = "lower policy.prefetch_batches, " if s.policy.prefetch_batches > 1 else ""
    return (
        f"policy.cache_load_factor={s.policy.cache_load_factor:g} keeps {int(capacity):,} rows, but {who} {int(unique):,} "
        f"different ones, which must be in the cache together; {remedy}, {fewer}or lower data.batch_size."
    )


def _server(s: Scenario, cache: Cache, given: Source, batches: int) -> Server:
    policy, capacity = cache_policy(s, cache), cache.rows(s)
    if policy in SERVERS:
        return SERVERS[policy](s, capacity)
    relabel, held = _ranking(s, given, batches), shelf.most_frequent(int(PRELOADED * capacity))

    def serve(n: int, ids: Ints) -> Moves:
        nonlocal held
        held, moves = shelf.by_frequency(held, capacity, relabel(ids))
        return moves

    return serve


def _look_ahead(s: Scenario, capacity: float) -> Server:
    held = shelf.most_frequent(0)

    def serve(n: int, ids: Ints) -> Moves:
        nonlocal held
        held, moves = shelf.look_ahead(held, s.policy.look_ahead_batches, n, ids)
        return moves

    return serve


def _sets(s: Scenario, capacity: float) -> Server:
    held, used, clock = set_associative.empty(Room(int(capacity)))

    def serve(n: int, ids: Ints) -> Moves:
        nonlocal clock
        counts = np.zeros(COUNTS, dtype=np.int64)
        clock = set_associative.serve(ids, held, used, clock, counts)
        return _moves(counts)

    return serve


def _sets_by_count(s: Scenario, capacity: float) -> Server:
    cache = set_associative_lfu.no_rows(Room(int(capacity)))

    def serve(n: int, ids: Ints) -> Moves:
        nonlocal cache
        counts = np.zeros(COUNTS, dtype=np.int64)
        cache = set_associative_lfu.served(cache, ids, counts)
        return _moves(counts)

    return serve


def _count(s: Scenario, capacity: float) -> Server:
    cache = lfu.no_rows(int(capacity))

    def serve(n: int, ids: Ints) -> Moves:
        nonlocal cache
        cache, counts = with_room(cache, len(ids)), np.zeros(COUNTS, dtype=np.int64)
        unique = evict.serve(lfu.Lfu(), *cache, ids, counts)
        return _moves(counts)._replace(unique=unique)

    return serve


def _moves(counts: Ints) -> Moves:
    names = (evict.MISSED_LOOKUPS, evict.MISSES, evict.EVICTED, evict.UNIQUE, evict.REFUSED)
    return Moves(*(counts[name] for name in names))


def _recency(s: Scenario, capacity: float) -> Server:
    cache = lru(capacity)

    def serve(n: int, ids: Ints) -> Moves:
        nonlocal cache
        before = cache.ends[2]
        cache, misses, missed_lookups = admit(cache, ids)
        return Moves(missed_lookups, misses, misses - float(cache.ends[2] - before), 0)

    return serve


def _ranking(s: Scenario, given: Source, batches: int) -> ranks.Relabel:
    return ranks.recorded(given.ids(n) for n in range(batches)) if given.digest else ranks.generated(s)


SERVERS: Mapping[str, Callable[[Scenario, float], Server]] = {
    "lru": _recency,
    "lfu": _count,
    "lru in sets": _sets,
    "lfu in sets": _sets_by_count,
    "look-ahead": _look_ahead,
}
