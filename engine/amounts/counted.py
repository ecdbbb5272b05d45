"""Traffic of a full run's batches, counted from their ids: once for all points whose counting reads the same.

Rows are counted once for all points with the same data, what a cache moves once for each cache; no bandwidth moves a row.
Of a system with several memories, rows are found in tables placed in HBM and DRAM, and in row caches in front of all others.
Caches of thousands of millions of rows fill in no run of bearable length. So a run begins as after long training, if asked: a
row that it has not used yet was used before it as long ago as its popularity says. What it has used follows from its own ids.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..caches.inclusive_lru import no_rows, serve
from ..caches.lines import counted_lines
from ..caches.replay import served, warm
from ..caches.row_index import with_room
from ..caches.stack_distance import MOST_LOOKUPS, Distances, distances, moved
from ..caches.warm_start import before, stays
from ..core.arrays import Floats, Ints
from ..core.memo import remembered
from ..hardware.line_cache import NO_CACHE, LineCache
from ..registry import load
from ..scenario.scenario import Scenario, per_table
from ..systems.balance import balance, skew
from ..systems.placement import placement
from ..systems.sharding import Pieces
from ..systems.steps.repeated import scratchpad_rows
from ..systems.system import System, cache_policy, medium_cache
from ..systems.traffic import BY_BATCH, LEVELS, SKEWS, Traffic, row_bytes, traffic
from ..workload.batch import Recent, offsets, recent, table_ends, tally
from ..workload.readers.recording import Recording
from ..workload.source import Source, num_batches, source
from .hot_rows import hot_set, popular
from .part_counts import counter
from .repeats import counted_again

OnProgress = Callable[[str, bool], None]  # given what was done, and whether that finishes a batch; it may raise Cancelled
# From batch number, unique rows of each table, and ids, to the rows of each of LEVELS.
Finder = Callable[[int, Ints, Ints], Floats]
MOST_DRAWN = 2_000_000  # lookups whose ids are kept for the next count
MOST_NUMBERS = 4_000_000  # of each kind of count, 8 bytes each
of_amounts = remembered(MOST_NUMBERS, lambda found: found.size)


def ignore_progress(note: str, finishes: bool) -> None:
    """Let progress go unseen."""


def counted_traffic(
    s: Scenario, system: str, *, file: Recording | None = None, on_progress: OnProgress = ignore_progress
) -> Traffic:
    """Return what the batches of a run on a settled machine ask for; `file` is the one that the scenario's digest names."""
    found: Traffic = counted_amounts(s, system, medium_cache(s, system), file=file, on_progress=on_progress)
    return found


@remembered(MOST_NUMBERS, lambda found: found.batches * (len(BY_BATCH) + LEVELS))
def counted_amounts(
    s: Scenario,
    system: str,
    medium: LineCache = NO_CACHE,
    *,
    file: Recording | None = None,
    on_progress: OnProgress = ignore_progress,
) -> Traffic:
    """Return the same where the `medium` has such a cache.

    Whatever of it was counted before, for this or another machine, is not counted again.
    """
    chosen: System = load("systems", system)
    tallied = _tallied(s, file=file, on_progress=on_progress)
    amounts: dict[str, Any] = dict(zip(("rows", "raw_share", "cold", "lookups"), tallied, strict=True))
    if (tallied[3] == tallied[3, 0]).all():
        amounts["lookups"] = float(tallied[3, 0])
    if chosen.cache:
        flow = _moved(s, system, file=file, on_progress=on_progress)
        amounts |= dict(zip(("misses", "evicted", "missed", "refused"), flow, strict=True))
    if split := balance(s, system):
        skews = _skews(s, split.parts.number, split.pieces, file=file, on_progress=on_progress)
        amounts |= dict(zip(SKEWS, skews, strict=True))
    if chosen.caches:
        amounts["levels"] = _found(s, system, file=file, on_progress=on_progress)
    room = scratchpad_rows(s, "near-data" in chosen.devices)
    if room is not None and room < tallied[0].max():
        amounts["again"] = _again(s, room, file=file, on_progress=on_progress)
    if medium.lines:
        lines = _lines(s, medium, file=file, on_progress=on_progress)
        amounts |= dict(zip(("fetched", "returned", "refetched"), lines, strict=True))
    if chosen.hot:
        shares = _popular(s, system, file=file, on_progress=on_progress)
        amounts |= dict(zip(("popular", "popular_lookups"), shares, strict=True))
    return traffic(s, **amounts)


@remembered(2)
def _drawn(s: Scenario, *, file: Recording | None) -> Source:
    """Return the run's batches, with the ids of all of them at hand where they are few."""
    given, batches = source(s, file), num_batches(s, file)
    if _lookups(s, batches) > MOST_DRAWN:
        return given
    first = [given.ids(n) for n in range(batches)]
    return replace(given, ids=lambda n: first[n] if n < batches else given.ids(n))


def _tallying(s: Scenario, file: Recording | None) -> tuple[Source, Recent]:
    """Return the run's batches, and a memory of the latest two."""
    given = _drawn(s, file=file)
    return given, recent(s.model, s.data.batch_size, given.room)


def _lookups(s: Scenario, batches: int) -> int:
    return s.data.batch_size * sum(per_table(s.model, "pooling")) * batches


