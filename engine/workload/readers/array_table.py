"""Reads an .npz archive of arrays of one length as a table.

Such archives are DLRM's processed files, or others that have a mapping. An array (N,) is a column. An array (N, k) has k lookups
per sample, or k dense features; its columns are NAME.0 to NAME.k-1. If they are ids, each column has a table.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow

from ...core.arithmetic import total
from ...core.figures import count
from ...errors import BadFile, UndescribedTable
from . import conversions, mapping, zipped
from .first_cells import mapping_of_types
from .foreign import foreign_refusal
from .layouts import Layout
from .mapped import count_touched
from .numbering import AS_THEY_ARE
from .recognition import unmapped_arrays_refusal
from .recording import Recording
from .samples import Watch, unwatched
from .samples_from_columns import Rows, read_samples
from .zipped import Header

DLRM = {"X_int", "X_cat", "y"}
UNPROCESSED = {"X_int", "X_cat_t", "y"}
COUNTS = "counts", "total_per_file"
KINDS = "biufUSM"  # booleans, whole numbers, floats, texts, dates
BLOCK_ROWS, GUESS_ROWS = 1 << 16, 1000  # samples read together, and looked at for a guess
UNITS = {(unit, 1): unit for unit in ("ms", "us", "ns")} | {(unit, 1): "ns" for unit in ("ps", "fs", "as")}  # of Arrow's times
MOST_COLUMNS, MOST_GUESSED = 10_000, 100


def read_archive(path: Path, name: str, meaning: Callable[[Layout | None], Layout | None], watch: Watch = unwatched) -> Recording:
    """Return the recording of an archive of arrays; raises BadFile.

    `meaning` returns the layout of the arrays. It is called with DLRM's own layout if DLRM wrote the archive, else with None.
    """
    headers = zipped.archive_headers(path)
    layout = meaning(_dlrm(name, headers) if set(headers) >= DLRM else None)
    if layout is None:
        raise _unmapped(path, name, headers)
    arrays, columns, layout = _open_arrays(path, name, layout, headers, watch)
    return read_samples(name, layout, _tables(name, arrays, columns, watch), watch)


def rows_of(path: Path, name: str, columns: Sequence[str], watch: Watch = unwatched) -> Iterator[Rows]:
    """Yield the named columns of an archive, a block of samples at a time.

    Raises BadFile.
    """
    layout = Layout("unknown", "", tuple(columns))
    arrays, places, _ = _open_arrays(path, name, layout, zipped.archive_headers(path), watch)
    yield from _tables(name, arrays, places, watch)


def _open_arrays(
    path: Path, name: str, layout: Layout, headers: Mapping[str, Header], watch: Watch
) -> tuple[Mapping[str, Any], Mapping[str, tuple[str, int | None]], Layout]:
    """Return a layout's arrays, the place of each column, and the layout with all columns."""
    places = {column: _place(name, layout, headers, column) for column in layout.read_columns}
    lengths = {array: headers[array].shape[0] for array, _ in places.values()}
    if len(set(lengths.values())) > 1:
        lengths_text = ", ".join(f"{array} {count(length)}" for array, length in list(lengths.items())[:6])
        raise BadFile(
            f"{name} has arrays of different lengths ({lengths_text}); each sample needs one row in every mapped array."
        )
    if not next(iter(lengths.values())):
        raise BadFile(f"{name} has 0 samples; give arrays with samples.")
    _check_apart(name, layout, places)
    arrays = {array: zipped.archive_array(path, array, watch) for array in lengths}
    layout = _spread(layout, headers, places)
    return arrays, {column: _place(name, layout, headers, column) for column in layout.read_columns}, layout


def is_dlrm(path: Path) -> bool:
    """Return whether DLRM's data_utils.py wrote an archive; raises BadFile for a damaged archive."""
    return set(zipped.archive_headers(path)) >= DLRM


def archive_columns(path: Path, name: str) -> tuple[str, ...]:
    """Return the names of an archive's columns, for an archive without a mapping.

    Raises BadFile for an archive without samples.
    """
    refusal = _unmapped(path, name, zipped.archive_headers(path))
    if not isinstance(refusal, UndescribedTable):
        raise refusal
    return refusal.columns


