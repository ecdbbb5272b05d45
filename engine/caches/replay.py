"""Cache replay of a full run: the cache policy serves the batches' ids in order."""

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..core.arithmetic import total
from ..core.arrays import Flags, Ints
from ..errors import CannotRun
from ..scenario.scenario import Scenario, per_table
from ..systems.sizing import cache_refusal
from ..systems.system import Cache, cache_policy, cached_tables
from ..workload.accesses import table_lookups, without_repeats
from ..workload.batch import offsets, table_ends
from ..workload.caching.locked_sets import locked_sets
from ..workload.source import Source
from ..workload.spectrum import id_space
from . import batch_cache
from .batch_cache import CacheTraffic
from .inclusive_lru import no_rows
from .inclusive_lru import serve_batch as use
from .policies import lfu, lru, set_associative, set_associative_lfu
from .row_index import COUNTS, ensure_slots
from .warm_start import stay_lookups, warm_guess

Server = Callable[[int, Ints], CacheTraffic]
NO_TRAFFIC = CacheTraffic(0, 0, 0, 0)
RECENCY_POLICIES = ("lru", "lru in sets", "look-ahead")  # held rows follow from the time of each row's last use
# Policies whose cache is empty at first, and that count each batch's moves.
POLICY_MODULES: Mapping[str, ModuleType] = {"lru": lru, "lfu in sets": set_associative_lfu}
PRELOADED = 0.7  # share of the cache filled by frequency before the first batch (hpcaitech/CachedEmbedding)


class IdsOfTables(NamedTuple):
    """The batches of a source, with the ids of some tables only.

    is_selected: True for these tables, (T,).
    table_offsets: the row number at which each table begins, (T + 1,).
    """

    source: Source
    table_offsets: Ints
    is_selected: Flags

    @property
    def digest(self) -> str:
        """The digest of the source's file; "" for generated batches."""
        return self.source.digest

    def ids(self, n: int) -> Ints:
        """Return the ids of batch n in the selected tables."""
        all_ids = self.source.ids(n)
        table_ids: Ints = all_ids[np.repeat(self.is_selected, np.diff(table_ends(all_ids, self.table_offsets)))]
        return table_ids


def cache_traffic(s: Scenario, cache: Cache, batch_source: Source, batches: int) -> Iterator[CacheTraffic]:
    """Yield the cache traffic of each batch.

    If batches are fetched together, all their rows move with the first of them. Raises CannotRun if a batch has more unique rows
    than a cache that must hold them all.
    """
    source: Source | IdsOfTables = batch_source
    if cache.tables:
        source = IdsOfTables(batch_source, offsets(s.model), np.isin(np.arange(s.model.num_tables), cache.tables(s)))
    serve, at_once, capacity = _server(s, cache, source, batches), cache.at_once(s), int(cache.rows(s))
    if starts_warm(s, cache) and not source.digest and cache_policy(s, cache) in RECENCY_POLICIES:
        serve = _warmed(s, cache, serve, at_once)
    for n in range(batches):
        if n % at_once:
            yield NO_TRAFFIC
            continue
        end = min(n + at_once, batches)
        traffic = serve(n, np.concatenate([source.ids(k) for k in range(n, end)]))
        if cache.window(s) and traffic.unique > capacity:
            raise CannotRun(cache_refusal(s, capacity, traffic.unique, f"batches {n} to {end - 1} have"))
        yield traffic


def starts_warm(s: Scenario, cache: Cache) -> bool:
    """Return whether the caches of a full run begin as filled by long training.

    Only caches of generated batches can; caches with LFU counts in sets cannot.
    """
    return s.policy.warm_caches and not (cache.in_sets and s.policy.cache_policy == "lfu")


