"""Cells of Arrow's columns as numbers, and which are missing: one rule for text and for Parquet.

Blanks around a cell are no part of it; null and empty or blank text is missing. ids.py and times.py have the other kinds.
"""

import re
from contextlib import suppress
from math import isnan, nan
from typing import Any

import numpy as np
from pyarrow import ArrowInvalid, ArrowNotImplementedError, compute, types

from ...core.arrays import Flags, Floats
from ...errors import BadFile
from .ids import Place

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def plain(column: Any) -> Any:
    """Return a column of Arrow without a dictionary, its texts in one type and without blanks around them."""
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_string_view(column.type) or types.is_null(column.type):
        column = column.cast("large_string")
    return compute.utf8_trim_whitespace(column) if is_text(column.type) else column


def numbers(column: Any, place: Place, remedy: str = "write one, or nothing where it is missing") -> Floats:
    """Return each cell as a number, what is missing as 0; raises BadFile with the remedy for a cell that is none."""
    column = plain(column)
    if types.is_temporal(column.type):
        raise BadFile(f"{place(0)} is a column of {column.type}, which is no number; write seconds, or map another one.")
    try:
        found = _read(column.fill_null("")) if is_text(column.type) else _cast(column)
    except (ArrowInvalid, ArrowNotImplementedError) as error:
        raise BadFile(f"{place(0)} is a column of {column.type} without numbers ({str(error)[:80]}); map another one.") from error
    bad = np.flatnonzero(~np.isfinite(found))
    if len(bad):
        cell = str(column[bad[0]].as_py())[:40]
        raise BadFile(f"{place(bad[0])}={cell!r} is not a finite number; {remedy}.")
    return found


def _cast(column: Any) -> Floats:
    found: Floats = column.cast("float64", safe=False).fill_null(0.0).to_numpy(zero_copy_only=False)
    return found


def _read(texts: Any) -> Floats:
    """Return the numbers of texts, NaN for what is none; Arrow knows most ways to write one, and is quick."""
    with suppress(ArrowInvalid):
        return _cast(compute.if_else(compute.equal(texts, ""), "0", texts))
    return np.array([number(cell) for cell in texts.to_pylist()])


def number(cell: str) -> float:
    """Return the number that a text is, NaN for what is none."""
    return float(cell) if NUMBER.fullmatch(cell) else nan


def missing(column: Any) -> Flags:
    """Return which cells of a column are not there: null, or empty or blank text."""
    column = plain(column)
    found = compute.equal(column, "").fill_null(True) if is_text(column.type) else column.is_null()
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)


def is_text(kind: Any) -> bool:
    """Return whether a type of Arrow is text."""
    return bool(types.is_string(kind) or types.is_large_string(kind))


def is_number(cell: str) -> bool:
    """Return whether a text is a number."""
    return not isnan(number(cell))
