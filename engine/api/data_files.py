"""From what a script gives as data to a file that a run reads: a path, or a frame of pandas, Arrow or whatever speaks Arrow.

A frame travels as a Parquet file with a mapping beside it, in a folder of its own that goes when the call ends. The file
has the mapped columns alone and nothing of where they came from, so equal columns under an equal mapping have one digest.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..errors import BadFile, BadInput, nearest
from ..paths import written_path
from .knob_values import shown

NAME = "data.parquet"
LABELS = ("label", "labels", "click", "clicks", "clicked", "clk", "is_click", "is_clicked", "target", "y")
KEYS = ("label", "ids", "dense", "time")  # of a mapping that name columns, in the order in which they are written
ROWS = 1 << 16  # of a row group
EXAMPLE = 'mapping={"label": "clicked", "ids": ["user", "item"], "dense": ["age"]}'


@contextmanager
def data_file(data: Any, mapping: Any = None) -> Iterator[Path | None]:
    """Yield the path of a data file, None where there is none; raises BadInput. Sentences of the reader name the frame."""
    if mapping is not None and not isinstance(mapping, Mapping):
        raise BadInput(f"mapping={shown(mapping)} is no mapping; write a dict such as {EXAMPLE}.")
    if data is None:
        if mapping is not None:
            raise BadInput("mapping= says what the columns of data= mean; give both.")
        yield None
        return
    path = _path(data)
    if path is not None and mapping is None:
        yield path
        return
    with TemporaryDirectory(prefix="emberpool-") as folder:
        placed = _written(data, mapping, Path(folder)) if path is None else _linked(path, mapping or {}, Path(folder))
        try:
            yield placed
        except BadInput as error:
            raise type(error)(_renamed(str(error), placed.name)) from None


def _path(data: Any) -> Path | None:
    """Return the path that data is, None for a frame; raises BadInput for what is neither."""
    if isinstance(data, bytes):
        data = os.fsdecode(data)
    if isinstance(data, str) and not data.strip():
        raise BadInput(f"data={data!r} names no file; give a path, or leave data= out.")
    if isinstance(data, str | os.PathLike):
        return written_path(data if isinstance(data, str) else Path(data))
    if hasattr(data, "iterrows") or hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return None
    hint = "give a path, a pandas.DataFrame or an Arrow table"
    if hasattr(data, "dtype") and hasattr(data, "shape"):
        hint = "its columns have no names: give pandas.DataFrame(data, columns=[...])"
    elif isinstance(data, Mapping):
        hint = "give pandas.DataFrame(data)"
    elif hasattr(data, "read"):
        hint = "give the path of the file, not the open file"
    elif isinstance(data, list | tuple | set):
        hint = "give one path, or one pandas.DataFrame"
    raise BadInput(f"data={shown(data)}, of type {type(data).__name__}, is no data; {hint}.")


def _linked(path: Path, mapping: Mapping[Any, Any], folder: Path) -> Path:
    """Lay a file and its mapping side by side; raises BadInput where it has one already."""
    beside = Path(f"{path}.toml")
    if beside.exists():
        raise BadInput(f"{path.name} has its mapping in {beside.name}; leave mapping= out, or take that file away.")
    placed = folder / path.name
    placed.symlink_to(path.resolve())
    Path(f"{placed}.toml").write_text(_toml(mapping), encoding="utf-8")
    return placed


def _written(data: Any, mapping: Mapping[Any, Any] | None, folder: Path) -> Path:
    """Write a frame's mapped columns and its mapping; raises BadInput or BadFile."""
    import pyarrow  # late: it takes a third of a second
    from pyarrow import parquet

    reader = _reader(data, mapping)
    if mapping is None:
        mapping = _guess(reader.schema)
    wanted = _columns(mapping, tuple(reader.schema.names))
    fields = [pyarrow.field(name, _plain_type(reader.schema.field(name).type)) for name in wanted]
    schema, placed = pyarrow.schema(fields), folder / NAME
    # Plain and without statistics: the reader refuses many rows in few bytes, as of a column of one value.
    always = {"compression": "none", "use_dictionary": False, "write_statistics": False, "store_schema": False}
    try:
        with parquet.ParquetWriter(placed, schema, **always) as writer:
            for rows in _even(reader, wanted):
                writer.write_table(rows.cast(schema), row_group_size=ROWS)
    except pyarrow.ArrowException as error:
        raise _no_table(error) from error
    except OSError as error:
        full = error.errno == errno.ENOSPC
        remedy = "free some space, or set TMPDIR to a folder that has it" if full else "set TMPDIR to another folder"
        raise BadFile(f"The frame cannot be written to {folder.parent}: {error.strerror or error}; {remedy}.") from error
    Path(f"{placed}.toml").write_text(_toml(mapping), encoding="utf-8")
    return placed


