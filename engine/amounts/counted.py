"""Traffic of a full run's batches, counted from their ids.

Design points that read the same knobs share a count. So rows are counted once for all points with the same data, and a cache's
moves once for each cache; bandwidths change no count. In a system with several memories, a row is found in the tables in HBM or
DRAM, or in the row caches before all other tables. A cache of thousands of millions of rows would take too long to fill. So a
run may begin as after long training (`policy.warm_caches`): for a row that the run has not used yet, the time since its last use
is drawn from its popularity.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..caches.inclusive_lru import no_rows, serve_batch
from ..caches.lines import counted_lines
from ..caches.replay import cache_traffic, starts_warm
from ..caches.row_index import ensure_slots
from ..caches.stack_distance import MAX_LOOKUPS, StackDistances, moved_rows, stack_distances
from ..caches.warm_start import stay_lookups, warm_guess
from ..core.arithmetic import total
from ..core.arrays import Floats, Ints
from ..core.memo import memoised
from ..hardware.line_cache import LineCache
from ..scenario.scenario import Scenario, per_table
from ..systems.placement import Tables, placement
from ..systems.row_kinds import LEVELS, row_bytes, row_kinds
from ..systems.sharding import Pieces
from ..systems.steps.repeated import gpus_join, scratchpad_rows
from ..systems.system import Cache, Settled, cache_policy, system_of
from ..systems.table_placement import Weight, skew
from ..systems.traffic import BY_BATCH, SKEWS, Traffic, traffic
from ..workload.batch import RecentRows, offsets, recent, table_ends, tally_batch
from ..workload.readers.recording import Recording
from ..workload.source import num_batches, shared_source
from .expected import batch_row_sizes
from .hot_rows import hot_set, hot_shares, popular_shares_counted
from .kernel_groups import Groups, add_group_traffic, sum_by_group
from .part_counts import gpu_rows, part_counter
from .repeats import counted_repeats

OnProgress = Callable[[str, bool], None]  # gets a note, and whether the note finishes a batch; the function may raise Cancelled
# From batch number, unique rows of each table, and ids, to the rows of each of LEVELS.
Finder = Callable[[int, Ints, Ints], Floats]
MAX_KEPT_NUMBERS = 4_000_000  # kept numbers of each kind of count, 8 bytes each
remember_amounts = memoised(MAX_KEPT_NUMBERS, lambda amounts: amounts.size)


def ignore_progress(note: str, finishes: bool) -> None:
    """Do nothing with the progress of a count."""


@memoised(MAX_KEPT_NUMBERS, lambda run_traffic: run_traffic.batches * (len(BY_BATCH) + LEVELS), by=system_of)
def counted_traffic(settled: Settled, *, file: Recording | None = None, on_progress: OnProgress = ignore_progress) -> Traffic:
    """Return the traffic of a run's batches, counted from their ids.

    `file` is the data file that the scenario's digest names; `on_progress` is called during the count. Counts of earlier calls,
    also for other machines, are reused.
    """
    s, system, medium, placement = settled.scenario, settled.system, settled.medium, settled.placement
    tallies = _tallied(s, file=file, on_progress=on_progress)
    amounts: dict[str, Any] = dict(zip(("rows", "raw_share", "cold", "lookups"), tallies, strict=True))
    if (tallies[3] == tallies[3, 0]).all():
        amounts["lookups"] = float(tallies[3, 0])
    if system.cache:
        flow = _cache_moves(s, system.cache, file=file, on_progress=on_progress)
        amounts |= dict(zip(("misses", "evicted", "missed_lookups", "refused"), flow, strict=True))
    if placement.plan:
        skews = _skews(s, *placement.plan, placement.weight, file=file, on_progress=on_progress)
        amounts |= dict(zip(SKEWS, skews, strict=True))
    if system.caches:
        amounts["levels"] = _rows_by_memory(s, system.caches(s), file=file, on_progress=on_progress)
    if "near-data" in system.devices:
        amounts |= _near_data_amounts(s, tallies[0].max(), file, on_progress)
    if medium.lines:
        lines = _lines(s, medium, file=file, on_progress=on_progress)
        amounts |= dict(zip(("missed_lines", "written_back_lines", "refetched_lines"), lines, strict=True))
    if medium.dirty:
        amounts["clean_lines"] = _lines(s, medium.written_last, file=file, on_progress=on_progress)[0]
    if system.hot:
        shares = _popular(s, system.hot(s), file=file, on_progress=on_progress)
        amounts |= dict(zip(("popular", "popular_lookups"), shares, strict=True))
    if placement.replicas.rows:
        counts = _replicated(s, placement.replicas.rows, file=file, on_progress=on_progress)
        amounts |= dict(zip(("replicated_lookups", "replicated_vectors", "replicated_rows"), counts, strict=True))
    unique = _unique(s, file=file, on_progress=on_progress).tobytes() if len(row_kinds(s)[0]) > 1 else b""
    run_traffic = traffic(
        s, tables=placement.tables, sizes=batch_row_sizes(s, system, placement.replicas.rows, unique), **amounts
    )
    return _in_groups(settled, run_traffic, system.groups(s), file, on_progress) if system.groups else run_traffic


def _near_data_amounts(s: Scenario, most_rows: float, file: Recording | None, on_progress: OnProgress) -> dict[str, Floats]:
    """Return amounts of logic beside the memory: rows without room in its scratchpad, and rows of GPUs that it joins.

    `most_rows` are the unique rows of the batch that has most of them.
    """
    amounts, room = dict[str, Floats](), scratchpad_rows(s, near_data=True)
    if gpus_join(s):
        counts = _rows_by_gpu(s, np.inf if room is None else room, file=file, on_progress=on_progress)
        return dict(zip(("gpu_rows", "repeated_reads"), counts, strict=True))
    if room is not None and room < most_rows:
        (amounts["repeated_reads"],) = _repeated_lookups(s, room, file=file, on_progress=on_progress)
    return amounts


def _in_groups(
    settled: Settled, run_traffic: Traffic, groups: Groups, file: Recording | None, on_progress: OnProgress
) -> Traffic:
    """Return a run's traffic with the traffic of each kernel's tables added."""
    s = settled.scenario
    rows, looked_up = np.split(_by_group(s, tuple(groups.values()), file=file, on_progress=on_progress), 2)
    return add_group_traffic(settled, run_traffic, groups, rows, looked_up, _unique(s, file=file, on_progress=on_progress))


def _ids(s: Scenario, file: Recording | None) -> Iterator[Ints]:
    """Yield the ids of each batch of the run."""
    return map(shared_source(s, file=file).ids, range(num_batches(s, file)))


def _recent_rows(s: Scenario, file: Recording | None) -> RecentRows:
    """Return the hash sets that hold the rows of the latest two batches."""
    return recent(s.model, s.data.batch_size, shared_source(s, file=file).max_lookups)


def _lookups(s: Scenario, batches: int) -> int:
    return int(s.data.batch_size * total(per_table(s.model, "pooling")) * batches)


def _collect_amounts(
    rows: int, values: Iterable[Iterable[float]], action: str, on_progress: OnProgress, finishes: bool = False
) -> Floats:
    """Collect `rows` values of each of N batches as (rows, N), and report `action` after each batch."""

    def reported_amounts() -> Iterator[tuple[float, ...]]:
        for n, amounts in enumerate(values):
            yield tuple(amounts)
            on_progress(f"{action} batch {n}", finishes)

    return np.ascontiguousarray(np.fromiter(reported_amounts(), np.dtype((np.float64, (rows,)))).T)


@remember_amounts
def _tallied(s: Scenario, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return (4, N) unique rows, share of repeated lookups, cold rows, and lookups.

    Repeated lookups meet rows that the batch before has touched; cold rows are the unique rows that it has not touched.
    """
    recent_rows = _recent_rows(s, file)

    def tally_ids(ids: Ints) -> tuple[float, ...]:
        unique, shared_rows, raw = tally_batch(recent_rows, ids)
        return unique.sum(), raw.sum() / max(ids.size, 1), unique.sum() - shared_rows.sum(), ids.size

    return _collect_amounts(4, map(tally_ids, _ids(s, file)), "counted rows of", on_progress, finishes=True)


