"""Sharding: which part of a machine has which rows and columns of which table.

A part is a GPU, a host, an embedding server or a memory module, and parts stand in groups: the GPUs of a node, the modules of
an expander. A plan cuts each table into pieces, ranges of its columns, and gives each piece to one part, or its rows to several.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np

from ..core.arrays import Floats, Ints
from ..errors import BadKnob
from ..registry import load


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


class Piece(NamedTuple):
    """A `width` of a table's columns, as a share of all; its rows are spread over `parts`, one named twice has two shares."""

    width: float
    parts: tuple[int, ...]


Pieces = tuple[tuple[Piece, ...], ...]  # of each table
LONGEST, SHARES = 18, 65_536  # digits of a run of parts; shares of a table's rows
LEAST = 32  # columns of a range: torchrec's planner cuts no finer


class Wanted(NamedTuple):
    """What a plan is made for: parts, and for each table its seconds on one part alone, its bytes and the columns of a row.

    `nbytes` (M, T) are by memory, of which each has `rooms` (M,) of so many bytes, one for every `sharing` (M,) parts;
    `slowest` says how long a plan's slowest parts take, in seconds, or infinity where certainly longer than so many.
    """

    parts: Parts
    seconds: Floats
    nbytes: Floats
    columns: int
    rooms: tuple[float, ...]
    sharing: tuple[int, ...]
    slowest: Callable[[Pieces, float], float]

    @property
    def tables(self) -> int:
        """The number of tables."""
        return len(self.seconds)

    def fits(self, pieces: Pieces) -> bool:
        """Return whether every part has room for what a plan gives it."""
        held = (spread(pieces, nbytes, self.parts.number) for nbytes in self.nbytes)
        each = zip(held, self.rooms, self.sharing, strict=True)
        return all(bool(filled(one, sharing).max() <= room) for one, room, sharing in each)

    def ranges(self, most: int) -> int:
        """Return into how many ranges of columns a table can be cut, `most` of them at most."""
        return max(1, min(most, self.columns // LEAST))


@dataclass(frozen=True)
class Sharding:
    """A way to make plans; `pieces` returns none where all parts simply have an even share of everything."""

    title: str
    summary: str
    pieces: Callable[[Wanted], Pieces]


class Flat(NamedTuple):
    """The shares of a plan's pieces in the order of its tables, (N,): the part that has each, of which table, of what width.

    A share is one of so `many` over which a piece's rows are spread.
    """

    part: Ints
    table: Ints
    width: Floats
    many: Ints


@lru_cache(maxsize=16)
def flat(pieces: Pieces) -> Flat:
    """Return a plan as arrays."""
    known: dict[int, Ints] = {}
    every = [(table, piece) for table, mine in enumerate(pieces) for piece in mine]
    many = np.array([len(piece.parts) for _, piece in every])
    parts = [known.setdefault(id(piece.parts), np.array(piece.parts, dtype=np.int64)) for _, piece in every]
    table, width = np.array([table for table, _ in every]), np.array([piece.width for _, piece in every])
    return Flat(np.concatenate(parts), np.repeat(table, many), np.repeat(width, many), np.repeat(many, many))


def spread(pieces: Pieces, amounts: Floats, parts: int) -> Floats:
    """Return what each part has, (P,), of the tables' amounts, (T,), each over its rows and columns alike."""
    each = flat(pieces)
    return np.bincount(each.part, amounts[each.table] * each.width / each.many, parts).astype(np.float64)


def filled(held: Floats, sharing: int) -> Floats:
    """Return what each room holds of what its parts do, (P,); `sharing` parts have one."""
    return held if sharing == 1 else np.bincount(np.arange(len(held)) // sharing, held).astype(np.float64)


def made(name: str, wanted: Wanted) -> Pieces:
    """Return the plan that a way of sharding makes."""
    way: Sharding = load("plans", name)
    return way.pieces(wanted)


def whole(parts: Ints) -> Pieces:
    """Return the plan of whole tables, each on its one part, (T,)."""
    each = {part: (Piece(1.0, (part,)),) for part in np.unique(parts).tolist()}
    return tuple(each[part] for part in parts.tolist())


def by_hand(text: str, tables: int, count: int) -> Pieces:
    """Read a plan: an entry a table, ";" between tables, one entry for all; raises BadKnob.

    An entry is the part that has the table, as in "3"; "0+2+5" or "0-7" spreads its rows over several parts, and "/" stands
    between ranges of its columns, as in "0/1" or "0-3/4-7".
    """
    entries = [part.strip() for part in text.split(";")]
    if len(entries) not in (1, tables):
        raise BadKnob(f"policy.plan has {len(entries)} entries for {tables} tables; give one, or {tables}, ';' between them.")
    known = {entry: _entry(entry, count) for entry in dict.fromkeys(entries)}
    found = tuple(known[entry] for entry in entries)
    return found if len(found) == tables else found * tables


def _entry(text: str, count: int) -> tuple[Piece, ...]:
    columns = text.split("/")
    return tuple(Piece(1 / len(columns), _parts(piece, text, count)) for piece in columns)


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
            raise BadKnob(f"policy.plan has the entry {entry[:40]!r} of more than {SHARES:,} shares; name fewer parts.")
    return tuple(found)


def alike(pieces: Pieces) -> Counter[Piece]:
    """Return how many times each piece occurs; plans of many tables have few that differ."""
    return Counter(piece for table in pieces for piece in table)
