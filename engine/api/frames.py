"""From a frame of pandas, Arrow or whatever speaks Arrow to a Parquet file of its mapped columns alone."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from ..errors import BadFile, BadInput
from .arrow_columns import plain, plain_type
from .column_mapping import EXAMPLE, columns_of, guess

ROWS = 1 << 16  # of a row group
LOOKED_AT = 1000  # rows from which is guessed what columns mean
NO_TABLE = (TypeError, ValueError, OverflowError)  # beside those of Arrow's own


def write(data: Any, mapping: Mapping[str, Any] | None, placed: Path) -> Mapping[str, Any]:
    """Write a frame's mapped columns, and return the mapping, a guess where none is given; raises BadInput or BadFile."""
    import pyarrow  # late: it takes a third of a second
    from pyarrow import parquet

    reader = _reader(data, mapping)
    # Plain and without statistics: the reader refuses many rows in few bytes, as of a column of one value.
    always = {"compression": "none", "use_dictionary": False, "write_statistics": False, "store_schema": False}
    try:
        batches: Iterable[Any] = reader
        if mapping is None:
            first = _first(reader)
            mapping, batches = guess(pyarrow.Table.from_batches(first, reader.schema).slice(0, LOOKED_AT)), chain(first, reader)
        wanted = columns_of(mapping, tuple(reader.schema.names))
        schema = pyarrow.schema([(name, plain_type(reader.schema.field(name).type)) for name in wanted])
        with parquet.ParquetWriter(placed, schema, **always) as writer:
            for rows in _even(batches, schema):
                writer.write_table(rows, row_group_size=ROWS)
    except (pyarrow.ArrowException, OverflowError) as error:
        raise _no_table(error) from error
    except OSError as error:
        full = error.errno == errno.ENOSPC
        remedy = "free some space, or set TMPDIR to a folder that has it" if full else "set TMPDIR to another folder"
        where = placed.parent.parent
        raise BadFile(f"The frame cannot be written to {where}: {error.strerror or error}; {remedy}.") from error
    return mapping


def _reader(data: Any, mapping: Mapping[str, Any] | None) -> Any:
    """Return a reader of record batches whose columns have texts as names, each once; raises BadInput.

    Of a pandas frame only the mapped columns are looked at: others may hold what Arrow cannot.
    """
    import pyarrow

    try:
        if hasattr(data, "iterrows"):
            data = data.set_axis(list(map(str, data.columns)), axis=1)
            _check_names(list(data.columns))
            if mapping is None:
                _check_whole(data)
            else:
                data = data[list(columns_of(mapping, tuple(data.columns)))]
            return pyarrow.Table.from_pandas(data, preserve_index=False).to_reader()
        if hasattr(data, "__arrow_c_stream__"):
            reader = pyarrow.RecordBatchReader.from_stream(data)
        else:
            reader = pyarrow.Table.from_batches([pyarrow.record_batch(data)]).to_reader()
    except (pyarrow.ArrowException, *NO_TABLE) as error:
        raise _no_table(error) from error
    _check_names(reader.schema.names)
    return reader


def _no_table(error: Exception) -> BadInput:
    why = " ".join(str(error).split())[:160].rstrip(".")
    return BadInput(
        f"data cannot be read as a table ({why}); give a pandas.DataFrame or an Arrow table of numbers, texts or lists."
    )


def _check_whole(frame: Any) -> None:
    """Refuse to guess what whole numbers with gaps are: pandas makes numbers with a point of ids where one is missing."""
    for name in frame.columns:
        held = frame[name]
        if held.dtype.kind == "f" and held.hasnans and (held.dropna() % 1 == 0).all():
            raise BadInput(f"Column {name!r} of data has whole numbers and gaps: ids, or a dense feature? Say which: {EXAMPLE}.")


def _check_names(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"data has several columns {name!r}; name each column once.")


def _first(reader: Any) -> list[Any]:
    """Return the first batches of a reader, with as many rows as are looked at."""
    found: list[Any] = []
    with suppress(StopIteration):
        while sum(batch.num_rows for batch in found) < LOOKED_AT:
            found.append(reader.read_next_batch())
    return found


def _even(batches: Iterable[Any], schema: Any) -> Iterator[Any]:
    """Yield the wanted columns in tables of ROWS rows, however the batches are cut."""
    import pyarrow

    held, rows = [], 0
    for batch in batches:
        columns = [plain(batch.column(name)) for name in schema.names]
        held.append(pyarrow.Table.from_arrays(columns, schema=schema))
        rows += batch.num_rows
        while rows >= ROWS:
            whole = pyarrow.concat_tables(held).combine_chunks()
            yield whole.slice(0, ROWS)
            rows -= ROWS
            held = [whole.slice(ROWS)]
    if rows:
        yield pyarrow.concat_tables(held).combine_chunks()