@of_amounts
def _tallied(s: Scenario, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return unique rows, share of lookups of rows of the batch before, unique rows that it has not touched, lookups, (4, N)."""
    given, near = _tallying(s, file=file)
    columns = np.zeros((4, num_batches(s, file)))
    for n in range(columns.shape[1]):
        ids = given.ids(n)
        unique, shared, raw = tally(near, ids)
        columns[:, n] = unique.sum(), raw.sum() / max(ids.size, 1), unique.sum() - shared.sum(), ids.size
        on_progress(f"counted rows of batch {n}", True)
    return columns


@of_amounts
def _skews(s: Scenario, parts: int, pieces: Pieces, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return how many times the mean the part has that has most lookups, and most unique rows, by a plan, (2, N)."""
    given, near = _tallying(s, file=file)
    count = counter(s.model, parts, pieces)
    found = np.zeros((2, num_batches(s, file)))
    for n in range(found.shape[1]):
        ids = given.ids(n)
        found[:, n] = [skew(each) for each in count(ids, tally(near, ids)[0])]
        on_progress(f"counted the parts of batch {n}", False)
    return found


@of_amounts
def _moved(s: Scenario, system: str, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return what the cache misses, evicts, misses by lookup and refuses, (4, N)."""
    cache, batches = load("systems", system).cache, num_batches(s, file)
    by_distance = cache_policy(s, cache) == "lru" and cache.at_once(s) == 1 and not warm(s, cache)
    if by_distance and _lookups(s, batches) <= MOST_LOOKUPS:
        misses, evicted, missed = moved(_distances(s, file=file), max(0, int(cache.rows(s))))
        return np.array([misses, evicted, missed, np.zeros_like(misses)])
    flow = np.zeros((4, batches))
    for n, moves in enumerate(served(s, cache, _drawn(s, file=file), batches)):
        flow[:, n] = moves.misses, moves.evicted, moves.missed_lookups, moves.refused
        on_progress(f"followed the cache through batch {n}", False)
    return flow


@remembered(2)
def _distances(s: Scenario, *, file: Recording | None) -> Distances:
    """Measure how far back the run's lookups look: for LRU caches of every size."""
    given = _drawn(s, file=file)
    return distances([given.ids(n) for n in range(num_batches(s, file))])


def _found(s: Scenario, system: str, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return rows by the memory that they are found in, (N, LEVELS)."""
    given, near = _tallying(s, file=file)
    find = finder(s, load("systems", system).caches(s), bool(given.digest))
    levels = np.zeros((num_batches(s, file), LEVELS))
    for n in range(len(levels)):
        ids = given.ids(n)
        levels[n] = find(n, tally(near, ids)[0], ids)
        on_progress(f"found the rows of batch {n}", False)
    return levels


def _popular(s: Scenario, system: str, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return the share of samples that meet hot rows alone, and of lookups that these make, (2, N)."""
    given = _drawn(s, file=file)
    hot, shares = hot_set(s, load("systems", system).hot(s), given), np.zeros((2, num_batches(s, file)))
    for n in range(shares.shape[1]):
        shares[:, n] = popular(hot, given.ids(n), given.starts(n))
        on_progress(f"counted popular samples of batch {n}", False)
    return shares


@of_amounts
def _again(s: Scenario, room: float, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return the lookups that come back to a row for which near-data logic had no place, (N,)."""
    given, found = _drawn(s, file=file), np.zeros(num_batches(s, file))
    for n in range(len(found)):
        found[n] = counted_again(given.ids(n), room)
        on_progress(f"counted repeated rows of batch {n}", False)
    return found


@of_amounts
def _lines(s: Scenario, medium: LineCache, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return the lines that a medium's own cache fetches, returns and fetches again, (3, N)."""
    found = np.zeros((3, num_batches(s, file)))
    for n, moves in enumerate(counted_lines(s, medium, _drawn(s, file=file), found.shape[1])):
        found[:, n] = moves
        on_progress(f"followed the medium's cache through batch {n}", False)
    return found


def finder(s: Scenario, cached: tuple[float, float], recorded: bool) -> Finder:
    """Return what finds a batch's rows, batch after batch, with caches of so many rows in DRAM and SCM.

    A `recorded` file's popularity is not known, so its caches are empty at first.
    """
    dense = placement(s, cached[0] * row_bytes(s))
    first, below, held = offsets(s.model), tuple(sorted(dense.below)), no_rows(cached)
    guess = (
        before(s, below, stays(s, below, cached))
        if below and s.policy.warm_caches and not recorded
        else lambda _, fresh: np.full(len(fresh), LEVELS - 2)
    )

    def find(n: int, unique: Ints, ids: Ints) -> Floats:
        nonlocal held
        layout = table_ends(ids, first)
        far = np.concatenate([ids[layout[t] : layout[t + 1]] for t in below]) if below else ids[:0]
        held, found = with_room(held, len(far)), np.zeros(LEVELS - 1, dtype=np.int64)
        fresh = serve(*held, far, found)
        found += np.bincount(guess(n, fresh), minlength=LEVELS - 1)
        return np.concatenate(([unique[list(dense.dram)].sum()], found))

    return find
