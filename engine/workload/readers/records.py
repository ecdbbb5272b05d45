"""Counts the records of a text, without parsing them, and tells numbers from other cells.

The count is compared with that of the parser. A quotation mark at the start of a field opens a quoted field, as in RFC 4180.
Unless the mapping says that cells may hold line ends, a quoted field must end on its own line. If it does not, its quotation mark
is stray: a parser would take the records that follow as part of the field.
"""

import re
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Bytes
from ...core.jit import entry_kernel, inner_kernel
from ...errors import BadFile

QUOTED, LITERAL, MULTILINE = "", "none", "multiline"  # meanings of quotation marks, as a mapping names them
QUOTES = (QUOTED, LITERAL, MULTILINE)
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
NEWLINE, RETURN, MARK = ord("\n"), ord("\r"), ord('"')
NO_FAULT, OPEN_FIELD, STRAY_MARK, STRAY_RETURN = 0, 1, 2, 3


class StrayMark(BadFile):
    """The refusal of a quotation mark that opens a field but does not close it.

    The field would have to end on its `line`.
    """

    line = 0


class Records(NamedTuple):
    """The records of a text.

    begins: the position of each record's first byte.
    lines: the line of each record's begin, counted from 0.
    end: the position after the last record.
    """

    begins: Any  # (N,) int32
    lines: Any  # (N,) int32
    end: int


def records(text: bytes, name: str, line: int, delimiter: str, quotes: str) -> Records:
    """Return the records of a text.

    `line` is the number of the text's first line in the file.
    Raises BadFile for a quoted field that does not end where it must, and for a carriage return inside a line.
    """
    if quotes == LITERAL or b'"' not in text:
        if b"\r" not in text:
            return _lines(text)
        quotes = LITERAL
    begins, lines = (np.empty(text.count(b"\n") + 1, np.int32) for _ in range(2))
    scan = _scan(np.frombuffer(text, np.uint8), ord(delimiter), quotes != LITERAL, quotes == MULTILINE, begins, lines)
    count, end, fault, fault_position = scan
    fault_line = line + text.count(b"\n", 0, fault_position)
    if fault == STRAY_MARK:
        raise stray_mark(name, fault_line)
    if fault == STRAY_RETURN:
        raise BadFile(
            f"{name}:{fault_line}: the line has a carriage return in its middle, where parsers end a record; end lines with LF "
            "or CR LF, and write no carriage return in a cell."
        )
    return Records(begins[:count], lines[:count], end)


def stray_mark(name: str, line: int) -> StrayMark:
    """Return the refusal of a quotation mark that opens a field and stays open."""
    refusal = StrayMark(
        f"{name}:{line}: a quotation mark opens a field but does not close on its line, so the records after it would be lost; "
        f'say quotes = "{LITERAL}" in {name}.toml if quotation marks are part of the text, or quotes = "{MULTILINE}" if '
        "cells contain line ends."
    )
    refusal.line = line
    return refusal


def _lines(text: bytes) -> Records:
    """Return the records of a text without quotes, where each line is a record."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == NEWLINE)
    count = len(ends) + (not text.endswith(b"\n"))
    begins = np.zeros(count, np.int32)
    begins[1:] = ends[: count - 1] + 1
    return Records(begins, np.arange(count, dtype=np.int32), len(text))


@entry_kernel
def _scan(text: Bytes, delimiter: int, quoting: bool, multiline: bool, begins: Any, lines: Any) -> tuple[int, int, int, int]:
    """Fill in begins and lines of records; return their number, the end, the fault, and its position.

    The end is that of the last complete record.
    """
    count, line, start = 0, 0, 0
    while start < len(text):
        begins[count], lines[count] = start, line
        end, ends, fault, place = _record_end(text, start, delimiter, quoting, multiline)
        if fault == OPEN_FIELD and multiline:  # it may go on in the next block
            return count, start, NO_FAULT, place
        if fault != NO_FAULT:
            return count, start, (STRAY_MARK if fault == OPEN_FIELD else fault), place
        count, line, start = count + 1, line + ends + 1, end + 1
    return count, min(start, len(text)), NO_FAULT, 0


@inner_kernel
def _record_end(text: Bytes, place: Any, delimiter: Any, quoting: Any, multiline: Any) -> Any:
    """Return a record's end, the line ends inside, its fault, and the fault's position."""
    field, quoted, mark_position, ends = True, False, place, 0
    while place < len(text):
        byte = text[place]
        if quoted and byte == MARK:
            if place + 1 < len(text) and text[place + 1] == MARK:
                place += 1
            else:
                quoted = False
        elif byte == NEWLINE:
            if not quoted:
                return place, ends, NO_FAULT, place
            if not multiline:
                return place, ends, STRAY_MARK, mark_position
            ends += 1
        elif not quoted and byte == RETURN and place + 1 < len(text) and text[place + 1] != NEWLINE:
            return place, ends, STRAY_RETURN, place
        elif byte == MARK and field and quoting:
            quoted, mark_position = True, place
        field = byte == delimiter and not quoted
        place += 1
    return place, ends, (OPEN_FIELD if quoted else NO_FAULT), mark_position


def text_number(cell: str) -> float:
    """Return a text as a number, NaN for a text that is no number."""
    return float(cell) if NUMBER.fullmatch(cell) else nan


def is_number(cell: str) -> bool:
    """Return whether a text is a number."""
    return not isnan(text_number(cell))
