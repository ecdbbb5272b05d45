"""Traffic of a full run's batches, counted from their ids: once for all points whose counting reads the same.

Rows are counted once for all points with the same data, what a cache moves once for each cache; no bandwidth moves a row.
Of a system with several memories, rows are found in tables placed in HBM and DRAM, and in row caches in front of all others.
Caches of thousands of millions of rows fill in no run of bearable length. So a run begins as after long training, if asked: a
row that it has not used yet was used before it as long ago as its popularity says. What it has used follows from its own ids.
"""

from collections.abc import Callable, Iterable, Iterator
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
from ..hardware.line_cache import LineCache
from ..scenario.scenario import Scenario, per_table
from ..systems.placement import Tables, placement
from ..systems.row_kinds import LEVELS, row_bytes, row_kinds
from ..systems.sharding import Pieces
from ..systems.steps.repeated import scratchpad_rows
from ..systems.system import Cache, Settled, cache_policy, system_of
from ..systems.table_placement import Weight, skew
from ..systems.traffic import BY_BATCH, SKEWS, Traffic, traffic
from ..workload.batch import Recent, offsets, recent, table_ends, tally
from ..workload.readers.recording import Recording
from ..workload.source import Source, num_batches, source
from .expected import batch_row_sizes
from .hot_rows import hot_set, hot_shares, popular
from .kernel_groups import Groups, in_groups, with_groups
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


@remembered(MOST_NUMBERS, lambda found: found.batches * (len(BY_BATCH) + LEVELS), by=system_of)
def counted_traffic(settled: Settled, *, file: Recording | None = None, on_progress: OnProgress = ignore_progress) -> Traffic:
    """Return what the batches of a run ask for; `file` is the one that the scenario's digest names.

    Whatever of it was counted before, for this or another machine, is not counted again.
    """
    s, system, medium, placement = settled.scenario, settled.system, settled.medium, settled.placement
    tallied = _tallied(s, file=file, on_progress=on_progress)
    amounts: dict[str, Any] = dict(zip(("rows", "raw_share", "cold", "lookups"), tallied, strict=True))
    if (tallied[3] == tallied[3, 0]).all():
        amounts["lookups"] = float(tallied[3, 0])
    if system.cache:
        flow = _moved(s, system.cache, file=file, on_progress=on_progress)
        amounts |= dict(zip(("misses", "evicted", "missed", "refused"), flow, strict=True))
    if placement.plan:
        skews = _skews(s, *placement.plan, placement.weight, file=file, on_progress=on_progress)
        amounts |= dict(zip(SKEWS, skews, strict=True))
    if system.caches:
        amounts["levels"] = _found(s, system.caches(s), file=file, on_progress=on_progress)
    room = scratchpad_rows(s, "near-data" in system.devices)
    if room is not None and room < tallied[0].max():
        (amounts["again"],) = _again(s, room, file=file, on_progress=on_progress)
    if medium.lines:
        lines = _lines(s, medium, file=file, on_progress=on_progress)
        amounts |= dict(zip(("fetched", "returned", "refetched"), lines, strict=True))
    if medium.dirty:
        amounts["clean"] = _lines(s, medium.written_last, file=file, on_progress=on_progress)[0]
    if system.hot:
        shares = _popular(s, system.hot(s), file=file, on_progress=on_progress)
        amounts |= dict(zip(("popular", "popular_lookups"), shares, strict=True))
    if placement.replicas.rows:
        counts = _replicated(s, placement.replicas.rows, file=file, on_progress=on_progress)
        amounts |= dict(zip(("replicated_lookups", "replicated_vectors", "replicated_rows"), counts, strict=True))
    unique = _unique(s, file=file, on_progress=on_progress).tobytes() if len(row_kinds(s)[0]) > 1 else b""
    whole = traffic(s, tables=placement.tables, sizes=batch_row_sizes(s, system, placement.replicas.rows, unique), **amounts)
    return _in_groups(settled, whole, system.groups(s), file, on_progress) if system.groups else whole


def _in_groups(settled: Settled, whole: Traffic, groups: Groups, file: Recording | None, on_progress: OnProgress) -> Traffic:
    """Return traffic with that of the tables of each kernel."""
    s = settled.scenario
    rows, looked_up = np.split(_by_group(s, tuple(groups.values()), file=file, on_progress=on_progress), 2)
    return with_groups(settled, whole, groups, rows, looked_up, _unique(s, file=file, on_progress=on_progress))


@remembered(2)
def _drawn(s: Scenario, *, file: Recording | None) -> Source:
    """Return the run's batches, with the ids of all of them at hand where they are few."""
    given, batches = source(s, file), num_batches(s, file)
    if _lookups(s, batches) > MOST_DRAWN:
        return given
    return replace(given, drawn=tuple(given.ids(n) for n in range(batches)))


def _ids(s: Scenario, file: Recording | None) -> Iterator[Ints]:
    """Yield the ids of each batch of the run."""
    return map(_drawn(s, file=file).ids, range(num_batches(s, file)))


def _near(s: Scenario, file: Recording | None) -> Recent:
    """Return a memory of the latest two batches."""
    return recent(s.model, s.data.batch_size, _drawn(s, file=file).room)


def _lookups(s: Scenario, batches: int) -> int:
    return int(s.data.batch_size * sum(per_table(s.model, "pooling")) * batches)


