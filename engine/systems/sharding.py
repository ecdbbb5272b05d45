"""Sharding: the assignment of tables' rows and columns to the parts of a machine.

A part is a GPU, a host, an embedding server or a memory module. Parts are in groups: the GPUs of a node, or the modules of an
expander. A plan cuts each table into pieces, which are ranges of its columns. It gives each piece to one part, or spreads the
rows of the piece over several parts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import NamedTuple

import numpy as np

from ..core import figures
from ..core.arrays import Floats, Ints
from ..core.jit import entry_kernel
from ..errors import BadKnob
from ..registry import load_variant
from ..workload.row_spread import Spreads


class Parts(NamedTuple):
    """The number of parts, and of parts in each group but perhaps the last."""

    number: int
    group_size: int

    @property
    def group(self) -> Ints:
        """Return the number of each part's group, (P,)."""
        return np.arange(self.number) // self.group_size

    @property
    def group_sizes(self) -> Ints:
        """Return the size of each part's group, (P,)."""
        group = self.group
        return np.bincount(group)[group].astype(np.int64)

    @property
    def groups(self) -> int:
        """The number of groups."""
        return ceil(self.number / self.group_size)


@dataclass(frozen=True, eq=False)
class Pieces:
    """A plan as arrays over its pieces, (N,), in the order of their tables.

    table: the table of each piece.
    width: the columns of each piece, as a share of its table's columns.
    place: the part that has the piece, or ~k if its rows are spread over the parts of `runs[k]`.
    runs: lists of parts. A part that stands twice in a run has two shares of the rows.
    Plans of equal bytes are equal.
    """

    table: Ints
    width: Floats
    place: Ints
    runs: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def _bytes(self) -> tuple[bytes | tuple[int, ...], ...]:
        return (self.table.tobytes(), self.width.tobytes(), self.place.tobytes(), *self.runs)

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __eq__(self, plan: object) -> bool:
        return isinstance(plan, Pieces) and self._bytes == plan._bytes


MAX_DIGITS, MAX_SHARES = 18, 65_536  # digits of a run of parts; shares of a table's rows
MIN_COLUMNS = 32  # columns of a range: torchrec's planner cuts no finer


