"""Lines of a medium with a cache: each holds several rows of one table, so whoever needs a row brings its neighbours too.

The generator numbers rows by popularity, which no memory knows: rows lie in their table's lines in an order mixed by a hash, and
a line's neighbours are any rows. So the chance that none of a line's rows is used is the mean chance of the table's rows, to the
power of the rows in a line. All rows that a batch looks up are updated by its end: a line that goes is always a changed one.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..core.arrays import Index, Ints
from ..core.hashing import GOLDEN, Purpose, stream
from ..core.jit import entry, inner
from ..hardware.line_cache import LineCache
from ..scenario.scenario import Scenario, per_table
from ..systems.row_kinds import kind_bytes
from ..workload.accesses import lookups
from ..workload.batch import offsets
from ..workload.expected import HALVINGS, gap_rate, unused
from ..workload.popularity import Popularity, alike, popularities
from ..workload.source import Source
from ..workload.spectrum import spectrum
from .inclusive_lru import no_rows, serve
from .row_index import with_room
from .warm_start import before

# From batch number, rows that it uses and their lines, by line, to how many of these lines the cache held before the run.
Known = Callable[[int, Ints, Ints], int]
ODD, MORE_ODD = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class LineMoves(NamedTuple):
    """Lines that a batch brings in, changed ones that these push out, and those brought in again for its log or its update."""

    fetched: float
    returned: float
    refetched: float


class Packing(NamedTuple):
    """How rows lie in lines: the whole `rows` of each table that a line holds, (T,), and the `pieces` of larger rows, (T,).

    A piece is so many `lines`: all of a row's where each row has as many, else one. The cache has `room` for so many pieces.
    """

    rows: Ints
    pieces: Ints
    lines: float
    room: int


def packing(s: Scenario, cache: LineCache) -> Packing:
    """Return how the rows of the tables lie in the lines of a cache."""
    sizes = kind_bytes(s, "row")
    rows, lines = (np.maximum(1, count).astype(np.int64) for count in (cache.nbytes // sizes, -(-sizes // cache.nbytes)))
    each = int(lines[0]) if (lines == lines[0]).all() else 1
    return Packing(rows, lines // each, float(each), max(1, cache.lines // each))


def expected_lines(s: Scenario, cache: LineCache) -> LineMoves:
    """Return what to expect of a steady batch: by Che's approximation, each line stays for the same time after its last use."""
    rows, pieces, lines, room = packing(s, cache)
    used, batch = _used(s, rows, pieces), float(lookups(s).sum())
    if room >= used(np.inf):
        return LineMoves(0.0, 0.0, 0.0)
    time = _stay(used, room)
    fetched = lines * (used(time + batch) - used(time))
    return LineMoves(fetched, fetched, lines * max(used(batch) - room, 0.0))