def _reader(data: Any, mapping: Mapping[Any, Any] | None) -> Any:
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
                data = data[list(_columns(mapping, tuple(data.columns)))]
            return pyarrow.Table.from_pandas(data, preserve_index=False).to_reader()
        if hasattr(data, "__arrow_c_stream__"):
            reader = pyarrow.RecordBatchReader.from_stream(data)
        else:
            reader = pyarrow.Table.from_batches([pyarrow.record_batch(data)]).to_reader()
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
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


def _plain_type(kind: Any) -> Any:
    """Return the type in which a column is written: categories as their values, truth as 0 and 1."""
    from pyarrow import types, uint8

    if types.is_dictionary(kind):
        return kind.value_type
    return uint8() if types.is_boolean(kind) else kind


def _even(reader: Any, wanted: tuple[str, ...]) -> Iterator[Any]:
    """Yield the wanted columns in tables of ROWS rows, however the reader cuts them."""
    import pyarrow

    held, rows = [], 0
    for batch in reader:
        held.append(pyarrow.Table.from_batches([batch]).select(list(wanted)))
        rows += batch.num_rows
        while rows >= ROWS:
            whole = pyarrow.concat_tables(held).combine_chunks()
            yield whole.slice(0, ROWS)
            rows -= ROWS
            held = [whole.slice(ROWS)]
    if rows:
        yield pyarrow.concat_tables(held).combine_chunks()


def _guess(schema: Any) -> dict[str, Any]:
    """Return the mapping of a frame whose label's name says so: whole numbers and texts are ids, others are dense."""
    from pyarrow import types

    labels = [name for name in schema.names if name.lower() in LABELS]
    if len(labels) != 1:
        doubt = f"{' and '.join(labels)} could each be the label" if labels else f"No column of data is named like {LABELS[0]}"
        raise BadInput(f"{doubt}; its columns are {_listed(schema.names)}. Say what they mean: {EXAMPLE}.")
    found: dict[str, Any] = {"label": labels[0], "ids": [], "dense": []}
    for field in schema:
        kind = field.type
        if field.name == labels[0]:
            continue
        if types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind):
            found["dense"].append(field.name)
        elif any(
            one(kind) for one in (types.is_integer, types.is_dictionary, types.is_list, types.is_large_list, *_texts(types))
        ):
            found["ids"].append(field.name)
        else:
            raise BadInput(
                f"Column {field.name!r} of data is of type {kind}, neither ids nor numbers; say what counts: {EXAMPLE}."
            )
    if not found["ids"]:
        raise BadInput(
            f"data has no column of ids beside {labels[0]!r}; its columns are {_listed(schema.names)}. Write {EXAMPLE}."
        )
    return {key: value for key, value in found.items() if value}


def _texts(types: Any) -> tuple[Any, ...]:
    return types.is_string, types.is_large_string, types.is_binary, types.is_large_binary


def _columns(mapping: Mapping[Any, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that a mapping names, all where it names a format; raises BadInput for one that is not there."""
    if "format" in mapping:
        return names
    if not mapping.get("ids"):
        raise BadInput(f"mapping names no ids; write {EXAMPLE}.")
    wanted: list[str] = []
    for key in KEYS[1:]:
        given = mapping.get(key, ())
        wanted += map(str, given if isinstance(given, list | tuple) else [given])
    for name in wanted:
        if name not in names:
            raise BadInput(f"mapping names the column {name!r}, which data lacks; {nearest(name, names)}")
    label = str(mapping.get("label", ""))
    ruled = max((name for name in names if re.match(rf"{re.escape(name)}\s*([<>=!]|$)", label)), key=len, default=None)
    if label and ruled is None:
        raise BadInput(f"mapping names the label {label!r}, which data lacks; {nearest(label, names)}")
    return tuple(dict.fromkeys([*([ruled] if ruled is not None else []), *wanted]))


def _toml(mapping: Mapping[Any, Any]) -> str:
    """Write a mapping as TOML, the same for equal ones."""
    order = [key for key in KEYS if key in mapping] + sorted(str(key) for key in mapping if key not in KEYS)
    texts = {str(key): value for key, value in mapping.items()}
    return "".join(f"{_key(key)} = {_text(key, texts[key])}\n" for key in order)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key, re.ASCII) else _text(key, key)


def _text(key: str, value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(_text(key, one) for one in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) or (key in KEYS and isinstance(value, int)):  # columns may be numbered
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, int | float):
        return repr(value)
    raise BadInput(f"mapping gives {key!r} {shown(value)}; write a text, or a list of texts.")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _renamed(sentence: str, name: str) -> str:
    """Return a sentence about the file as one about the argument that it stands for."""
    said = sentence.replace(f"{name}.toml", "mapping")
    return re.sub(rf"{re.escape(NAME)}:(\d+)", r"data, row \1", said).replace(NAME, "data")
