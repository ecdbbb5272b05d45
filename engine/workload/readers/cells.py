"""Cells of Arrow columns as numbers, and missing cells.

Text files and Parquet files have the same rules. Blanks around a cell do not count. A null, an empty text or a blank text is a
missing cell. `ids` and `times` read cells with ids and times.
"""

from contextlib import suppress
from typing import Any

import numpy as np
from pyarrow import ArrowInvalid, ArrowNotImplementedError, compute, types

from ...core.arrays import Flags, Floats
from ...errors import BadFile
from .ids import Place
from .records import text_number


def plain_column(column: Any) -> Any:
    """Return an Arrow column without a dictionary, and with trimmed texts.

    All texts have a type that `is_text` knows.
    """
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_string_view(column.type) or types.is_null(column.type):
        column = column.cast("large_string")
    return compute.utf8_trim_whitespace(column) if is_text(column.type) else column


def column_numbers(column: Any, place: Place, remedy: str = "write one, or nothing where it is missing") -> Floats:
    """Return each cell as a number, a missing cell as 0.

    Raises BadFile for a cell that is no number.
    """
    column = plain_column(column)
    if types.is_temporal(column.type):
        raise BadFile(f"{place(0)} is a column of {column.type}, which is not a number; write seconds, or map another column.")
    try:
        floats = _numbers_of_texts(column.fill_null("")) if is_text(column.type) else _cast(column)
    except (ArrowInvalid, ArrowNotImplementedError) as error:
        raise BadFile(
            f"{place(0)} is a column of {column.type} without numbers ({str(error)[:80]}); map another column."
        ) from error
    bad_rows = np.flatnonzero(~np.isfinite(floats))
    if len(bad_rows):
        cell = str(column[bad_rows[0]].as_py())[:40]
        raise BadFile(f"{place(bad_rows[0])}={cell!r} is not a finite number; {remedy}.")
    return floats


def _cast(column: Any) -> Floats:
    floats: Floats = column.cast("float64", safe=False).fill_null(0.0).to_numpy(zero_copy_only=False)
    return floats


def _numbers_of_texts(texts: Any) -> Floats:
    """Return texts as numbers, NaN for a text that is no number.

    Arrow reads most texts, and fast.
    """
    with suppress(ArrowInvalid):
        return _cast(compute.if_else(compute.equal(texts, ""), "0", texts))
    return np.array([text_number(cell) for cell in texts.to_pylist()])


def missing_cells(column: Any) -> Flags:
    """Return flags of a column, True for a missing cell: null, empty or blank."""
    column = plain_column(column)
    is_missing = compute.equal(column, "").fill_null(True) if is_text(column.type) else column.is_null()
    return np.asarray(is_missing.to_numpy(zero_copy_only=False), dtype=np.bool_)


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is text."""
    return bool(types.is_string(kind) or types.is_large_string(kind))
