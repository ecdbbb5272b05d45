"""The first rows of a text without a mapping, with its delimiter and header."""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from typing import NamedTuple

from ...core.arithmetic import total
from ...errors import BadFile
from .blocks import MARK
from .guess import is_known_name
from .records import LITERAL, MULTILINE, QUOTED, records

MOST_ROWS, MOST_LINES = 500, 50  # most rows that sniffing reads, and most lines of a quoted cell
DELIMITERS = "\t", ",", ";", "|", "\x01", "^", "~", ":", " "  # by preference, where several explain the rows equally well
LAST_RESORTS = ":", " "  # delimiters that texts and times have inside of cells too
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?|\d{1,2}:\d\d(:\d\d)?.*")
GAPS = (
    "",
    "na",
    "n/a",
    "nan",
    "null",
    "none",
    "nil",
    "\\n",
    "?",
    "-",
    "missing",
    "unknown",
)  # missing cells, which vote for nothing
NEARLY_ALL, MANY = 0.95, 20  # share of cells that show the kind of a column; cells in which a value would come back
NUMBER_VOTE = -3  # for a header with a number
SHAPES = (re.compile("[^\\W\\d_]+"), "a"), (re.compile(r"\d+"), "9")

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The first rows of a text.

    delimiter: the character between cells; "" if each line is one cell.
    header: the names in the first line, perhaps too few or too many; () without names.
    rows: the rows below the header that have the most frequent number of cells.
    even_share: the share of lines that have this number of cells.
    quotes: the meaning of quotation marks, as in a mapping.
    aligned: True if all lines have the same number of cells when several blanks count as one.
    """

    delimiter: str
    header: Row
    rows: tuple[Row, ...]
    even_share: float
    quotes: str = QUOTED
    aligned: bool = False

    @property
    def columns(self) -> Row:
        """The names of the columns; numbers if there is no header."""
        return self.header or tuple(f"c{number}" for number in range(1, self.width + 1))

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.rows[0] if self.rows else self.header)

    @property
    def unread_columns(self) -> tuple[str, ...]:
        """A sentence for each name that several columns have.

        Columns that have cells but no name get a sentence too.
        """
        names = [name for name in dict.fromkeys(self.header) if name and self.header.count(name) > 1]
        notes = [
            f"{self.header.count(name)} columns are called {name!r}, so none of them is read: rename them." for name in names
        ]
        cells = zip(self.header, *self.rows, strict=False)
        unnamed = [str(number) for number, (name, *column) in enumerate(cells, 1) if not name and any(column)]
        notes += [f"Column {', '.join(unnamed)} has no name in the header, so it is not read: name it."] if unnamed else []
        return tuple(notes)


def first_rows(head: bytes, whole: bool) -> FirstRows:
    """Return the first rows of a text, from its first bytes `head`.

    `whole` is True if `head` is the whole text.
    """
    lines = [line.rstrip("\r") for line in head.removeprefix(MARK).decode("utf-8", "replace").split("\n")]
    lines = [line for line in (lines if whole or len(lines) == 1 else lines[:-1]) if line.strip()][:MOST_ROWS]
    tables = [_parted(lines, delimiter) for delimiter in DELIMITERS]
    wide_tables = [table for table in tables if table.width > 1 + (table.delimiter == ":")]  # a web address has two parts
    if not wide_tables:
        return _headed(SplitLines("", QUOTED, [(line.strip(),) for line in lines], 1, 1.0))
    strict = [table for table in wide_tables if table.delimiter not in LAST_RESORTS] or wide_tables
    headed_rows = _headed(
        max(strict, key=lambda table: (round(table.even_share, 1), len(table.rows[0]) == table.width, table.width))
    )
    return replace(headed_rows, aligned=len({len(line.split()) for line in lines}) == 1)


class SplitLines(NamedTuple):
    """Lines that were split by a delimiter.

    delimiter: the character between cells.
    quotes: the meaning of quotation marks.
    rows: the cells of each line.
    width: the most frequent number of cells.
    even_share: the share of lines that have this number.
    """

    delimiter: str
    quotes: str
    rows: Sequence[Row]
    width: int
    even_share: float


def _parted(lines: Sequence[str], delimiter: str) -> SplitLines:
    """Split lines by a delimiter.

    Quotation marks are plain letters where a quoted cell does not close in its line.
    """
    quotes = QUOTED if all(_is_closed(line, delimiter) for line in lines) else LITERAL
    rows: Sequence[Row] = [_parts(line, delimiter, quotes) for line in lines]
    if quotes == LITERAL and (joined_rows := multiline_rows(lines, delimiter)):
        quotes, rows = MULTILINE, joined_rows
    width, count = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
    return SplitLines(delimiter, quotes, rows, width, count / max(len(rows), 1))


def multiline_rows(lines: Sequence[str], delimiter: str) -> Sequence[Row]:
    """Return the rows of lines whose quoted cells hold line ends; () for other lines.

    Each quoted cell must end before a delimiter or a line end, within MOST_LINES lines. No other cell may have a quotation mark,
    such as the sign for inches. If the lines could be rows themselves, there must be several such cells. All rows must have the
    same number of cells, except the last row, which may be cut.
    """
    parsed, ends = [], [0]
    table = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    with suppress(csv.Error):  # the last row may be cut
        for row in table:
            parsed.append(tuple(cell.strip() for cell in row))
            ends.append(table.line_num)
    multiline_sizes = [end - start for start, end in pairwise(ends) if end - start > 1]
    lines_left = len(lines) - ends[-1]
    widths = Counter(map(len, parsed))
    if len(widths) != 1 or max(widths) < 2 or not multiline_sizes or max(multiline_sizes) > MOST_LINES or lines_left > MOST_LINES:
        return ()
    mark = re.escape(delimiter)
    unquoted = re.sub(rf'(^|{mark})"(?:[^"]|"")*"(?={mark}|$)', r"\1", "\n".join(lines[: ends[-1]]), flags=re.M)
    rows_alike = len({line.count(delimiter) for line in lines}) == 1
    return () if '"' in unquoted or (rows_alike and len(multiline_sizes) < 2) else parsed


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


def _headed(table: SplitLines) -> FirstRows:
    rows, width = table.rows, table.width
    body_rows = tuple(row for row in rows[1:] if len(row) == width)
    header = rows[0] if rows and is_header(rows[0], body_rows) else ()
    return FirstRows(
        table.delimiter,
        header,
        body_rows if header else tuple(row for row in rows if len(row) == width),
        table.even_share,
        table.quotes,
    )


def is_header(first_row: Row, body_rows: Sequence[Row]) -> bool:
    """Return whether a first row names the columns of the rows below it.

    Each column votes, so that no single cell outvotes all others. Without a strong vote, at least one cell of the header has
    another form than the cells below it.
    """
    names = [cell for cell in first_row if cell]
    if 2 * len(names) < max(len(first_row), 2):
        return False
    rows = [row for row in body_rows if row != first_row]  # a header that is repeated is no sample
    columns = [[cell for cell in column if cell.lower() not in GAPS] for column in zip_longest(*rows, fillvalue="")]
    columns += [[] for _ in range(len(first_row) - len(columns))]
    numbers = _numbers_vote(first_row, columns)
    votes = [_vote(cell, column, numbers) for cell, column in zip(first_row, columns, strict=False)]
    if min(votes) < 0 or total(votes) > 1 or not all(map(_is_text, names)):
        return total(votes) > 0
    if any(cell in row[index : index + 1] for row in body_rows for index, cell in enumerate(first_row) if cell):
        return False
    matches = [_shape(cell) in set(map(_shape, column)) for cell, column in zip(first_row, columns, strict=False) if column]
    return not matches or not all(matches) or all(re.fullmatch(r"[^\W\d][^\d]*", cell) for cell in names)


def _vote(cell: str, column: Sequence[str], numbers: int) -> int:
    """Return how surely a first row's cell names the `column` below it, from 3 to -3 for a value.

    A text above numbers or dates alone is a name, a known name may be one, another text that occurs again is none. `numbers` is
    the vote of a number.
    """
    if cell.lower() in GAPS:
        return 0
    if not _is_text(cell):
        return 0 if _is_stranger(cell, column) else numbers
    texts = [*map(_is_text, column)].count(True)
    if column and cell not in column and texts <= (1 - NEARLY_ALL) * len(column):
        return 2 if len(column) < MANY else 3
    return (0 if cell in column else 1) if is_known_name(cell) else -2 * (cell in column)


def _is_text(cell: str) -> bool:
    return not NUMBER.fullmatch(cell) and not DATE.fullmatch(cell)


def _numbers_vote(first_row: Row, columns: Sequence[Sequence[str]]) -> int:
    """Return the vote of the numbers in a first row: 2 or 0 if they are columns' numbers such as 0, 1, 2.

    Columns' numbers stand above an index, or above columns of which one never has its number; beside names they are no proof.
    """
    numbers = [cell for cell in first_row if cell and not _is_text(cell)]
    if len(numbers) < 2 or numbers not in ([str(n + low) for n in range(len(numbers))] for low in (0, 1)):
        return NUMBER_VOTE
    if any(cell and _is_text(cell) for cell in first_row):
        return 0
    if not first_row[0]:
        return 2 if len(set(columns[0])) == len(columns[0]) > 1 else NUMBER_VOTE
    if any(_counts_on(row) for row in zip(*columns, strict=False)):
        return NUMBER_VOTE
    strangers = [column for cell, column in zip(first_row, columns, strict=False) if len(column) >= MANY and cell not in column]
    return 2 if strangers and (len(numbers) > 3 or any(len(set(column)) == 2 for column in strangers)) else NUMBER_VOTE


def _counts_on(row: Row) -> bool:
    """Return whether the numbers of a sample count on by 1, as columns' numbers do."""
    return all(cell.isdecimal() for cell in row) and all(int(row[0]) + n == int(cell) for n, cell in enumerate(row))


def _is_stranger(cell: str, column: Sequence[str]) -> bool:
    """Return whether a number lies outside of the numbers of a long column, as a year above counts does."""
    if len(column) < MANY or not NUMBER.fullmatch(cell) or not all(map(NUMBER.fullmatch, column)):
        return False
    numbers = [float(number) for number in column]
    return not 2 * min(numbers) - max(numbers) <= float(cell) <= 2 * max(numbers) - min(numbers)


def _shape(cell: str) -> str:
    """Return the shape of a cell: runs of letters as "a", runs of digits as "9"."""
    for pattern, mark in SHAPES:
        cell = pattern.sub(mark, cell)
    return cell
