"""Expected traffic of a batch in steady state, from the popularity instead of ids."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..caches.lines import expected_lines
from ..core.arrays import Floats, Ints
from ..core.memo import memoised
from ..core.points.numbers import as_array, as_float, one_item
from ..scenario.scenario import Scenario
from ..systems.placement import level_shares, table_levels
from ..systems.row_kinds import LEVELS, RowSizes, row_kinds, row_sizes
from ..systems.steps.repeated import gpus_join, scratchpad_rows
from ..systems.system import Settled, System, cache_policy, cached_tables, system_of
from ..systems.traffic import Traffic, traffic
from ..systems.traffic import repeat_batch as repeated
from ..workload.accesses import expected_accesses, unique_shares
from ..workload.caching.expected_cache import NO_MOVES, expected_moves, hot_unique, missed_rows, popular_shares
from .kernel_groups import add_group_traffic, sum_by_group
from .repeats import expected_joins, expected_repeats

RARE_MEAN = 5.0  # misses, or popular samples: of so many expected ones, 1 batch in 148 has none


def expected_traffic(settled: Settled, batches: int) -> Traffic:
    """Return the expected traffic of the first `batches` batches of a run."""
    return deal_batches(expected_amounts(settled), settled.scenario.data.batch_size, batches)


def deal_batches(steady_batch: Traffic, samples: int, batches: int) -> Traffic:
    """Return the traffic of a run's batches from the expected batch in steady state.

    The first batch has no previous batch. If a cache misses rarely, or few samples are popular, some batches have no miss or no
    popular sample: as many batches as in a Poisson distribution.
    """
    run_traffic, is_first = repeated(steady_batch, batches), np.arange(batches) == 0
    miss_scale, popular_scale = (
        _share(steady_batch.misses[0], batches),
        _share(steady_batch.popular[0] * samples, batches),
    )
    return replace(
        run_traffic,
        raw_share=np.where(is_first, 0.0, run_traffic.raw_share),
        cold=np.where(is_first, run_traffic.rows, run_traffic.cold),
        popular=np.minimum(run_traffic.popular * popular_scale, 1.0),
        popular_lookups=np.minimum(run_traffic.popular_lookups * popular_scale, 1.0),
        **{name: getattr(run_traffic, name) * miss_scale for name in ("misses", "evicted", "missed_lookups", "refused")},
    )


def unlike_batch_shares(steady_batch: Traffic, samples: int) -> tuple[float, ...]:
    """Return the shares of batches that differ from the other batches.

    They are batches with a miss and batches with a popular sample, if either is rare, and batches full of popular samples.
    """
    popular = as_float(steady_batch.popular[0])
    rare = (-np.expm1(-mean) for mean in (steady_batch.misses[0], popular * samples) if 0 < mean < RARE_MEAN)
    return (*map(as_float, rare), *((popular,) if 0 < popular < 1 else ()))


def evenly_spread(share: float, batches: Ints | int) -> Ints:
    """Return how many of the first `batches` batches are in a `share` spread evenly."""
    counts: Ints = np.floor(share * np.asarray(batches)).astype(np.int64)
    return counts


def _share(expected: float, batches: int) -> Floats:
    """Return each batch's factor on a Poisson mean: 0, or above 1 as a balance."""
    if not 0 < expected < RARE_MEAN:
        return np.ones(batches)
    nonzero_share = as_float(-np.expm1(-expected))
    share: Floats = np.diff(evenly_spread(nonzero_share, np.arange(batches + 1))) / nonzero_share
    return share


