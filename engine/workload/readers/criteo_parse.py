"""Reads Criteo lines from raw bytes, tens of millions of characters per second, and stops at the first bad line."""

from typing import Any

import numpy as np

from ...core.arrays import Bytes, Singles, Words
from ...core.jit import entry, inner

DENSE = 13
FIELDS = 26
BASIS = np.uint64(0xCBF29CE484222325)
LONGEST_ID = 32
PRIME = np.uint64(0x100000001B3)

DIGIT = np.array([chr(byte) in "0123456789abcdefABCDEF" for byte in range(256)])  # bytes of an id


@entry
def parse_lines(
    text: Bytes, at: int, end: int, delimiter: int, skip: int, dense: Singles, tokens: Words, labels: Any
) -> tuple[int, int]:
    """Fill the arrays from the lines between `at` and `end`; return (rows read, position of the first bad line or -1).

    `skip` leading columns are ignored. `dense` (N, 13) gets log(1 + max(x, 0)); `tokens` (N, 26) gets FNV-1a hashes.
    """
    row = 0
    while at < end:
        stop = at
        while stop < end and text[stop] != 10:
            stop += 1
        last = stop - 1 if stop > at and text[stop - 1] == 13 else stop
        if not parse_line(text, at, last, delimiter, skip, dense[row], tokens[row], labels[row : row + 1]):
            return row, at
        row += 1
        at = stop + 1
    return row, -1


@inner
def parse_line(text: Bytes, at: int, end: int, delimiter: int, skip: int, dense: Singles, tokens: Words, label: Any) -> bool:
    """Fill one row from one line without its end; return whether the line is well formed."""
    for column in range(skip + 1 + DENSE + FIELDS):
        stop = at
        word, digits = BASIS, True
        while stop < end and text[stop] != delimiter:
            if text[stop] < 32 or text[stop] == 127:
                return False
            digits &= DIGIT[text[stop]]
            word = (word ^ np.uint64(text[stop])) * PRIME
            stop += 1
        strange = column > skip + DENSE and not (digits and stop - at <= LONGEST_ID)
        if strange or (stop == end) != (column == skip + DENSE + FIELDS):
            return False
        if column == skip:
            label[0] = number(text, at, stop)
            if not (label[0] == 0 or label[0] == 1):
                return False
        elif skip < column <= skip + DENSE:
            count = number(text, at, stop) if stop > at else 0.0
            if not np.isfinite(count):
                return False
            dense[column - skip - 1] = np.log1p(max(count, 0.0))
        elif column > skip:
            tokens[column - skip - 1 - DENSE] = word
        at = stop + 1
    return True


@inner
def number(text: Bytes, at: int, end: int) -> float:
    """Return the decimal number written between `at` and `end`, or nan where there is none."""
    negative = at < end and text[at] == 45
    if at < end and (text[at] == 45 or text[at] == 43):
        at += 1
    value, digits, scale = 0.0, 0, 0
    point = False
    while at < end and (48 <= text[at] <= 57 or (text[at] == 46 and not point)):
        if text[at] == 46:
            point = True
        else:
            value = value * 10.0 + (text[at] - 48)
            digits += 1
            scale -= point
        at += 1
    if digits > 0 and at < end and (text[at] == 101 or text[at] == 69):
        exponent, at = whole(text, at + 1, end)
        scale += exponent
    if digits == 0 or at != end:
        return np.nan
    value = value / 10.0**-scale if scale < 0 else value * 10.0**scale
    return -value if negative else value


@inner
def whole(text: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return the exponent written from `at` on, and where it ends; -1 as the end where there is no digit."""
    negative = at < end and text[at] == 45
    if at < end and (text[at] == 45 or text[at] == 43):
        at += 1
    value, first = 0, at
    while at < end and 48 <= text[at] <= 57:
        value = min(value * 10 + (text[at] - 48), 9999)
        at += 1
    return (-value if negative else value), (at if at > first else -1)