@remember_amounts
def _unique(s: Scenario, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return the unique rows of each table over all batches, each batch's counted anew, (T,)."""
    recent_rows, total = _recent_rows(s, file), np.zeros(s.model.num_tables)
    for n, ids in enumerate(_ids(s, file)):
        total += tally_batch(recent_rows, ids)[0]
        on_progress(f"counted rows by table of batch {n}", False)
    return total


@remember_amounts
def _by_group(s: Scenario, groups: tuple[Tables, ...], *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return the unique rows and the lookups of each group of tables, (2 G, N)."""
    recent_rows, first_rows = _recent_rows(s, file), offsets(s.model)

    def tally_groups(ids: Ints) -> Iterator[float]:
        by_table = tally_batch(recent_rows, ids)[0], np.diff(table_ends(ids, first_rows))
        yield from sum_by_group(groups, np.array(by_table)).T.reshape(-1)

    return _collect_amounts(2 * len(groups), map(tally_groups, _ids(s, file)), "counted tables by kernel of", on_progress)


@remember_amounts
def _skews(s: Scenario, parts: int, pieces: Pieces, weight: Weight, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return (2, N) the largest part's lookups and unique rows, over the mean part's, by a plan.

    A table's lookups and rows count `weight` times, where unlike rows take unlike time.
    """
    recent_rows, count = _recent_rows(s, file), part_counter(s, parts, pieces, weight)
    batch_skews = (map(skew, count(ids, tally_batch(recent_rows, ids)[0])) for ids in _ids(s, file))
    return _collect_amounts(2, batch_skews, "counted the parts of", on_progress)


@remember_amounts
def _cache_moves(s: Scenario, cache: Cache, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return (4, N) missed rows, evicted rows, missed lookups and refused rows of the cache."""
    batches = num_batches(s, file)
    by_distance = cache_policy(s, cache) == "lru" and cache.at_once(s) == 1 and not starts_warm(s, cache) and not cache.tables
    if by_distance and _lookups(s, batches) <= MAX_LOOKUPS:
        misses, evicted, missed = moved_rows(_distances(s, file=file), max(0, int(cache.rows(s))))
        return np.array([misses, evicted, missed, np.zeros_like(misses)])
    batch_moves = cache_traffic(s, cache, shared_source(s, file=file), batches)
    amounts = ((move.misses, move.evicted, move.missed_lookups, move.refused) for move in batch_moves)
    return _collect_amounts(4, amounts, "followed the cache through", on_progress)


@memoised(2)
def _distances(s: Scenario, *, file: Recording | None) -> StackDistances:
    """Return the stack distances of the run's lookups, which serve LRU caches of every size."""
    return stack_distances([*_ids(s, file)])


def _rows_by_memory(s: Scenario, cache_rows: tuple[float, float], file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return (N, LEVELS) unique rows by the memory that holds them."""
    recent_rows, find = _recent_rows(s, file), row_finder(s, cache_rows, bool(shared_source(s, file=file).digest))
    rows_by_level = (find(n, tally_batch(recent_rows, ids)[0], ids) for n, ids in enumerate(_ids(s, file)))
    return _collect_amounts(LEVELS, rows_by_level, "found the rows of", on_progress).T


def _popular(s: Scenario, rows: float, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return (2, N) the share of samples with hot rows alone, and their share of lookups."""
    batches = shared_source(s, file=file)
    hot = hot_set(s, rows, batches)
    shares = (popular_shares_counted(hot, ids, batches.starts(n)) for n, ids in enumerate(_ids(s, file)))
    return _collect_amounts(2, shares, "counted popular samples of", on_progress)


@remember_amounts
def _replicated(s: Scenario, rows: float, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return (3, N) shares of lookups and pooled vectors on replicated rows, and those rows' number."""
    batches = shared_source(s, file=file)
    hot = hot_set(s, rows, batches)
    shares = (hot_shares(hot, ids, batches.starts(n)) for n, ids in enumerate(_ids(s, file)))
    return _collect_amounts(3, shares, "counted replicated rows of", on_progress)


@remember_amounts
def _repeated_lookups(s: Scenario, room: float, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return (1, N) lookups that come back to a row for which near-data logic had no place."""
    return _collect_amounts(1, ((counted_repeats(ids, room),) for ids in _ids(s, file)), "counted repeated rows of", on_progress)


@remember_amounts
def _rows_by_gpu(s: Scenario, room: float, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return (2, N) unique rows of each GPU's own samples, summed over the GPUs; those that come again without room."""
    batches, rows_of = shared_source(s, file=file), gpu_rows(s)
    rows = (rows_of(ids, batches.starts(n)) for n, ids in enumerate(_ids(s, file)))
    counts = ((len(gpu_row_ids), counted_repeats(gpu_row_ids, room)) for gpu_row_ids in rows)
    return _collect_amounts(2, counts, "counted rows by GPU of", on_progress)


@remember_amounts
def _lines(s: Scenario, medium: LineCache, *, file: Recording | None, on_progress: OnProgress) -> Floats:
    """Return (3, N) lines that a medium's own cache fetches, returns and fetches again."""
    line_counts = counted_lines(s, medium, shared_source(s, file=file), num_batches(s, file))
    return _collect_amounts(3, line_counts, "followed the medium's cache through", on_progress)


def row_finder(s: Scenario, cache_rows: tuple[float, float], recorded: bool) -> Finder:
    """Return a function that counts the rows of successive batches by memory.

    `cache_rows` are the capacities in rows of the caches in DRAM and in SCM. If the batches are `recorded` in a file, the
    popularity is not known, so the caches are empty at first.
    """
    dense = placement(s, cache_rows[0] * row_bytes(s))
    first_rows, cached_tables, caches = offsets(s.model), tuple(sorted(dense.below_dram)), no_rows(cache_rows)
    guess_levels = (
        warm_guess(s, cached_tables, stay_lookups(s, cached_tables, cache_rows))
        if cached_tables and s.policy.warm_caches and not recorded
        else lambda _, new_rows: np.full(len(new_rows), LEVELS - 2)
    )

    def find(n: int, unique: Ints, ids: Ints) -> Floats:
        nonlocal caches
        layout = table_ends(ids, first_rows)
        cached_ids = np.concatenate([ids[layout[t] : layout[t + 1]] for t in cached_tables]) if cached_tables else ids[:0]
        caches, row_counts = ensure_slots(caches, len(cached_ids)), np.zeros(LEVELS - 1, dtype=np.int64)
        new_rows = serve_batch(*caches, cached_ids, row_counts)
        row_counts += np.bincount(guess_levels(n, new_rows), minlength=LEVELS - 1)
        return np.concatenate(([unique[list(dense.dram)].sum()], row_counts))

    return find