class PlanRequest(NamedTuple):
    """The tables that a plan must divide, with their loads, and the parts' memory.

    parts: the parts of the machine.
    seconds: seconds that one part takes for each whole table, (T,).
    nbytes: bytes of each table in each memory, (M, T).
    columns: columns of each table, (T,).
    rooms: bytes of memory that a room has, for each memory, (M,); a room is memory that one or several parts share.
    sharing: number of parts that share a room, for each memory, (M,).
    slowest: function from a plan and a limit to the seconds of the plan's slowest parts; infinity if they exceed the limit.
    """

    parts: Parts
    seconds: Floats
    nbytes: Floats
    columns: Ints
    rooms: tuple[float, ...]
    sharing: tuple[int, ...]
    slowest: Callable[[Pieces, float], float]

    @property
    def tables(self) -> int:
        """The number of tables."""
        return len(self.seconds)

    def fits(self, pieces: Pieces) -> bool:
        """Return whether the pieces of a plan fit the memory of every part."""
        held_bytes = spread_amounts(pieces, self.nbytes, self.parts.number)
        memories = zip(held_bytes, self.rooms, self.sharing, strict=True)
        return all(bool(filled(part_bytes, sharing).max() <= room) for part_bytes, room, sharing in memories)

    def ranges(self, max_ranges: int) -> Ints:
        """Return into how many column ranges each table can be cut, (T,), up to `max_ranges`."""
        return np.maximum(1, np.minimum(max_ranges, self.columns // MIN_COLUMNS)).astype(np.int64)


@dataclass(frozen=True)
class Sharding:
    """A way of sharding.

    title, summary: texts for readers.
    pieces: function from a request to a plan; None means that all parts have an equal share of all tables.
    """

    title: str
    summary: str
    pieces: Callable[[PlanRequest], Pieces | None]


class Shares(NamedTuple):
    """Shares of pieces: the parts over which the rows of each piece are spread.

    owner: the part of each share.
    first_share: for each piece, the index of its first share in `owner`, (N,).
    share_count: for each piece, the number of its shares, (N,).
    """

    owner: Ints
    first_share: Ints
    share_count: Ints


def shares(place: Ints, runs: Sequence[Sequence[int]], parts: int) -> Shares:
    """Return the shares of pieces at the places `place`, (N,), of a plan with `runs`.

    `owner` begins with the numbers of all `parts`, and then has the parts of each run.
    """
    sizes = np.array([1, *map(len, runs)])
    run_starts, run = np.cumsum(np.array([parts, *sizes[1:]])) - sizes, np.maximum(~place, -1) + 1
    run_starts[0] = 0
    return Shares(np.concatenate([np.arange(parts), *runs]), run_starts[run] + np.maximum(place, 0), sizes[run])


def spread_amounts(pieces: Pieces, amounts: Floats, parts: int) -> Floats:
    """Return each part's amounts, (A, P), from each table's amounts, (A, T).

    A table's amount is spread evenly over its rows and columns.
    """
    part_amounts = np.zeros((len(amounts), parts))
    _spread(pieces.table, pieces.width, shares(pieces.place, pieces.runs, parts), amounts, part_amounts)
    return part_amounts


@entry_kernel
def _spread(table: Ints, width: Floats, piece_shares: Shares, amounts: Floats, part_amounts: Floats) -> None:
    for piece in range(len(table)):
        for row in range(len(amounts)):
            share_amount = amounts[row, table[piece]] * width[piece] / piece_shares.share_count[piece]
            for share in range(
                piece_shares.first_share[piece], piece_shares.first_share[piece] + piece_shares.share_count[piece]
            ):
                part_amounts[row, piece_shares.owner[share]] += share_amount


def filled(part_bytes: Floats, sharing: int) -> Floats:
    """Return the bytes in each room, of which `sharing` parts share one.

    `part_bytes` are the bytes of each part, (P,). The first `sharing` parts share the first room, and so on.
    """
    return part_bytes if sharing == 1 else np.bincount(np.arange(len(part_bytes)) // sharing, part_bytes).astype(np.float64)


def weight_widths(pieces: Pieces, weights: Floats) -> tuple[Pieces, float]:
    """Return pieces with widths weighted by table, and the first table's weight.

    A piece's width is multiplied by its table's weight over the first table's weight; `weights` has a weight for each table,
    (T,).
    """
    return replace(pieces, width=pieces.width * weights[pieces.table] / weights[0]), float(weights[0])


def make_plan(name: str, request: PlanRequest) -> Pieces | None:
    """Return the plan of the way of sharding called `name`; None for equal shares."""
    way: Sharding = load_variant("plans", name)
    return way.pieces(request)


def plan_over_runs(
    runs: Sequence[tuple[int, ...]], run_index: Ints, table: Ints | None = None, width: Floats | None = None
) -> Pieces:
    """Return the plan whose pieces lie on the parts of `runs[run_index]`, (N,).

    `table` and `width` are as in Pieces; by default, each piece is a whole table. No two runs are the same.
    """
    run_places = {run: ~number for number, run in enumerate(run for run in runs if len(run) > 1)}
    places = np.array([run_places[run] if run in run_places else run[0] for run in runs])
    tables = np.arange(len(run_index)) if table is None else table
    return Pieces(tables, np.ones(len(run_index)) if width is None else width, places[run_index], tuple(run_places))


def parse_plan(text: str, tables: int, count: int) -> Pieces:
    """Return the plan of a text, for `tables` tables over `count` parts; raises BadKnob.

    The text has an entry for each table, with ";" between entries, or one entry for all tables. An entry is the part that has
    the table, as in "3". "0+2+5" or "0-7" spreads the table's rows over several parts. "/" stands between ranges of columns, as
    in "0/1" or "0-3/4-7".
    """
    entries = [part.strip() for part in text.split(";")]
    if len(entries) not in (1, tables):
        raise BadKnob(
            f"policy.plan has {figures.count(len(entries), 'entry')} for {figures.count(tables, 'table')}; give one "
            f"entry, or {tables} separated by ';'."
        )
    entry_runs = {
        text_entry: [_parts(run, text_entry, count) for run in text_entry.split("/")] for text_entry in dict.fromkeys(entries)
    }
    table_runs = [entry_runs[text_entry] for text_entry in entries] * (tables // len(entries))
    ranges = np.array([len(runs) for runs in table_runs])
    number = {run: index for index, run in enumerate(dict.fromkeys(run for runs in entry_runs.values() for run in runs))}
    run_index = np.array([number[run] for runs in table_runs for run in runs])
    return plan_over_runs(tuple(number), run_index, np.repeat(np.arange(tables), ranges), np.repeat(1 / ranges, ranges))


def _parts(text: str, text_entry: str, count: int) -> tuple[int, ...]:
    """Return the part numbers of one range of columns; raises BadKnob."""
    part_numbers: list[int] = []
    for run in text.split("+"):
        first_word, _, last_word = (word.strip() for word in run.partition("-"))
        if not (first_word.isdecimal() and (last_word or first_word).isdecimal() and len(first_word + last_word) <= MAX_DIGITS):
            raise BadKnob(
                f"policy.plan has the entry {text_entry[:40]!r}, which cannot be read; write 3 for a whole table, 0-7 or 0+2 "
                "for rows over several parts, 0/1 for columns."
            )
        low, high = int(first_word), int(last_word or first_word)
        if not low <= high < count:
            raise BadKnob(f"policy.plan names part {max(low, high)}, but the parts are numbered 0 to {count - 1}.")
        part_numbers += range(low, high + 1)
        if len(part_numbers) > MAX_SHARES:
            raise BadKnob(
                f"policy.plan has the entry {text_entry[:40]!r} with more than {figures.count(MAX_SHARES)} shares; name fewer "
                "parts."
            )
    return tuple(part_numbers)


def distinct_pieces(pieces: Pieces) -> tuple[Floats, Ints]:
    """Return the summed width and the place of each distinct kind of piece.

    Pieces of one kind have equal widths and places. The kinds are in the order of their first piece.
    """
    kind = np.unique(pieces.width, return_inverse=True)[1]
    lowest = len(pieces.runs)
    key = (kind * (int(pieces.place.max()) + lowest + 1) + pieces.place + lowest)[::-1]
    times, first_index = np.bincount(key), np.zeros(int(key.max()) + 1, dtype=np.int64)
    first_index[key] = np.arange(len(key))[::-1]  # the last assignment holds: the first index
    positions = np.sort(first_index[times > 0])
    return times[key[::-1][positions]] * pieces.width[positions], pieces.place[positions]


def loaded(batch: Spreads, pieces: Pieces, parts: int, weight: Floats | None = None) -> Floats:
    """Return lookups, unique rows and indices of each part, (3, P).

    Lookups and unique rows of each table are multiplied by `weight`, (2, T), if it is given.
    """
    weight = np.ones((2, batch.table_demand.shape[1])) if weight is None else weight
    piece_shares, part_loads = shares(pieces.place, pieces.runs, parts), np.zeros((3, parts))
    offsets, spread_loads, length = np.zeros_like(piece_shares.first_share), [np.zeros(0)], 0
    for count in sorted({len(run) for run in pieces.runs}):
        in_run = piece_shares.share_count == count
        spread_loads.append(batch.spread_over(count, pieces.table[in_run]).reshape(-1))
        offsets[in_run] = length + pieces.table[in_run] * 2 * count
        length += len(spread_loads[-1])
    joined = spread_loads[-1] if len(spread_loads) <= 2 else np.concatenate(spread_loads)
    _load(pieces.table, pieces.width, piece_shares, batch.table_demand, weight, joined, offsets, part_loads)
    return part_loads


@entry_kernel
def _load(
    table: Ints,
    width: Floats,
    piece_shares: Shares,
    tables: Floats,
    weight: Floats,
    spread_loads: Floats,
    offsets: Ints,
    part_loads: Floats,
) -> None:
    for piece in range(len(table)):
        first_share, share_count = piece_shares.first_share[piece], piece_shares.share_count[piece]
        for share in range(share_count):
            lookups, rows = tables[0, table[piece]], tables[1, table[piece]]
            if share_count > 1:
                lookups, rows = spread_loads[offsets[piece] + share], spread_loads[offsets[piece] + share_count + share]
            part = piece_shares.owner[first_share + share]
            part_loads[0, part] += width[piece] * lookups * weight[0, table[piece]]
            part_loads[1, part] += width[piece] * rows * weight[1, table[piece]]
            part_loads[2, part] += lookups
