"""Cache replay of a full run: the system's policy, applied to each batch's real ids in turn."""

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Flags, Ints
from ..errors import CannotRun
from ..scenario.scenario import Scenario, per_table
from ..systems.capacity import too_small
from ..systems.system import Cache, cache_policy, cached_tables
from ..workload.accesses import lookups
from ..workload.batch import offsets, table_ends
from ..workload.caching.locked_sets import locked_sets
from ..workload.source import Source
from ..workload.spectrum import id_space
from . import batch_cache
from .batch_cache import CacheMoves
from .inclusive_lru import no_rows
from .inclusive_lru import serve as use
from .policies import lfu, lru, set_associative, set_associative_lfu
from .row_index import COUNTS, with_room
from .warm_start import before, stays

Server = Callable[[int, Ints], CacheMoves]
NOTHING = CacheMoves(0, 0, 0, 0)
RECENT = ("lru", "lru in sets", "look-ahead")  # what they hold follows from when rows were last used
# Policies whose cache is empty at first, and that count what a batch did.
BY_COUNTS: Mapping[str, ModuleType] = {"lru": lru, "lfu in sets": set_associative_lfu}
PRELOADED = 0.7  # of the cache, by frequency, before the first batch (hpcaitech/CachedEmbedding)


class IdsOfTables(NamedTuple):
    """Batches of a source with the ids of some tables alone, flagged in `mine`, (T,); tables start at rows `first`, (T + 1,)."""

    source: Source
    first: Ints
    mine: Flags

    @property
    def digest(self) -> str:
        """The digest of a file, "" of what is generated."""
        return self.source.digest

    def ids(self, n: int) -> Ints:
        """Return the ids of batch n in these tables."""
        every = self.source.ids(n)
        some: Ints = every[np.repeat(self.mine, np.diff(table_ends(every, self.first)))]
        return some


def served(s: Scenario, cache: Cache, whole: Source, batches: int) -> Iterator[CacheMoves]:
    """Yield what each batch moves; batches fetched together move all their rows with the first of them.

    Raises CannotRun where a batch has more unique rows than a cache that must hold them.
    """
    given: Source | IdsOfTables = whole
    if cache.tables:
        given = IdsOfTables(whole, offsets(s.model), np.isin(np.arange(s.model.num_tables), cache.tables(s)))
    serve, at_once, capacity = _server(s, cache, given, batches), cache.at_once(s), int(cache.rows(s))
    if warm(s, cache) and not given.digest and cache_policy(s, cache) in RECENT:
        serve = _warmed(s, cache, serve, at_once)
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
    return s.policy.warm_caches and not (cache.in_sets and s.policy.cache_policy == "lfu")


def _warmed(s: Scenario, cache: Cache, serve: Server, at_once: int) -> Server:
    """Let rows that were held before the run come in just before their first batch; every miss then pushes one out."""
    every, known = cached_tables(s, cache) or tuple(range(s.model.num_tables)), no_rows(())
    ahead = cache_policy(s, cache) == "look-ahead"
    times: tuple[float, ...] = (s.policy.look_ahead_batches * float(lookups(s).sum()),)
    admitted = 1.0
    if not ahead:
        times = stays(s, every, (float(int(cache.rows(s))),))
    if cache.in_sets:
        served = at_once * float(lookups(s)[list(every)].sum())
        state = locked_sets(id_space(s, every), served, float(int(cache.rows(s))), s.data.locality)
        times, admitted = (state.stays,), state.admitted
    guess = before(s, every, times, at_once, admitted)

    def begun(n: int, ids: Ints) -> CacheMoves:
        nonlocal known
        known = with_room(known, len(ids))
        fresh = use(*known, ids, np.zeros(1, dtype=np.int64))
        serve(n, fresh[guess(n, fresh) == 0])
        moves = serve(n, ids)
        return moves._replace(evicted=moves.misses)

    return begun


def _server(s: Scenario, cache: Cache, given: Source | IdsOfTables, batches: int) -> Server:
    policy, capacity = cache_policy(s, cache), cache.rows(s)
    if policy in BY_COUNTS:
        kept = BY_COUNTS[policy]
        return _serving(kept.no_rows(int(capacity)), lambda held, n, ids: _counted(kept.served, held, ids))
    if policy == "lru in sets":
        return _serving(
            set_associative.no_rows(int(capacity)),
            lambda held, n, ids: _counted(lambda cache, rows, counts: set_associative.served(cache, n, rows, counts), held, ids),
        )
    if policy == "hash":
        share = capacity / sum(per_table(s.model, "num_embeddings"))
        return lambda n, ids: batch_cache.by_hash(share, ids)
    if policy == "look-ahead":
        ahead = s.policy.look_ahead_batches
        return _serving(batch_cache.most_frequent(0), lambda held, n, ids: batch_cache.look_ahead(held, ahead, n, ids))
    preloaded = int(capacity * (1.0 if warm(s, cache) and not given.digest else PRELOADED))
    counted = (given.ids(n) for n in range(batches))
    relabel = batch_cache.ranks_by_count(counted) if given.digest else batch_cache.ranks_by_popularity(s)
    if policy == "lfu":
        rarest_first = np.arange(preloaded)[::-1].copy()
        full = _counted(lfu.served, lfu.no_rows(int(capacity)), rarest_first)[0]
        return _serving(full, lambda held, n, ids: _counted(lfu.served, held, relabel(ids)))
    most = batch_cache.most_frequent(preloaded)
    return _serving(most, lambda held, n, ids: batch_cache.by_frequency(held, capacity, relabel(ids)))


def _serving(held: Any, step: Callable[[Any, int, Ints], tuple[Any, CacheMoves]]) -> Server:
    """Let each batch find what the one before has left."""

    def serve(n: int, ids: Ints) -> CacheMoves:
        nonlocal held
        held, moves = step(held, n, ids)
        return moves

    return serve


def _counted(served: Callable[[Any, Ints, Ints], Any], held: Any, ids: Ints) -> tuple[Any, CacheMoves]:
    counts = np.zeros(COUNTS, dtype=np.int64)
    return served(held, ids, counts), CacheMoves(*counts)
