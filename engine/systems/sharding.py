"""Sharding: which part of a machine has which rows and columns of which table.

A part is a GPU, a host, an embedding server or a memory module, and parts stand in groups: the GPUs of a node, the modules of
an expander. A plan cuts each table into pieces, ranges of its columns, and gives each piece to one part, or its rows to several.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import NamedTuple

import numpy as np

from ..core import figures
from ..core.arrays import Floats, Ints
from ..core.jit import entry
from ..errors import BadKnob
from ..registry import load
from ..workload.row_spread import Spreads


class Parts(NamedTuple):
    """How many parts, and how many of them stand in each group but perhaps the last."""

    number: int
    inside: int

    @property
    def group(self) -> Ints:
        """Return the group of each part, (P,)."""
        return np.arange(self.number) // self.inside

    @property
    def beside(self) -> Ints:
        """Return how many parts the group of each part has, (P,)."""
        group = self.group
        return np.bincount(group)[group].astype(np.int64)

    @property
    def groups(self) -> int:
        """The number of groups."""
        return ceil(self.number / self.inside)


@dataclass(frozen=True, eq=False)
class Pieces:
    """A plan as arrays over its pieces, in the order of tables, (N,): the `table` of each, the `width` of its columns as a share
    of all, and its `place`: the part that has it, or ~k where its rows are spread over the parts of `runs[k]`.

    A part that a run names twice has two shares. Plans of the same bytes are equal.
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pieces) and self._bytes == other._bytes


LONGEST, SHARES = 18, 65_536  # digits of a run of parts; shares of a table's rows
LEAST = 32  # columns of a range: torchrec's planner cuts no finer


class Wanted(NamedTuple):
    """What a plan is made for: parts, and for each table its seconds on one part alone, its bytes and the columns of a row, (T,).

    `nbytes` (M, T) are by memory, of which each has `rooms` (M,) of so many bytes, one for every `sharing` (M,) parts;
    `slowest` says how long a plan's slowest parts take, in seconds, or infinity where certainly longer than so many.
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
        """Return whether every part has room for what a plan gives it."""
        held = spread(pieces, self.nbytes, self.parts.number)
        each = zip(held, self.rooms, self.sharing, strict=True)
        return all(bool(filled(one, sharing).max() <= room) for one, room, sharing in each)

    def ranges(self, most: int) -> Ints:
        """Return into how many ranges of columns each table can be cut, (T,), `most` of them at most."""
        return np.maximum(1, np.minimum(most, self.columns // LEAST)).astype(np.int64)


@dataclass(frozen=True)
class Sharding:
    """A way to make plans; `pieces` returns none where all parts simply have an even share of everything."""

    title: str
    summary: str
    pieces: Callable[[Wanted], Pieces | None]


class Shares(NamedTuple):
    """Who has pieces of certain places, (N,): the `owner` of each share, of which a piece has so `many`, from its `first` on.

    A share is one of those over which a piece's rows are spread.
    """

    owner: Ints
    first: Ints
    many: Ints


def shares(place: Ints, runs: Sequence[Sequence[int]], parts: int) -> Shares:
    """Return the shares of pieces at such places: first of all owners are the `parts` themselves, then those of each run."""
    sizes = np.array([1, *map(len, runs)])
    begin, run = np.cumsum(np.array([parts, *sizes[1:]])) - sizes, np.maximum(~place, -1) + 1
    begin[0] = 0
    return Shares(np.concatenate([np.arange(parts), *runs]), begin[run] + np.maximum(place, 0), sizes[run])


def spread(pieces: Pieces, amounts: Floats, parts: int) -> Floats:
    """Return what each part has, (A, P), of the tables' amounts, (A, T), each over its rows and columns alike."""
    found = np.zeros((len(amounts), parts))
    _spread(pieces.table, pieces.width, shares(pieces.place, pieces.runs, parts), amounts, found)
    return found


@entry
def _spread(table: Ints, width: Floats, of: Shares, amounts: Floats, found: Floats) -> None:
    for piece in range(len(table)):
        for row in range(len(amounts)):
            each = amounts[row, table[piece]] * width[piece] / of.many[piece]
            for share in range(of.first[piece], of.first[piece] + of.many[piece]):
                found[row, of.owner[share]] += each


