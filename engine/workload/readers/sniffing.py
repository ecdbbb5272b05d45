"""The first rows of a text that nobody has described: what parts its cells, and whether its first row is a header."""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest

from .blocks import MARK

MOST_ROWS = 500
DELIMITERS = "\t", ",", ";", "|", "\x01", "^", "~", ":", " "  # the first of those that explain the rows equally well
LAST_RESORTS = ":", " "  # that texts and times have inside of cells too
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?|\d{1,2}:\d\d(:\d\d)?.*")
SHAPES = (re.compile("[^\\W\\d_]+"), "a"), (re.compile(r"\d+"), "9")

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The first rows of a text, parted by `delimiter`; "" where each line is one cell.

    `header` are the columns' names where the first line has them, perhaps too few or too many; `rows` are those below that have
    as many cells as most. `even` is the share of lines that have so many; `aligned` says that all have where several blanks count
    as one.
    """

    delimiter: str
    header: Row
    rows: tuple[Row, ...]
    even: float
    aligned: bool = False

    @property
    def columns(self) -> Row:
        """The columns' names, by number where there is no header."""
        return self.header or tuple(f"c{number}" for number in range(1, self.width + 1))

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.rows[0] if self.rows else self.header)


def first_rows(head: bytes, whole: bool) -> FirstRows:
    """Return the first rows of a text that begins with `head`; `whole` says that nothing follows."""
    lines = [line.rstrip("\r") for line in head.removeprefix(MARK).decode("utf-8", "replace").split("\n")]
    lines = [line for line in (lines if whole or len(lines) == 1 else lines[:-1]) if line.strip()][:MOST_ROWS]
    parted = [(delimiter, [parts(line, delimiter) for line in lines]) for delimiter in DELIMITERS]
    tables = [(delimiter, rows, *_evenness(rows)) for delimiter, rows in parted]
    wide = [table for table in tables if table[2] > 1 + (table[0] == ":")]  # a web address has two parts
    if not wide:
        rows = [(line.strip(),) for line in lines]
        return _headed("", rows, 1, 1.0)
    strict = [table for table in wide if table[0] not in LAST_RESORTS] or wide
    found = _headed(*max(strict, key=lambda table: (round(table[3], 1), table[2])))
    return replace(found, aligned=len({len(line.split()) for line in lines}) == 1)


def parts(line: str, delimiter: str) -> Row:
    """Return the cells of a line, without their quotes and the blanks around them."""
    with suppress(csv.Error, StopIteration):
        return tuple(cell.strip() for cell in next(csv.reader([line], delimiter=delimiter)))
    return (line,)


def _evenness(rows: Sequence[Row]) -> tuple[int, float]:
    """Return the number of cells that most rows have, and the share of rows that have it."""
    if not rows:
        return 0, 0.0
    width, count = Counter(map(len, rows)).most_common(1)[0]
    return width, count / len(rows)


def _headed(delimiter: str, rows: Sequence[Row], width: int, even: float) -> FirstRows:
    below = tuple(row for row in rows[1:] if len(row) == width)
    if rows and is_header(rows[0], below):
        return FirstRows(delimiter, rows[0], below, even)
    return FirstRows(delimiter, (), tuple(row for row in rows if len(row) == width), even)


def is_header(first: Row, below: Sequence[Row]) -> bool:
    """Return whether a first row names the columns of the rows below it.

    A header has no number and no date, no cell that is seen again below, and, where rows follow, a cell that is unlike them.
    """
    named = [cell for cell in first if cell]
    if not named or len(named) < len(first) - 1 or any(NUMBER.fullmatch(cell) or DATE.fullmatch(cell) for cell in named):
        return False
    columns = [set(column) for column in zip_longest(*below)] if below else []
    if any(cell in column for cell, column in zip(first, columns, strict=False)):
        return False
    shapes = [{_shape(cell) for cell in column if cell} for column in columns]
    alike = [_shape(cell) in there for cell, there in zip(first, shapes, strict=False) if there]
    return not alike or not all(alike) or all(re.fullmatch(r"[^\W\d][^\d]*", cell) for cell in named)


def _shape(cell: str) -> str:
    """Return what a cell looks like: each run of letters as "a", each run of digits as "9"."""
    for pattern, mark in SHAPES:
        cell = pattern.sub(mark, cell)
    return cell