def _warmed(s: Scenario, cache: Cache, serve: Server, at_once: int) -> Server:
    """Return a server whose cache is warm: held rows come in before their first batch.

    Every miss then evicts a row.
    """
    table_indices, row_history = cached_tables(s, cache) or tuple(range(s.model.num_tables)), no_rows(())
    looks_ahead = cache_policy(s, cache) == "look-ahead"
    distinct = without_repeats(s)
    times: tuple[float, ...] = (s.policy.look_ahead_batches * float(table_lookups(distinct).sum()),)
    admitted = 1.0
    if not looks_ahead:
        times = stay_lookups(s, table_indices, (float(int(cache.rows(s))),))
    if cache.in_sets:
        lookups_per_step = at_once * float(table_lookups(distinct)[list(table_indices)].sum())
        state = locked_sets(id_space(distinct, table_indices), lookups_per_step, float(int(cache.rows(s))), s.data.locality)
        times, admitted = (state.stay_lookups,), state.admitted
    guess = warm_guess(s, table_indices, times, at_once, admitted)

    def serve_warm(n: int, ids: Ints) -> CacheTraffic:
        nonlocal row_history
        row_history = ensure_slots(row_history, len(ids))
        new_rows = use(*row_history, ids, np.zeros(1, dtype=np.int64))
        serve(n, new_rows[guess(n, new_rows) == 0])
        traffic = serve(n, ids)
        return traffic._replace(evicted=traffic.misses)

    return serve_warm


def _server(s: Scenario, cache: Cache, source: Source | IdsOfTables, batches: int) -> Server:
    """Return the function that serves one batch with the system's cache policy."""
    policy, capacity = cache_policy(s, cache), cache.rows(s)
    if policy in POLICY_MODULES:
        policy_module = POLICY_MODULES[policy]
        return _serving(
            policy_module.no_rows(int(capacity)),
            lambda cache_state, n, ids: _serve_counted(policy_module.serve_batch, cache_state, ids),
        )
    if policy == "lru in sets":
        return _serving(
            set_associative.no_rows(int(capacity)),
            lambda cache_state, n, ids: _serve_counted(
                lambda cache, rows, counts: set_associative.serve_batch(cache, n, rows, counts), cache_state, ids
            ),
        )
    if policy == "hash":
        share = capacity / total(per_table(s.model, "num_embeddings"))
        return lambda n, ids: batch_cache.serve_by_hash(share, ids)
    if policy == "look-ahead":
        window = s.policy.look_ahead_batches
        return _serving(
            batch_cache.most_popular_rows(0),
            lambda cache_state, n, ids: batch_cache.serve_looking_ahead(cache_state, window, n, ids),
        )
    preloaded = int(capacity * (1.0 if starts_warm(s, cache) and not source.digest else PRELOADED))
    id_batches = (source.ids(n) for n in range(batches))
    relabel = batch_cache.ranks_by_count(id_batches) if source.digest else batch_cache.ranks_by_popularity(s)
    if policy == "lfu":
        rarest_first = np.arange(preloaded)[::-1].copy()
        preloaded_cache = _serve_counted(lfu.serve_batch, lfu.no_rows(int(capacity)), rarest_first)[0]
        return _serving(preloaded_cache, lambda cache_state, n, ids: _serve_counted(lfu.serve_batch, cache_state, relabel(ids)))
    preloaded_shelf = batch_cache.most_popular_rows(preloaded)
    return _serving(
        preloaded_shelf, lambda cache_state, n, ids: batch_cache.serve_by_frequency(cache_state, capacity, relabel(ids))
    )


def _serving(cache_state: Any, step: Callable[[Any, int, Ints], tuple[Any, CacheTraffic]]) -> Server:
    """Return a server that hands the cache state from each batch to the next."""

    def serve(n: int, ids: Ints) -> CacheTraffic:
        nonlocal cache_state
        cache_state, traffic = step(cache_state, n, ids)
        return traffic

    return serve


def _serve_counted(serve_batch: Callable[[Any, Ints, Ints], Any], cache_state: Any, ids: Ints) -> tuple[Any, CacheTraffic]:
    """Serve a batch with `serve_batch`; return the new cache state and its moves."""
    counts = np.zeros(COUNTS, dtype=np.int64)
    return serve_batch(cache_state, ids, counts), CacheTraffic(*counts)
