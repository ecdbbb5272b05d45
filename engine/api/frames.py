"""Parquet files with the mapped columns of a frame of pandas or Arrow."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from ..core.arithmetic import total
from ..errors import BadFile, BadInput
from .arrow_columns import plain_column, plain_type
from .column_mapping import EXAMPLE, columns_of, guess

ROWS = 1 << 16  # rows of a row group
GUESS_ROWS = 1000  # rows from which the columns' meaning is guessed
NO_TABLE = (TypeError, ValueError, OverflowError)  # errors of a frame that is no table, beside Arrow's own


def write(frame: Any, mapping: Mapping[str, Any] | None, file_path: Path) -> Mapping[str, Any]:
    """Write a frame's mapped columns to a file; return the mapping.

    Without a mapping, it is guessed from the first rows. Raises BadInput or BadFile.
    """
    import pyarrow  # late: it takes a third of a second
    from pyarrow import parquet

    reader = _reader(frame, mapping)
    # Plain and without statistics: the reader refuses many rows in few bytes, as of a column of one value.
    writer_options = {"compression": "none", "use_dictionary": False, "write_statistics": False, "store_schema": False}
    try:
        batches: Iterable[Any] = reader
        if mapping is None:
            first_batches = _read_first_batches(reader)
            mapping, batches = (
                guess(pyarrow.Table.from_batches(first_batches, reader.schema).slice(0, GUESS_ROWS)),
                chain(first_batches, reader),
            )
        column_names = columns_of(mapping, tuple(reader.schema.names))
        schema = pyarrow.schema([(name, plain_type(reader.schema.field(name).type)) for name in column_names])
        with parquet.ParquetWriter(file_path, schema, **writer_options) as writer:
            for rows in _even_tables(batches, schema):
                writer.write_table(rows, row_group_size=ROWS)
    except (pyarrow.ArrowException, OverflowError) as error:
        raise _no_table_error(error) from error
    except OSError as error:
        is_disk_full = error.errno == errno.ENOSPC
        remedy = "free some space, or set TMPDIR to a folder that has it" if is_disk_full else "set TMPDIR to another folder"
        folder = file_path.parent.parent
        raise BadFile(f"The frame cannot be written to {folder}: {error.strerror or error}; {remedy}.") from error
    return mapping


def _reader(frame: Any, mapping: Mapping[str, Any] | None) -> Any:
    """Return a reader of record batches whose columns have texts as names, each once.

    Raises BadInput.
    Only the mapped columns of a pandas frame are read: others may have types that Arrow lacks.
    """
    import pyarrow

    try:
        if hasattr(frame, "iterrows"):
            frame = frame.set_axis(list(map(str, frame.columns)), axis=1)
            _check_names(list(frame.columns))
            if mapping is None:
                _check_gaps(frame)
            else:
                frame = frame[list(columns_of(mapping, tuple(frame.columns)))]
            return pyarrow.Table.from_pandas(frame, preserve_index=False).to_reader()
        if hasattr(frame, "__arrow_c_stream__"):
            reader = pyarrow.RecordBatchReader.from_stream(frame)
        else:
            reader = pyarrow.Table.from_batches([pyarrow.record_batch(frame)]).to_reader()
    except (pyarrow.ArrowException, *NO_TABLE) as error:
        raise _no_table_error(error) from error
    _check_names(reader.schema.names)
    return reader


def _no_table_error(error: Exception) -> BadInput:
    reason = " ".join(str(error).split())[:160].rstrip(".")
    return BadInput(
        f"data cannot be read as a table ({reason}); give a pandas.DataFrame or an Arrow table of numbers, texts or lists."
    )


def _check_gaps(frame: Any) -> None:
    """Raise BadInput for columns of whole numbers with gaps, whose meaning cannot be guessed.

    Pandas turns ids into numbers with a point where one is missing.
    """
    for name in frame.columns:
        column = frame[name]
        if column.dtype.kind == "f" and column.hasnans and (column.dropna() % 1 == 0).all():
            raise BadInput(
                f"Column {name!r} of data has whole numbers and missing values, so it may be ids or a dense feature; name its "
                f"role in mapping: {EXAMPLE}."
            )


def _check_names(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"data has several columns with the name {name!r}; give each column its own name.")


def _read_first_batches(reader: Any) -> list[Any]:
    """Return the first batches of a reader, with LOOKED_AT rows or all."""
    batches: list[Any] = []
    with suppress(StopIteration):
        while total(batch.num_rows for batch in batches) < GUESS_ROWS:
            batches.append(reader.read_next_batch())
    return batches


def _even_tables(batches: Iterable[Any], schema: Any) -> Iterator[Any]:
    """Yield the columns of `schema` in tables of ROWS rows, for batches of any size."""
    import pyarrow

    tables, rows = [], 0
    for batch in batches:
        columns = [plain_column(batch.column(name)) for name in schema.names]
        tables.append(pyarrow.Table.from_arrays(columns, schema=schema))
        rows += batch.num_rows
        while rows >= ROWS:
            table = pyarrow.concat_tables(tables).combine_chunks()
            yield table.slice(0, ROWS)
            rows -= ROWS
            tables = [table.slice(ROWS)]
    if rows:
        yield pyarrow.concat_tables(tables).combine_chunks()