def counted_lines(s: Scenario, cache: LineCache, given: Source, batches: int) -> Iterator[LineMoves]:
    """Yield what each batch of a run moves: each of its lines is looked for once, when the batch begins."""
    rows, pieces, lines, room = packing(s, cache)
    tables, held, full = offsets(s.model), no_rows((room,)), 0
    first = np.concatenate(([0], np.cumsum(-(-np.diff(tables) // rows) * pieces)))
    warm = s.policy.warm_caches and not given.digest
    known = _known(s, rows, pieces, room) if warm else lambda n, ids, line: 0
    for n in range(batches):
        ids = np.unique(given.ids(n))
        ids, line = in_pieces(ids, lines_of(ids, tables, first, rows, pieces), tables, pieces)
        touched = np.unique(line)
        held, found = with_room(held, len(touched)), np.zeros(2, dtype=np.int64)
        fresh = serve(*held, touched, found)
        come = int(found[1]) + len(fresh) - known(n, *_first_used(ids, line, fresh))
        more, full = min(room - full, come), min(room, full + come)
        gone = come if warm else come - more
        yield LineMoves(lines * come, lines * gone, lines * max(len(touched) - room, 0))


def _first_used(ids: Ints, line: Ints, fresh: Ints) -> tuple[Ints, Ints]:
    """Return the rows that lie in lines never used before, and their lines, by line."""
    mine = np.flatnonzero(np.isin(line, fresh))
    order = mine[np.argsort(line[mine], kind="stable")]
    return ids[order], line[order]


def in_pieces(ids: Ints, line: Ints, tables: Ints, pieces: Ints) -> tuple[Ints, Ints]:
    """Return sorted rows and their lines, each row once for each of its table's `pieces`, (T,); lines are the first of a row."""
    if (pieces == 1).all():
        return ids, line
    many = pieces[np.searchsorted(tables, ids, side="right") - 1]
    start = np.cumsum(many) - many
    return np.repeat(ids, many), np.repeat(line - start, many) + np.arange(many.sum())


def _used(s: Scenario, rows: Ints, pieces: Ints) -> Callable[[float], float]:
    """Return what tells how many lines, or pieces, are expected to be used during so many lookups over all tables."""
    every, total = alike(s), sum(per_table(s.model, "pooling"))
    kinds = Counter[tuple[int, int]]()
    for key, many in zip(zip(every.kind.tolist(), rows.tolist(), strict=True), pieces.tolist(), strict=True):
        kinds[key] += many

    def of_tables_like(law: Popularity, share: float, in_line: int, time: float) -> float:
        each = _rows_in_line(law, in_line)
        return -law.rows / each * float(np.expm1(each * _log_unused(s, law, share / total, time)))

    return lambda time: sum(
        many * of_tables_like(every.laws[kind], every.pooling[kind], in_line, time) for (kind, in_line), many in kinds.items()
    )


def _rows_in_line(law: Popularity, rows: int) -> float:
    """Return the mean rows of a table's lines, of which the last may not be full."""
    return law.rows / -(-law.rows // rows)


def _log_unused(s: Scenario, law: Popularity, weight: float, time: float) -> float:
    """Return the logarithm of the mean chance that a row of a table, which has some share of all lookups, is not used."""
    part = spectrum(law)
    void = unused(time * gap_rate(weight * part.p), s.data.locality)
    return float(np.log1p(np.maximum(-(part.rows @ (1 - void)) / law.rows, -1 + 1e-16)))


def _stay(used: Callable[[float], float], room: int) -> float:
    """Return the lookups for which a line stays that is not used: in them as many are used as the cache holds."""
    if room >= used(np.inf):
        return np.inf
    low, high = -50.0, 80.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if used(float(np.exp(middle))) < room else (low, middle)
    return float(np.exp(high))


def _known(s: Scenario, rows: Ints, pieces: Ints, room: int) -> Known:
    """Return what counts the lines that long training has left in the cache, of those first used in batch n.

    One is missing if each of its rows that the batch uses was unused for as long as lines stay (`warm_start`), and so were those
    that it does not use.
    """
    time, batch = _stay(_used(s, rows, pieces), room), float(lookups(s).sum())
    tables, first = range(s.model.num_tables), offsets(s.model)
    row_found, laws, pooling = before(s, tables, (time,)), popularities(s), per_table(s.model, "pooling")
    in_line = np.array([_rows_in_line(law, each) for law, each in zip(laws, rows.tolist(), strict=True)])

    def log_missing(t: int, since: float) -> float:
        longer, so_far = (_log_unused(s, laws[t], pooling[t] / sum(pooling), x + batch) for x in (time, since))
        return min(0.0, longer - so_far)

    def known(n: int, ids: Ints, line: Ints) -> int:
        lines, start, uses = np.unique(line, return_index=True, return_counts=True)
        if not len(lines):
            return 0
        missing = np.minimum.reduceat(row_found(n, ids), start) > 0
        table = np.searchsorted(first, ids[start], side="right") - 1
        others = np.array([log_missing(t, n * batch) for t in tables])[table] * np.maximum(in_line[table] - uses, 0)
        missing &= stream(s.data.seed, Purpose.LINES, n).random(len(lines)) < np.exp(others)
        return len(lines) - int(missing.sum())

    return known


@entry
def lines_of(ids: Ints, tables: Ints, first: Ints, rows: Ints, pieces: Ints) -> Ints:
    """Return the line of each of some sorted rows, or its first piece; tables start at rows `tables` and at lines `first`.

    `rows` are those that a line of each table holds, (T,), and `pieces` those of a row.
    """
    found, table = np.empty_like(ids), 0
    for i in range(len(ids)):
        while ids[i] >= tables[table + 1]:
            table += 1
        place = _place(ids[i] - tables[table], tables[table + 1] - tables[table])
        found[i] = first[table] + place // rows[table] * pieces[table]
    return found


@inner
def _place(row: Index, rows: Index) -> Index:
    """Return where a row of a table lies: each at its own place, in an order that has nothing to do with its number."""
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