@memoised(most=64)
def batch_row_sizes(s: Scenario, system: System, replicated: float = 0.0, unique: bytes = b"") -> RowSizes:
    """Return the bytes of a batch's rows, with the expected mix of row sizes.

    replicated: number of most popular rows that are replicated.
    unique: for a full run, the counted unique rows of each table, (T,), as bytes.
    The mixes of hot rows, of rows that a cache moves, and of rows in each memory are the expected mixes also in a full run.
    """
    if len(row_kinds(s)[0]) == 1:
        return row_sizes(s)
    cache, caches, counted_rows = system.cache, system.caches, np.frombuffer(unique) if unique else None
    cache_misses = (
        missed_rows(s, cache_policy(s, cache), cache.rows(s), cache.at_once(s), cached_tables(s, cache)) if cache else None
    )
    popular = replicated or (system.hot(s) if system.hot else 0.0)
    hot = hot_unique(s, popular) if popular else None
    return row_sizes(s, counted_rows, cache_misses, table_levels(s, *caches(s)) if caches else far_tables(s, system), hot)


def far_tables(s: Scenario, system: System) -> Any:
    """Return the unique rows of a batch in each memory outside HBM, (LEVELS, T).

    Return () for a system that defines neither `tiers` nor `hbm_rows`.
    """
    if system.tiers:
        far_rows = system.tiers(s).far_rows
    elif system.hbm_rows:
        far_rows = np.maximum(expected_accesses(s).unique_rows - hot_unique(s, system.hbm_rows(s)), 0.0)[None]
    else:
        return ()
    return np.concatenate([far_rows, np.zeros((LEVELS - len(far_rows), far_rows.shape[1]))])


@memoised(by=system_of)
def expected_amounts(settled: Settled) -> Traffic:
    """Return the expected traffic of one batch in steady state.

    Amounts of a row cache, of hot rows and of a medium's cache are 0 for systems without them.
    """
    s, system, medium, skews = settled.scenario, settled.system, settled.medium, settled.placement.skews
    cache, hot, caches, accesses, copies = (
        system.cache,
        system.hot,
        system.caches,
        expected_accesses(s),
        settled.placement.replicas,
    )
    rows = one_item(accesses.unique_rows.sum())
    room = scratchpad_rows(s, "near-data" in system.devices)
    repeats = expected_joins if gpus_join(s) else expected_repeats
    repeated_lookups = 0.0 if room is None or room >= rows[0] else repeats(s, room)
    popular = popular_shares(s, hot(s)) if hot else (0.0, 0.0)
    cache_moves = NO_MOVES
    if cache:
        cache_moves = expected_moves(s, cache_policy(s, cache), cache.rows(s), cache.at_once(s), cached_tables(s, cache))
    optional_amounts: dict[str, Any] = {"levels": rows[:, None] * as_array(level_shares(s, *caches(s)))} if caches else {}
    if "near-data" in system.devices and gpus_join(s):
        optional_amounts["gpu_rows"] = one_item((unique_shares(s) * accesses.lookups).sum())
    if medium.lines:
        optional_amounts |= {name: one_item(lines) for name, lines in expected_lines(s, medium)._asdict().items()}
    if medium.dirty:
        optional_amounts["clean_lines"] = one_item(expected_lines(s, medium.written_last).missed_lines)
    batch_traffic = traffic(
        s,
        rows=rows,
        raw_share=one_item(accesses.raw_lookups.sum() / accesses.lookups.sum()),
        misses=np.minimum(cache_moves.misses, rows),
        cold=rows - accesses.shared_rows.sum(),
        popular=one_item(popular[0]),
        popular_lookups=one_item(popular[1]),
        missed_lookups=one_item(cache_moves.missed_lookups),
        refused=np.minimum(cache_moves.refused, rows),
        repeated_reads=one_item(repeated_lookups),
        tables=settled.placement.tables,
        sizes=batch_row_sizes(s, system, copies.rows),
        lookup_skew=one_item(skews.lookups),
        row_skew=one_item(skews.rows),
        **{f"replicated_{name}": one_item(getattr(copies, name)) for name in ("lookups", "vectors")},
        replicated_rows=np.minimum(copies.unique, rows),
        **optional_amounts,
    )
    if not system.groups:
        return batch_traffic
    groups = system.groups(s)
    unique, looked_up = (sum_by_group(groups.values(), amounts)[:, None] for amounts in (accesses.unique_rows, accesses.lookups))
    return add_group_traffic(settled, batch_traffic, groups, unique, looked_up, accesses.unique_rows)