def _told(rows: int, values: Iterable[Iterable[float]], done: str, on_progress: OnProgress, finishes: bool = False) -> Floats:
    """Return the values of N batches, so many of each, as (rows, N), and tell when what was `done` to each."""

    def told() -> Iterator[tuple[float, ...]]:
        for n, one in enumerate(values):
            yield tuple(one)
            on_progress(f"{done} batch {n}", finishes)

    return np.ascontiguousarray(np.fromiter(told(), np.dtype((np.float64, (rows,)))).T)


@of_amounts
def _tallied(s: Scenario, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return unique rows, share of lookups of rows of the batch before, unique rows that it has not touched, lookups, (4, N)."""
    near = _near(s, file)

    def tallied(ids: Ints) -> tuple[float, ...]:
        unique, shared, raw = tally(near, ids)
        return unique.sum(), raw.sum() / max(ids.size, 1), unique.sum() - shared.sum(), ids.size

    return _told(4, map(tallied, _ids(s, file)), "counted rows of", on_progress, finishes=True)


@of_amounts
def _unique(s: Scenario, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return the unique rows of each table over all batches, each batch's counted anew, (T,)."""
    near, total = _near(s, file), np.zeros(s.model.num_tables)
    for n, ids in enumerate(_ids(s, file)):
        total += tally(near, ids)[0]
        on_progress(f"counted rows by table of batch {n}", False)
    return total


@of_amounts
def _by_group(s: Scenario, groups: tuple[Tables, ...], *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return the unique rows and the lookups of each group of tables, (2 G, N)."""
    near, first = _near(s, file), offsets(s.model)

    def tallied(ids: Ints) -> Iterator[float]:
        by_table = tally(near, ids)[0], np.diff(table_ends(ids, first))
        yield from in_groups(groups, np.array(by_table)).T.reshape(-1)

    return _told(2 * len(groups), map(tallied, _ids(s, file)), "counted tables by kernel of", on_progress)


@of_amounts
def _skews(s: Scenario, parts: int, pieces: Pieces, weight: Weight, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return how many times the mean the part has that has most lookups, and most unique rows, by a plan, (2, N).

    Each counts as many times as `weight` says of its table, where unlike rows take unlike time.
    """
    near, count = _near(s, file), counter(s.model, parts, pieces, weight)
    found = (map(skew, count(ids, tally(near, ids)[0])) for ids in _ids(s, file))
    return _told(2, found, "counted the parts of", on_progress)


@of_amounts
def _moved(s: Scenario, cache: Cache, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return what the cache misses, evicts, misses by lookup and refuses, (4, N)."""
    batches = num_batches(s, file)
    by_distance = cache_policy(s, cache) == "lru" and cache.at_once(s) == 1 and not warm(s, cache) and not cache.tables
    if by_distance and _lookups(s, batches) <= MOST_LOOKUPS:
        misses, evicted, missed = moved(_distances(s, file=file), max(0, int(cache.rows(s))))
        return np.array([misses, evicted, missed, np.zeros_like(misses)])
    moves = served(s, cache, _drawn(s, file=file), batches)
    found = ((one.misses, one.evicted, one.missed_lookups, one.refused) for one in moves)
    return _told(4, found, "followed the cache through", on_progress)


@remembered(2)
def _distances(s: Scenario, *, file: Recording | None) -> Distances:
    """Measure how far back the run's lookups look: for LRU caches of every size."""
    return distances([*_ids(s, file)])


def _found(s: Scenario, cached: tuple[float, float], file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return rows by the memory that they are found in, (N, LEVELS)."""
    near, find = _near(s, file), finder(s, cached, bool(_drawn(s, file=file).digest))
    found = (find(n, tally(near, ids)[0], ids) for n, ids in enumerate(_ids(s, file)))
    return _told(LEVELS, found, "found the rows of", on_progress).T


def _popular(s: Scenario, rows: float, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return the share of samples that meet hot rows alone, and of lookups that these make, (2, N)."""
    given = _drawn(s, file=file)
    hot = hot_set(s, rows, given)
    found = (popular(hot, ids, given.starts(n)) for n, ids in enumerate(_ids(s, file)))
    return _told(2, found, "counted popular samples of", on_progress)


@of_amounts
def _replicated(s: Scenario, rows: float, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return the shares of lookups and of pooled vectors that meet replicated rows alone, and those rows' number, (3, N)."""
    batches = _drawn(s, file=file)
    hot = hot_set(s, rows, batches)
    shares = (hot_shares(hot, ids, batches.starts(n)) for n, ids in enumerate(_ids(s, file)))
    return _told(3, shares, "counted replicated rows of", on_progress)


@of_amounts
def _again(s: Scenario, room: float, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return the lookups that come back to a row for which near-data logic had no place, (1, N)."""
    return _told(1, ((counted_again(ids, room),) for ids in _ids(s, file)), "counted repeated rows of", on_progress)


@of_amounts
def _lines(s: Scenario, medium: LineCache, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return the lines that a medium's own cache fetches, returns and fetches again, (3, N)."""
    moves = counted_lines(s, medium, _drawn(s, file=file), num_batches(s, file))
    return _told(3, moves, "followed the medium's cache through", on_progress)


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
