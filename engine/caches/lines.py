"""The cache of a medium, whose lines each hold several rows of one table.

A fetched row brings the other rows of its line with it. The generator numbers rows by popularity, which a real memory does not
know. So rows lie in the lines of their table in an order mixed by a hash, and the rows of a line are a random choice. So the
chance that no row of a line is used is the mean chance that a row of the table is not used, to the power of the number of rows
in a line. All rows that a batch looks up are updated by its end, so every evicted line has changed.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..core.arithmetic import total
from ..core.arrays import Index, Ints
from ..core.hashing import GOLDEN, Purpose, stream
from ..core.jit import entry_kernel, inner_kernel
from ..core.memo import point_by_point
from ..hardware.line_cache import LineCache
from ..scenario.scenario import Scenario, per_table
from ..systems.row_kinds import kind_bytes
from ..workload.accesses import table_lookups, without_repeats
from ..workload.batch import offsets
from ..workload.expected import HALVINGS, gap_rate, unused_chance
from ..workload.popularity import Popularity, popularities, table_kinds
from ..workload.source import Source
from ..workload.spectrum import spectrum
from .inclusive_lru import no_rows, serve_batch
from .row_index import ensure_slots
from .warm_start import warm_guess

# (batch number, its rows, their lines; sorted by line) -> how many of these lines the cache held before the run.
WarmLineCount = Callable[[int, Ints, Ints], int]
ODD, MORE_ODD = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class LineTraffic(NamedTuple):
    """Lines that one batch moves between a medium and its cache.

    missed_lines: lines that are fetched when the batch begins.
    written_back_lines: changed lines that fetched lines evict.
    refetched_lines: lines fetched again for the batch's log or update.
    """

    missed_lines: float
    written_back_lines: float
    refetched_lines: float


class Packing(NamedTuple):
    """The layout of rows in lines.

    rows: whole rows of each table in a line, (T,).
    pieces: pieces of each row that is larger than a line, (T,).
    lines: lines of a piece: all lines of a row if the rows of all tables have equally many, else 1.
    capacity: capacity of the cache in pieces.
    """

    rows: Ints
    pieces: Ints
    lines: float
    capacity: int


def packing(s: Scenario, cache: LineCache) -> Packing:
    """Return the layout of the rows of all tables in the lines of a cache."""
    sizes = kind_bytes(s, "row")
    rows, lines = (np.maximum(1, count).astype(np.int64) for count in (cache.nbytes // sizes, -(-sizes // cache.nbytes)))
    piece_lines = int(lines[0]) if (lines == lines[0]).all() else 1
    return Packing(rows, lines // piece_lines, float(piece_lines), max(1, cache.lines // piece_lines))


@point_by_point
def expected_lines(s: Scenario, cache: LineCache) -> LineTraffic:
    """Return the expected line traffic of a batch in steady state.

    By Che's approximation, each line stays in the cache for the same time after its last use.
    """
    rows, pieces, lines, room = packing(s, cache)
    distinct = without_repeats(s)
    expected_used, batch = _expected_used(distinct, rows, pieces), float(table_lookups(distinct).sum())
    if room >= expected_used(np.inf):
        return LineTraffic(0.0, 0.0, 0.0)
    time = _stay(expected_used, room)
    fetched = lines * (expected_used(time + batch) - expected_used(time))
    return LineTraffic(fetched, fetched, lines * max(expected_used(batch) - room, 0.0))


def counted_lines(s: Scenario, cache: LineCache, source: Source, batches: int) -> Iterator[LineTraffic]:
    """Yield the line traffic of each batch of a run, counted from its ids.

    Each line of a batch is looked up once, when the batch begins.
    """
    rows, pieces, lines, room = packing(s, cache)
    tables, line_cache, occupied = offsets(s.model), no_rows((room,)), 0
    first_lines = np.concatenate(([0], np.cumsum(-(-np.diff(tables) // rows) * pieces)))
    warm = s.policy.warm_caches and not source.digest
    count_warm_lines = _warm_line_counter(s, rows, pieces, room) if warm else lambda n, ids, line: 0
    for n in range(batches):
        ids = np.unique(source.ids(n))
        ids, line = in_pieces(ids, lines_of(ids, tables, first_lines, rows, pieces), tables, pieces)
        unique_lines = np.unique(line)
        line_cache, hits_by_memory = ensure_slots(line_cache, len(unique_lines)), np.zeros(2, dtype=np.int64)
        new_lines = serve_batch(*line_cache, unique_lines, hits_by_memory)
        fetched = int(hits_by_memory[1]) + len(new_lines) - count_warm_lines(n, *_first_used(ids, line, new_lines))
        filling, occupied = min(room - occupied, fetched), min(room, occupied + fetched)
        evicted = fetched if warm else fetched - filling
        yield LineTraffic(lines * fetched, lines * evicted, lines * max(len(unique_lines) - room, 0))


def _first_used(ids: Ints, line: Ints, new_lines: Ints) -> tuple[Ints, Ints]:
    """Return the rows that lie in lines never used before, and their lines, sorted by line."""
    positions = np.flatnonzero(np.isin(line, new_lines))
    order = positions[np.argsort(line[positions], kind="stable")]
    return ids[order], line[order]


def in_pieces(ids: Ints, line: Ints, tables: Ints, pieces: Ints) -> tuple[Ints, Ints]:
    """Return sorted rows, each repeated for each of its pieces, and these pieces.

    `line` has the first piece of each row, `pieces` the number of pieces of a row of each table, (T,).
    """
    if (pieces == 1).all():
        return ids, line
    repeats = pieces[np.searchsorted(tables, ids, side="right") - 1]
    start = np.cumsum(repeats) - repeats
    return np.repeat(ids, repeats), np.repeat(line - start, repeats) + np.arange(repeats.sum())


def _expected_used(s: Scenario, rows: Ints, pieces: Ints) -> Callable[[float], float]:
    """Return a function from lookups over all tables to expected used lines or pieces."""
    table_groups, all_lookups = table_kinds(s), total(per_table(s.model, "pooling"))
    kinds = Counter[tuple[int, int]]()
    for key, piece_count in zip(
        zip(table_groups.kind_of_table.tolist(), rows.tolist(), strict=True), pieces.tolist(), strict=True
    ):
        kinds[key] += piece_count

    def of_tables_like(law: Popularity, share: float, in_line: int, time: float) -> float:
        rows_per_line = _rows_in_line(law, in_line)
        return -law.rows / rows_per_line * float(np.expm1(rows_per_line * _log_unused(s, law, share / all_lookups, time)))

    return lambda time: total(
        piece_count * of_tables_like(table_groups.laws[kind], table_groups.pooling[kind], in_line, time)
        for (kind, in_line), piece_count in kinds.items()
    )


def _rows_in_line(law: Popularity, rows: int) -> float:
    """Return the mean rows of a table's lines, of which the last may not be full."""
    return law.rows / -(-law.rows // rows)


def _log_unused(s: Scenario, law: Popularity, weight: float, time: float) -> float:
    """Return the logarithm of the mean chance that a table's row is not used.

    `weight`: the table's share of all lookups.
    """
    part = spectrum(law)
    void = unused_chance(time * gap_rate(weight * part.p), s.data.locality)
    return float(np.log1p(np.maximum(-(part.rows @ (1 - void)) / law.rows, -1 + 1e-16)))


def _stay(expected_used: Callable[[float], float], room: int) -> float:
    """Return for how many lookups an unused line stays.

    During these lookups, as many lines are used as the cache holds.
    """
    if room >= expected_used(np.inf):
        return np.inf
    low, high = -50.0, 80.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_used(float(np.exp(middle))) < room else (low, middle)
    return float(np.exp(high))


def _warm_line_counter(s: Scenario, rows: Ints, pieces: Ints, room: int) -> WarmLineCount:
    """Return a counter of first used lines that long training left in the cache.

    It counts for batch n. A line is missing if each of its rows that the batch uses was unused for as long as lines stay
    (`warm_start`), and so were its other rows.
    """
    distinct = without_repeats(s)
    time, batch = _stay(_expected_used(distinct, rows, pieces), room), float(table_lookups(distinct).sum())
    tables, table_offsets = range(s.model.num_tables), offsets(s.model)
    row_found, laws, pooling = warm_guess(s, tables, (time,)), popularities(s), per_table(distinct.model, "pooling")
    in_line = np.array([_rows_in_line(law, line_rows) for law, line_rows in zip(laws, rows.tolist(), strict=True)])

    def log_missing(t: int, idle_lookups: float) -> float:
        longer, so_far = (_log_unused(s, laws[t], pooling[t] / total(pooling), x + batch) for x in (time, idle_lookups))
        return min(0.0, longer - so_far)

    def count_warm_lines(n: int, ids: Ints, line: Ints) -> int:
        lines, start, uses = np.unique(line, return_index=True, return_counts=True)
        if not len(lines):
            return 0
        absent = np.minimum.reduceat(row_found(n, ids), start) > 0
        table = np.searchsorted(table_offsets, ids[start], side="right") - 1
        log_unused_rest = np.array([log_missing(t, n * batch) for t in tables])[table] * np.maximum(in_line[table] - uses, 0)
        absent &= stream(s.data.seed, Purpose.LINES, n).random(len(lines)) < np.exp(log_unused_rest)
        return len(lines) - int(absent.sum())

    return count_warm_lines


@entry_kernel
def lines_of(ids: Ints, tables: Ints, first_lines: Ints, rows: Ints, pieces: Ints) -> Ints:
    """Return the line of each sorted row, or the row's first piece.

    tables, first_lines: the row number and the line number at which each table begins.
    rows, pieces: rows of each table in a line, and pieces of a row, (T,).
    """
    lines, table = np.empty_like(ids), 0
    for i in range(len(ids)):
        while ids[i] >= tables[table + 1]:
            table += 1
        place = _place(ids[i] - tables[table], tables[table + 1] - tables[table])
        lines[i] = first_lines[table] + place // rows[table] * pieces[table]
    return lines


@inner_kernel
def _place(row: Index, rows: Index) -> Index:
    """Return the position of a row in its table, by a hash permutation."""
    bits = 1
    while rows > 1 << bits:
        bits += 1
    mask, half = np.uint64((1 << bits) - 1), np.uint64((bits + 1) // 2)
    word = np.uint64(row)
    while True:
        word = (word + GOLDEN) & mask
        for odd in (ODD, MORE_ODD):
            word = ((word ^ (word >> half)) * odd) & mask
        word ^= word >> half
        if word < np.uint64(rows):
            return np.int64(word)