def filled(held: Floats, sharing: int) -> Floats:
    """Return what each room holds of what its parts do, (P,); `sharing` parts have one."""
    return held if sharing == 1 else np.bincount(np.arange(len(held)) // sharing, held).astype(np.float64)


def weighed(pieces: Pieces, weights: Floats) -> tuple[Pieces, float]:
    """Return pieces whose widths count as many times as their tables weigh, (T,), and the weight of one."""
    return replace(pieces, width=pieces.width * weights[pieces.table] / weights[0]), float(weights[0])


def made(name: str, wanted: Wanted) -> Pieces | None:
    """Return the plan that a way of sharding makes."""
    way: Sharding = load("plans", name)
    return way.pieces(wanted)


def over(runs: Sequence[tuple[int, ...]], which: Ints, table: Ints | None = None, width: Floats | None = None) -> Pieces:
    """Return the plan whose pieces, whole tables if nothing else is said, lie over the `runs` of parts that `which` (N,) names.

    No two runs are the same.
    """
    several = {run: ~number for number, run in enumerate(run for run in runs if len(run) > 1)}
    places = np.array([several[run] if run in several else run[0] for run in runs])
    whole = np.arange(len(which)) if table is None else table
    return Pieces(whole, np.ones(len(which)) if width is None else width, places[which], tuple(several))


def by_hand(text: str, tables: int, count: int) -> Pieces:
    """Read a plan: an entry a table, ";" between tables, one entry for all; raises BadKnob.

    An entry is the part that has the table, as in "3"; "0+2+5" or "0-7" spreads its rows over several parts, and "/" stands
    between ranges of its columns, as in "0/1" or "0-3/4-7".
    """
    entries = [part.strip() for part in text.split(";")]
    if len(entries) not in (1, tables):
        raise BadKnob(f"policy.plan has {len(entries)} entries for {tables} tables; give one, or {tables}, ';' between them.")
    known = {entry: [_parts(run, entry, count) for run in entry.split("/")] for entry in dict.fromkeys(entries)}
    found = [known[entry] for entry in entries] * (tables // len(entries))
    ranges = np.array([len(mine) for mine in found])
    number = {run: at for at, run in enumerate(dict.fromkeys(run for mine in known.values() for run in mine))}
    which = np.array([number[run] for mine in found for run in mine])
    return over(tuple(number), which, np.repeat(np.arange(tables), ranges), np.repeat(1 / ranges, ranges))


def _parts(text: str, entry: str, count: int) -> tuple[int, ...]:
    found: list[int] = []
    for run in text.split("+"):
        first, _, last = (word.strip() for word in run.partition("-"))
        if not (first.isdecimal() and (last or first).isdecimal() and len(first + last) <= LONGEST):
            raise BadKnob(
                f"policy.plan has the entry {entry[:40]!r}; write a part as 3, rows over several as 0-7 or 0+2, columns as 0/1."
            )
        low, high = int(first), int(last or first)
        if not low <= high < count:
            raise BadKnob(f"policy.plan names part {max(low, high)}, but the parts are numbered 0 to {count - 1}.")
        found += range(low, high + 1)
        if len(found) > SHARES:
            raise BadKnob(
                f"policy.plan has the entry {entry[:40]!r} of more than {figures.count(SHARES)} shares; name fewer parts."
            )
    return tuple(found)


def alike(pieces: Pieces) -> tuple[Floats, Ints]:
    """Return of pieces that differ, in the order in which they first occur, the width of all that are like it, and the place."""
    kind = np.unique(pieces.width, return_inverse=True)[1]
    lowest = len(pieces.runs)
    key = (kind * (int(pieces.place.max()) + lowest + 1) + pieces.place + lowest)[::-1]
    times, first = np.bincount(key), np.zeros(int(key.max()) + 1, dtype=np.int64)
    first[key] = np.arange(len(key))[::-1]  # the last to be entered counts
    found = np.sort(first[times > 0])
    return times[key[::-1][found]] * pieces.width[found], pieces.place[found]


def loaded(batch: Spreads, pieces: Pieces, parts: int, weight: Floats | None = None) -> Floats:
    """Return lookups, unique rows and indices of each part, (3, P), the first two times a `weight` by table, (2, T), if given."""
    weight = np.ones((2, batch.tables.shape[1])) if weight is None else weight
    of, found = shares(pieces.place, pieces.runs, parts), np.zeros((3, parts))
    at, every, length = np.zeros_like(of.first), [np.zeros(0)], 0
    for count in sorted({len(run) for run in pieces.runs}):
        mine = of.many == count
        every.append(batch.over(count, pieces.table[mine]).reshape(-1))
        at[mine] = length + pieces.table[mine] * 2 * count
        length += len(every[-1])
    joined = every[-1] if len(every) <= 2 else np.concatenate(every)
    _load(pieces.table, pieces.width, of, batch.tables, weight, joined, at, found)
    return found


@entry
def _load(table: Ints, width: Floats, of: Shares, tables: Floats, weight: Floats, every: Floats, at: Ints, found: Floats) -> None:
    for piece in range(len(table)):
        first, many = of.first[piece], of.many[piece]
        for share in range(many):
            lookups, rows = tables[0, table[piece]], tables[1, table[piece]]
            if many > 1:
                lookups, rows = every[at[piece] + share], every[at[piece] + many + share]
            part = of.owner[first + share]
            found[0, part] += width[piece] * lookups * weight[0, table[piece]]
            found[1, part] += width[piece] * rows * weight[1, table[piece]]
            found[2, part] += lookups
