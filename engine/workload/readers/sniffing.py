"""The first rows of a text that nobody has described: what parts its cells, and whether its first row is a header."""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from typing import NamedTuple

from ...errors import BadFile
from .blocks import MARK
from .records import LITERAL, MULTILINE, QUOTED, records

MOST_ROWS, MOST_LINES = 500, 50  # rows that are looked at, and lines of a quoted cell
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
    as many cells as most, and `even` is the share of lines that have so many. `quotes` says what quotation marks are, as in a
    mapping; `aligned` that all lines have as many cells where several blanks count as one.
    """

    delimiter: str
    header: Row
    rows: tuple[Row, ...]
    even: float
    quotes: str = QUOTED
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
    tables = [_parted(lines, delimiter) for delimiter in DELIMITERS]
    wide = [table for table in tables if table.width > 1 + (table.delimiter == ":")]  # a web address has two parts
    if not wide:
        return _headed(PartedLines("", QUOTED, [(line.strip(),) for line in lines], 1, 1.0))
    strict = [table for table in wide if table.delimiter not in LAST_RESORTS] or wide
    found = _headed(max(strict, key=lambda table: (round(table.even, 1), table.width)))
    return replace(found, aligned=len({len(line.split()) for line in lines}) == 1)


class PartedLines(NamedTuple):
    """Lines parted by a delimiter: their cells, the number of cells that most have, and the share of lines that have it."""

    delimiter: str
    quotes: str
    rows: Sequence[Row]
    width: int
    even: float


def _parted(lines: Sequence[str], delimiter: str) -> PartedLines:
    """Part lines; quotation marks are letters like others where one opens a cell and does not close in its line."""
    quotes = QUOTED if all(_is_closed(line, delimiter) for line in lines) else LITERAL
    rows: Sequence[Row] = [_parts(line, delimiter, quotes) for line in lines]
    if quotes == LITERAL and (several := multiline_rows(lines, delimiter)):
        quotes, rows = MULTILINE, several
    width, count = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
    return PartedLines(delimiter, quotes, rows, width, count / max(len(rows), 1))


def multiline_rows(lines: Sequence[str], delimiter: str) -> Sequence[Row]:
    """Return the rows of lines whose quoted cells hold line ends; none where that is not how the lines are.

    Each quoted cell ends before a delimiter or line end, and soon; no other cell has a mark, such as one of inches; and where
    lines could be rows as well, there are several such cells. Rows have as many cells as most, the last may be cut.
    """
    parsed, ends = [], [0]
    table = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    with suppress(csv.Error):  # of the last row, which the end of what is looked at may cut
        for row in table:
            parsed.append(tuple(cell.strip() for cell in row))
            ends.append(table.line_num)
    several = [end - start for start, end in pairwise(ends) if end - start > 1]
    left = len(lines) - ends[-1]
    widths = Counter(map(len, parsed))
    if len(widths) != 1 or max(widths) < 2 or not several or max(several) > MOST_LINES or left > MOST_LINES:
        return ()
    mark = re.escape(delimiter)
    unquoted = re.sub(rf'(^|{mark})"(?:[^"]|"")*"(?={mark}|$)', r"\1", "\n".join(lines[: ends[-1]]), flags=re.M)
    rows_alike = len({line.count(delimiter) for line in lines}) == 1
    return () if '"' in unquoted or (rows_alike and len(several) < 2) else parsed


def _is_closed(line: str, delimiter: str) -> bool:
    if '"' not in line:
        return True
    try:
        records(f"{line}\n".encode(), "", 1, delimiter, QUOTED)
    except BadFile:
        return False
    return True


def _parts(line: str, delimiter: str, quotes: str) -> Row:
    """Return the cells of a line, without their quotes and the blanks around them."""
    cells = line.split(delimiter)
    if quotes == QUOTED and '"' in line:
        with suppress(csv.Error, StopIteration):
            cells = next(csv.reader([line], delimiter=delimiter))
    return tuple(cell.strip() for cell in cells)


def _headed(table: PartedLines) -> FirstRows:
    rows, width = table.rows, table.width
    below = tuple(row for row in rows[1:] if len(row) == width)
    header = rows[0] if rows and is_header(rows[0], below) else ()
    return FirstRows(
        table.delimiter, header, below if header else tuple(row for row in rows if len(row) == width), table.even, table.quotes
    )


def is_header(first: Row, below: Sequence[Row]) -> bool:
    """Return whether a first row names the columns of the rows below it.

    A header has no number and no date, no cell that is seen again below, and, where rows follow, a cell that is unlike them.
    """
    named = [cell for cell in first if cell]
    if 2 * len(named) < max(len(first), 2) or any(NUMBER.fullmatch(cell) or DATE.fullmatch(cell) for cell in named):
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
