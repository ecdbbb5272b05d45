"""Traffic of a steady batch, expected from the popularity instead of counted from ids."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..caches.lines import expected_lines
from ..core.arrays import Floats, Ints
from ..core.memo import remembered
from ..scenario.scenario import Scenario
from ..systems.placement import levels, table_levels
from ..systems.row_kinds import LEVELS, RowSizes, row_kinds, row_sizes
from ..systems.steps.repeated import scratchpad_rows
from ..systems.system import Settled, System, cache_policy, cached_tables, system_of
from ..systems.traffic import Traffic, traffic
from ..systems.traffic import steady as repeated
from ..workload.accesses import expected
from ..workload.caching.expected_cache import NOTHING, expected_moves, hot_unique, missed_rows, popular_shares
from .kernel_groups import in_groups, with_groups
from .repeats import expected_again

RARE = 5.0  # misses, or popular samples: of so many expected ones, 1 batch in 148 has none


def expected_traffic(settled: Settled, batches: int) -> Traffic:
    """Return so many batches from the start of a run, by the steady state's expected accesses."""
    return dealt(expected_amounts(settled), settled.scenario.data.batch_size, batches)


def dealt(one: Traffic, samples: int, batches: int) -> Traffic:
    """Return batches of `samples` like an expected `one`; the first has no batch before it.

    Where a cache rarely misses, or few samples are popular, some batches have none, and ask nobody: as many as chance lets.
    """
    found, first = repeated(one, batches), np.arange(batches) == 0
    missing, meeting = _share(float(one.misses[0]), batches), _share(float(one.popular[0]) * samples, batches)
    return replace(
        found,
        raw_share=np.where(first, 0.0, found.raw_share),
        cold=np.where(first, found.rows, found.cold),
        popular=np.minimum(found.popular * meeting, 1.0),
        popular_lookups=np.minimum(found.popular_lookups * meeting, 1.0),
        **{name: getattr(found, name) * missing for name in ("misses", "evicted", "missed", "refused")},
    )


def unlike(one: Traffic, samples: int) -> tuple[float, ...]:
    """Return which shares of the batches are unlike the others.

    They are those that miss anything, or have a popular sample, where either is rare, and those that popular samples fill.
    """
    popular = float(one.popular[0])
    rare = (-np.expm1(-mean) for mean in (float(one.misses[0]), popular * samples) if 0 < mean < RARE)
    return (*map(float, rare), *((popular,) if 0 < popular < 1 else ()))


def spread(share: float, batches: Ints | int) -> Ints:
    """Return how many of the first batches are among a share of all, as evenly spread as can be."""
    found: Ints = np.floor(share * np.asarray(batches)).astype(np.int64)
    return found


def _share(expected: float, batches: int) -> Floats:
    """Return for each batch how much of a Poisson mean it has: nothing, or all that fell to the batches with nothing too."""
    if not 0 < expected < RARE:
        return np.ones(batches)
    some = float(-np.expm1(-expected))
    share: Floats = np.diff(spread(some, np.arange(batches + 1))) / some
    return share


@remembered(most=64)
def batch_row_sizes(s: Scenario, system: System, replicated: float = 0.0, unique: bytes = b"") -> RowSizes:
    """Return the bytes of a batch's rows as the popularity lets expect; a full run gives the (T,) `unique` rows that it counted.

    So many of the most popular rows are `replicated`. Hot rows, what a cache moves and what lies in which memory are the expected
    mix in a full run too.
    """
    if len(row_kinds(s)[0]) == 1:
        return row_sizes(s)
    cache, caches, counted = system.cache, system.caches, np.frombuffer(unique) if unique else None
    moved = missed_rows(s, cache_policy(s, cache), cache.rows(s), cache.at_once(s), cached_tables(s, cache)) if cache else None
    popular = replicated or (system.hot(s) if system.hot else 0.0)
    hot = hot_unique(s, popular) if popular else None
    return row_sizes(s, counted, moved, table_levels(s, *caches(s)) if caches else far_tables(s, system), hot)


def far_tables(s: Scenario, system: System) -> Any:
    """Return the unique rows by table that a system without caches finds in DRAM and below, as levels; none of other systems."""
    if system.tiers:
        far = system.tiers(s).far
    elif system.hbm_rows:
        far = np.maximum(expected(s).unique_rows - hot_unique(s, system.hbm_rows(s)), 0.0)[None]
    else:
        return ()
    return np.concatenate([far, np.zeros((LEVELS - len(far), far.shape[1]))])


@remembered(by=system_of)
def expected_amounts(settled: Settled) -> Traffic:
    """Return one batch of the steady state; a cache, a hot set and the medium's own cache count only where there are any."""
    s, system, medium, skews = settled.scenario, settled.system, settled.medium, settled.placement.skews
    cache, hot, caches, accesses, copies = system.cache, system.hot, system.caches, expected(s), settled.placement.replicas
    rows = np.array([accesses.unique_rows.sum()])
    room = scratchpad_rows(s, "near-data" in system.devices)
    again = 0.0 if room is None or room >= rows[0] else expected_again(s, room)
    popular = popular_shares(s, hot(s)) if hot else (0.0, 0.0)
    moved = NOTHING
    if cache:
        moved = expected_moves(s, cache_policy(s, cache), cache.rows(s), cache.at_once(s), cached_tables(s, cache))
    found: dict[str, Any] = {"levels": rows[:, None] * levels(s, *caches(s))} if caches else {}
    if medium.lines:
        found |= {name: np.array([lines]) for name, lines in expected_lines(s, medium)._asdict().items()}
    if medium.dirty:
        found["clean"] = np.array([expected_lines(s, medium.written_last).fetched])
    whole = traffic(
        s,
        rows=rows,
        raw_share=np.array([accesses.raw_lookups.sum() / accesses.lookups.sum()]),
        misses=np.minimum(moved.misses, rows),
        cold=rows - accesses.shared_rows.sum(),
        popular=np.array([popular[0]]),
        popular_lookups=np.array([popular[1]]),
        missed=np.array([moved.missed_lookups]),
        refused=np.minimum(moved.refused, rows),
        again=np.array([again]),
        tables=settled.placement.tables,
        sizes=batch_row_sizes(s, system, copies.rows),
        lookup_skew=np.array([skews.lookups]),
        row_skew=np.array([skews.rows]),
        **{f"replicated_{name}": np.array([getattr(copies, name)]) for name in ("lookups", "vectors")},
        replicated_rows=np.minimum(copies.unique, rows),
        **found,
    )
    if not system.groups:
        return whole
    groups = system.groups(s)
    unique, looked_up = (in_groups(groups.values(), one)[:, None] for one in (accesses.unique_rows, accesses.lookups))
    return with_groups(settled, whole, groups, unique, looked_up, accesses.unique_rows)
