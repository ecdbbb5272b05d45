"""Cache replay of a full run: the system's policy, applied to each batch's real ids in turn."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from ..core.arrays import Ints
from ..errors import CannotRun
from ..scenario.scenario import Scenario
from ..systems.capacity import too_small
from ..systems.system import Cache, cache_policy
from ..workload.source import Source
from . import batch_cache
from .batch_cache import CacheMoves
from .batch_lru import admit, lru
from .inclusive_lru import no_rows
from .inclusive_lru import serve as use
from .policies import lfu, set_associative, set_associative_lfu
from .row_index import COUNTS, EVICTED, MISSED_LOOKUPS, MISSES, REFUSED, UNIQUE, with_room
from .warm_start import before

Server = Callable[[int, Ints], CacheMoves]
NOTHING = CacheMoves(0, 0, 0, 0)
RECENT = ("lru", "lru in sets")
PRELOADED = 0.7  # of the cache, by frequency, before the first batch (hpcaitech/CachedEmbedding)


def served(s: Scenario, cache: Cache, given: Source, batches: int) -> Iterator[CacheMoves]:
    """Yield what each batch moves; batches fetched together move all their rows with the first of them.

    Raises CannotRun where a batch has more unique rows than a cache that must hold them.
    """
    serve, at_once, capacity = _server(s, cache, given, batches), cache.at_once(s), int(cache.rows(s))
    if warm(s, cache) and not given.digest and cache_policy(s, cache) in RECENT:
        serve = _warmed(s, serve, capacity, at_once)
    for n in range(batches):
        if n % at_once:
            yield NOTHING
            continue
        last = min(n + at_once, batches)
        moves = serve(n, np.concatenate([given.ids(k) for k in range(n, last)]))
        if cache.window(s) and moves.unique > capacity:
            raise CannotRun(too_small(s, capacity, moves.unique, f"batches {n} to {last - 1} have"))
        yield moves


def warm(s: Scenario, cache: Cache) -> bool:
    """Return whether a full run of the generator begins with the cache as long training has filled it; counts in sets cannot."""
    return s.policy.warm_caches and cache.warm and not (cache.in_sets and s.policy.cache_policy == "lfu")


def _warmed(s: Scenario, serve: Server, capacity: int, at_once: int) -> Server:
    """Let rows that were held before the run come in just before their first batch; every miss then pushes one out."""
    guess, known = before(s, tuple(range(s.model.num_tables)), (float(capacity),), at_once), no_rows(())

    def begun(n: int, ids: Ints) -> CacheMoves:
        nonlocal known
        known = with_room(known, len(ids))
        fresh = use(*known, ids, np.zeros(1, dtype=np.int64))
        serve(n, fresh[guess(n, fresh) == 0])
        moves = serve(n, ids)
        return moves._replace(evicted=moves.misses)

    return begun


def _server(s: Scenario, cache: Cache, given: Source, batches: int) -> Server:
    policy, capacity = cache_policy(s, cache), cache.rows(s)
    if policy in SERVERS:
        return SERVERS[policy](s, capacity)
    preloaded = 1.0 if warm(s, cache) and not given.digest else PRELOADED
    relabel, held = _ranking(s, given, batches), batch_cache.most_frequent(int(preloaded * capacity))
    if policy == "lfu":
        return _count(capacity, relabel, held.rows)

    def serve(n: int, ids: Ints) -> CacheMoves:
        nonlocal held
        held, moves = batch_cache.by_frequency(held, capacity, relabel(ids))
        return moves

    return serve


def _look_ahead(s: Scenario, capacity: float) -> Server:
    held = batch_cache.most_frequent(0)

    def serve(n: int, ids: Ints) -> CacheMoves:
        nonlocal held
        held, moves = batch_cache.look_ahead(held, s.policy.look_ahead_batches, n, ids)
        return moves

    return serve


def _sets(s: Scenario, capacity: float) -> Server:
    held, used, clock = set_associative.empty(int(capacity))

    def serve(n: int, ids: Ints) -> CacheMoves:
        nonlocal clock
        counts = np.zeros(COUNTS, dtype=np.int64)
        clock = set_associative.serve(ids, held, used, clock, counts)
        return _moves(counts)

    return serve


def _sets_by_count(s: Scenario, capacity: float) -> Server:
    cache = set_associative_lfu.no_rows(int(capacity))

    def serve(n: int, ids: Ints) -> CacheMoves:
        nonlocal cache
        counts = np.zeros(COUNTS, dtype=np.int64)
        cache = set_associative_lfu.served(cache, ids, counts)
        return _moves(counts)

    return serve


def _count(capacity: float, relabel: batch_cache.Relabel, preloaded: Ints) -> Server:
    cache = with_room(lfu.no_rows(int(capacity)), len(preloaded))
    lfu.serve(*cache, preloaded[::-1].copy(), np.zeros(COUNTS, dtype=np.int64))  # the rarest may go first

    def serve(n: int, ids: Ints) -> CacheMoves:
        nonlocal cache
        cache, counts = with_room(cache, len(ids)), np.zeros(COUNTS, dtype=np.int64)
        unique = lfu.serve(*cache, relabel(ids), counts)
        return _moves(counts)._replace(unique=unique)

    return serve


def _moves(counts: Ints) -> CacheMoves:
    names = (MISSED_LOOKUPS, MISSES, EVICTED, UNIQUE, REFUSED)
    return CacheMoves(*(counts[name] for name in names))


def _recency(s: Scenario, capacity: float) -> Server:
    cache = lru(capacity)

    def serve(n: int, ids: Ints) -> CacheMoves:
        nonlocal cache
        before = cache.ends[2]
        cache, misses, missed_lookups = admit(cache, ids)
        return CacheMoves(missed_lookups, misses, misses - float(cache.ends[2] - before), 0)

    return serve


def _ranking(s: Scenario, given: Source, batches: int) -> batch_cache.Relabel:
    if given.digest:
        return batch_cache.ranks_by_count(given.ids(n) for n in range(batches))
    return batch_cache.ranks_by_popularity(s)


SERVERS: Mapping[str, Callable[[Scenario, float], Server]] = {
    "lru": _recency,
    "lru in sets": _sets,
    "lfu in sets": _sets_by_count,
    "look-ahead": _look_ahead,
}
