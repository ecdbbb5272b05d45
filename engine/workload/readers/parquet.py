"""Reads Parquet files, a block of rows at a time.

The layout is Yambda's, or that of a mapping.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from pyarrow import parquet

from ...core.arithmetic import total
from ...core.figures import count, figure
from ...errors import BadFile
from .blocks import EXPANSION, FREE_TEXT
from .first_cells import is_mappable
from .foreign import column_list
from .layouts import Layout
from .lists import is_list
from .recording import Recording
from .samples import Watch, unwatched
from .samples_from_columns import Rows, read_samples
from .user_histories import has_events_in_lists

ROWS = 1 << 16
MOST_BATCH_NBYTES = 1 << 26  # bytes of the rows that are read together, whose lists may be long
MOST_GROUP_NBYTES = 1 << 30  # bytes of one row group, which is unpacked as a whole
FREE_ROWS = 1 << 20  # rows of a file of any size; each further row needs a byte, as a column of one value packs without end


def read_parquet(path: Path, name: str, meaning: Callable[[tuple[str, ...]], Layout], watch: Watch = unwatched) -> Recording:
    """Return the recording of a Parquet file; raises BadFile.

    `meaning` returns the layout of the file from the names of its columns.
    """
    with _open_parquet(path, name) as file:
        layout = meaning(tuple(file.schema_arrow.names))
        _check(name, file, layout, path.stat().st_size)
        _check_kinds(name, file.schema_arrow, layout)
        return read_samples(name, layout, _tables(name, file, layout, watch), watch)


def rows_of(path: Path, name: str, watch: Watch = unwatched) -> Iterator[Rows]:
    """Yield all columns of a Parquet file, a block of rows at a time.

    Raises BadFile.
    """
    with _open_parquet(path, name) as file:
        layout = Layout("unknown", "", tuple(file.schema_arrow.names))
        _check(name, file, layout, path.stat().st_size)
        yield from _tables(name, file, layout, watch)


def names(path: Path, name: str) -> tuple[str, ...]:
    """Return the names of a Parquet file's columns; raises BadFile."""
    with _open_parquet(path, name) as file:
        return tuple(file.schema_arrow.names)


@contextmanager
def _open_parquet(path: Path, name: str) -> Iterator[Any]:
    try:
        with parquet.ParquetFile(path, memory_map=False) as file:
            yield file
    except (pyarrow.ArrowException, OSError) as error:
        raise BadFile(
            f"{name} is a damaged or cut off Parquet file: {' '.join(str(error).split())[:150]}; copy it again."
        ) from error


def _check(name: str, file: Any, layout: Layout, nbytes: int) -> None:
    column_names = tuple(file.schema_arrow.names)
    for column in layout.read_columns:
        if column_names.count(column) != 1:
            count_text = "several columns" if column in column_names else "no column"
            raise BadFile(
                f"{name} has {count_text} {column[:40]!r}, but {layout.name} needs exactly one; its columns are "
                f"{column_list(column_names)}."
            )
    rows = file.metadata.num_rows
    if rows > FREE_ROWS + nbytes:
        raise BadFile(
            f"{name} declares {count(rows, 'row')} in {count(nbytes, 'byte')}, unlike any log of clicks; write fewer rows."
        )
    for group in range(file.metadata.num_row_groups):
        group_nbytes = file.metadata.row_group(group).total_byte_size
        if group_nbytes > min(MOST_GROUP_NBYTES, FREE_TEXT + EXPANSION * nbytes):
            raise BadFile(
                f"{name} has a row group of {figure(group_nbytes / 2**20, 'MiB')}, more than {EXPANSION} times the file or than "
                f"{MOST_GROUP_NBYTES >> 30} GiB; write it again with smaller row groups."
            )


def _check_kinds(name: str, schema: Any, layout: Layout) -> None:
    """Raise BadFile for a column whose type does not suit its role in the layout."""
    explodes = has_events_in_lists(layout, {column: schema.field(column).type for column in layout.read_columns})
    single = [(use, column) for use, column in (("label", layout.label), ("time", layout.time)) if column]
    single += [("dense", column) for column in layout.dense]
    for use, column in single:
        kind = schema.field(column).type
        kind = kind.value_type if explodes and is_list(kind) else kind
        if is_list(kind) or not is_mappable(kind):
            raise BadFile(
                f"{name}: {use} {column[:40]!r} is a column of {str(kind)[:60]}; map a column with one value per sample."
            )
    for column in layout.ids:
        kind = schema.field(column).type
        inner = kind.value_type if is_list(kind) else kind
        if is_list(inner) or not is_mappable(inner):
            column_text = f"{name}: {column[:40]!r} is a column of {str(kind)[:60]}"
            raise BadFile(f"{column_text}, which has no ids; map a column of whole numbers, texts or lists of them.")


def _batch_rows(metadata: Any) -> int:
    """Return the number of rows to read together: few where lists make them large."""
    nbytes = total(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    return int(max(1, min(ROWS, MOST_BATCH_NBYTES * metadata.num_rows // max(nbytes, 1))))


def _tables(name: str, file: Any, layout: Layout, watch: Watch) -> Iterator[Rows]:
    row = 1
    for batch in file.iter_batches(batch_size=_batch_rows(file.metadata), columns=list(layout.read_columns), use_threads=False):
        lines = np.arange(row, row + batch.num_rows)
        yield Rows(name, lines, {column: batch.column(column) for column in layout.read_columns})
        row += batch.num_rows
        watch(row / (file.metadata.num_rows + 1), f"reading {name}")
    if row - 1 != file.metadata.num_rows:
        raise BadFile(f"{name} declares {count(file.metadata.num_rows, 'row')}, but {count(row - 1)} were read; write it again.")