def _dlrm(name: str, headers: Mapping[str, Header]) -> Layout:
    """Return the layout of files that DLRM's data_utils.py writes: counts, row numbers and targets; raises BadFile."""
    width = (headers["X_cat"].shape[1:] or (1,))[0]
    if width > MOST_COLUMNS:
        raise BadFile(f"{name} has {count(width, 'column')} of ids in X_cat; give at most {count(MOST_COLUMNS)}.")
    ids = tuple(f"X_cat.{column}" for column in range(width))
    return Layout("dlrm", "y", ids, ("X_int",), rows=AS_THEY_ARE)


def _place(name: str, layout: Layout, headers: Mapping[str, Header], column: str) -> tuple[str, int | None]:
    """Return the array of a column, and the column's number in the array; raises BadFile.

    The number is None for a whole array.
    """
    array, _, number = column.rpartition(".")
    part = int(number) if column not in headers and array in headers and number.isdecimal() and number.isascii() else None
    array = column if part is None else array
    if array not in headers:
        array_names = ", ".join(list(headers)[:12])
        raise BadFile(f"{name} has no array {column[:40]!r}, which {layout.name} needs; its arrays are {array_names[:200]}.")
    header = headers[array]
    axes = len(header.shape) - (part is not None)
    if not _is_readable(header) or not header.shape or axes not in (1, 2) or (part or 0) >= (*header.shape, 1)[1]:
        array_text = f"{array[:40]} is {_shape_text(header)}"
        raise BadFile(f"{name}: {array_text}, so {column[:40]!r} cannot be taken from it; map an array of one or two axes.")
    if axes == 2 and column in (layout.label, layout.time) and header.shape[1] != 1:
        raise BadFile(
            f"{name}: {column[:40]} is {_shape_text(header)}, but a sample has one value; map one of its columns, such as "
            f"{column[:40]}.0."
        )
    return array, 0 if axes == 2 and header.shape[1] == 1 else part


def _check_apart(name: str, layout: Layout, places: Mapping[str, tuple[str, int | None]]) -> None:
    """Raise BadFile where two roles take the same column of an array, such as the label `x.0` and dense features `x`."""
    role_by_place: dict[tuple[str, int | None], str] = {}
    for role, columns in layout.roles.items():
        for array, part in (places[column] for column in columns if column):
            for (other_array, other_part), first in role_by_place.items():
                if first != role and array == other_array and (part == other_part or None in (part, other_part)):
                    raise mapping.twice_refusal(name, f"{array}.{part or other_part or 0}", first, role)
            role_by_place[array, part] = role


def _shape_text(header: Header) -> str:
    return f"{' x '.join(f'{count(length)}' for length in header.shape) or 'one'} of {header.kind}"


def _spread(layout: Layout, headers: Mapping[str, Header], places: Mapping[str, tuple[str, int | None]]) -> Layout:
    """Return the layout with a dense feature for each column of arrays that have several."""
    dense: list[str] = []
    for column in layout.dense:
        array, part = places[column]
        has_columns = part is None and len(headers[array].shape) == 2
        dense += [f"{array}.{number}" for number in range(headers[array].shape[1])] if has_columns else [column]
    return replace(layout, dense=tuple(dense))


def _tables(name: str, arrays: Mapping[str, Any], columns: Mapping[str, tuple[str, int | None]], watch: Watch) -> Iterator[Rows]:
    samples = len(next(iter(arrays.values())))
    for low in range(0, samples, BLOCK_ROWS):
        high = min(low + BLOCK_ROWS, samples)
        parts = {array: _native(values[low:high]) for array, values in arrays.items()}
        count_touched(total(part.nbytes for part in parts.values()))
        column_cells = {column: _column(parts[array], part) for column, (array, part) in columns.items()}
        yield Rows(name, np.arange(low + 1, high + 1), column_cells)
        watch(high / samples, f"reading {name}")


def _is_readable(header: Header) -> bool:
    """Return whether cells can have an array's type: not complex, records, durations or dates without a unit."""
    return header.kind.kind in KINDS and (header.kind.kind != "M" or np.datetime_data(header.kind)[0] != "generic")


def _native(part: Any) -> Any:
    """Return an array's numbers in this computer's byte order, in a type of Arrow's."""
    kind = part.dtype.newbyteorder("=")
    if kind.kind == "M":
        return part.astype(f"datetime64[{UNITS.get(np.datetime_data(kind), 's')}]")
    kind = {"b": np.dtype(np.uint8), "f": np.dtype(np.float64 if kind.itemsize > 4 else np.float32)}.get(kind.kind, kind)
    return part.astype(kind, copy=False)


def _column(part: Any, number: int | None) -> Any:
    """Return an array's column as a column of Arrow.

    An array of two axes gives lists of one length.
    """
    if number is not None:
        return pyarrow.array(np.ascontiguousarray(part[:, number]))
    if part.ndim == 1:
        return pyarrow.array(np.ascontiguousarray(part))
    return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(np.ascontiguousarray(part).reshape(-1)), part.shape[1])


def _unmapped(path: Path, name: str, headers: Mapping[str, Header]) -> BadFile:
    """Return the refusal of an archive without a mapping: its arrays, and a mapping over their names."""
    if {"indices", "indptr", "format"} <= set(headers) or {"row", "col", "format"} <= set(headers):
        return foreign_refusal(name, "a sparse matrix of scipy's", conversions.SPARSE)
    lengths = [header.shape[0] for header in headers.values() if _fits(header)]
    samples = max(lengths, key=lengths.count, default=0)
    contents = ", ".join(f"{array[:24]} ({_shape_text(header)})" for array, header in list(headers.items())[:6])
    contents += ", ..." if len(headers) > 6 else ""
    if set(headers) <= {*COUNTS}:
        return BadFile(
            f"{name} holds counts that DLRM keeps ({contents}), but no samples; give DLRM's processed or reordered file."
        )
    if set(headers) >= UNPROCESSED:
        return BadFile(f"{name} is a day that DLRM has not processed yet ({contents}); give DLRM's processed or reordered file.")
    columns = [array for array, header in headers.items() if header.shape[:1] == (samples,) and _fits(header)][:MOST_GUESSED]
    if not columns:
        return BadFile(f"{name} holds {contents}, which are not samples; give arrays of one length and of one or two axes.")
    if len(columns) == 1 and (row_shape := headers[columns[0]].shape[1:]):  # one array has all columns
        columns = [f"{columns[0]}.{number}" for number in range(row_shape[0])][:MOST_GUESSED]
    first_cells = next(_tables(name, *_heads(path, headers, columns), unwatched)).columns
    if not (mapping := mapping_of_types(first_cells, of_arrays=True)):
        return BadFile(f"{name} holds {contents}, none of which are ids; give arrays of whole numbers or texts.")
    return unmapped_arrays_refusal(name, contents, mapping, columns)


def _heads(
    path: Path, headers: Mapping[str, Header], columns: Sequence[str]
) -> tuple[Mapping[str, Any], Mapping[str, tuple[str, int | None]]]:
    """Return first rows of the arrays of some columns, and the place of each column."""
    layout = Layout("unknown", "", tuple(columns))
    places = {column: _place(path.name, layout, headers, column) for column in columns}
    arrays = {}
    for array, part in places.values():
        header = headers[array]
        if header.by_column and part is not None:
            arrays[array] = zipped.archive_array(path, array)[:GUESS_ROWS]
        elif array not in arrays:
            first_rows = zipped.first_rows(path, array, GUESS_ROWS)  # an array stored by column gives its first column
            arrays[array] = (
                np.broadcast_to(first_rows, (len(first_rows), *header.shape[1:])) if len(header.shape) == 2 else first_rows[:, 0]
            )
    return arrays, places


def _fits(header: Header) -> bool:
    """Return whether an array could be a column or several."""
    return _is_readable(header) and len(header.shape) in (1, 2) and header.size > 0
