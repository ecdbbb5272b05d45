"""From what a script gives as data to a file that a run reads: a path, or a frame of pandas, Arrow or whatever speaks Arrow.

A frame travels as a Parquet file with a mapping beside it, in a folder of its own that goes when the call ends. The file
has the mapped columns alone and nothing of where they came from, so equal columns under an equal mapping have one digest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..errors import BadFile, BadInput, UnlikeModel
from ..paths import written_path
from ..workload.readers.blocks import opened
from ..workload.readers.blocks import shown as shown_path
from ..workload.readers.file_tables import MOST_SETTINGS
from ..workload.readers.mapping import place
from . import frames
from .column_mapping import Columns, mapping_of, toml
from .knob_values import keyword, shown

NAME = "data.parquet"


@contextmanager
def data_file(data: Any, mapping: Any = None) -> Iterator[Path | None]:
    """Yield the path of a data file, None where there is none; raises BadInput. Sentences of the reader name the frame."""
    columns = mapping_of(mapping)
    if data is None:
        if columns is not None:
            raise BadInput("mapping= says what the columns of data= mean; give both.")
        yield None
        return
    try:
        path = _path(data)
        if path is not None:
            opened(path).close()
        if path is not None and columns is None:
            yield path
            return
        if path is not None:
            _check_unmapped(path)
        with TemporaryDirectory(prefix="emberpool-") as folder:
            placed = Path(folder) / (NAME if path is None else path.name)
            try:
                _fill(placed, path, data, columns)
                yield placed
            except BadInput as error:
                raise _of_argument(error, placed, path) from None
    except UnlikeModel as error:
        raise _in_keywords(error, columns is not None) from None


def _check_unmapped(path: Path) -> None:
    """Raise BadInput where a file has a mapping beside it already."""
    with suppress(OSError):  # a name that is too long
        if beside := place(path):
            raise BadInput(f"{path.name} has its mapping in {beside.name}; leave mapping= out, or take that file away.")


def _fill(placed: Path, path: Path | None, data: Any, columns: Columns | None) -> None:
    """Lay a frame's file, or a link to a file, and its mapping side by side."""
    if path is None:
        columns = frames.write(data, columns, placed)
        Path(f"{placed}.toml").write_text(toml(columns), encoding="utf-8")
        return
    try:
        placed.symlink_to(path.resolve())
        Path(f"{placed}.toml").write_text(toml(columns or {}), encoding="utf-8")
    except OSError as error:
        raise BadFile(f"{shown_path(path)} cannot be read with a mapping: {error.strerror or error}; rename it.") from error


def _of_argument(error: BadInput, placed: Path, path: Path | None) -> BadInput:
    """Return an error about a file in our own folder as one about what the script gave."""
    sentence = error.fact if isinstance(error, UnlikeModel) else str(error)
    if path is not None:
        for ours, theirs in ((str(placed), str(path)), (shown_path(placed), shown_path(path))):
            sentence = sentence.replace(ours, theirs)
    sentence = sentence.replace(f"{placed.name}.toml", "mapping")
    if path is None:
        sentence = re.sub(rf"{re.escape(NAME)}:(\d+)", r"data, row \1", sentence).replace(NAME, "data")
    return UnlikeModel(sentence, "", error.changes) if isinstance(error, UnlikeModel) else type(error)(sentence)


def _in_keywords(error: UnlikeModel, mapped: bool) -> UnlikeModel:
    """Return the refusal of a file of another shape with what a script can write, in place of arguments of the command line."""
    words = ", ".join(f"{keyword(path)}={value!r}" for path, value in error.changes.items())
    way = f"start from ep.fit(data{', mapping=mapping' if mapped else ''}), which suits it"
    way = f"write {words}; or {way}" if len(words) <= MOST_SETTINGS else way
    return UnlikeModel(error.fact, way, error.changes)


def _path(data: Any) -> Path | None:
    """Return the path that data is, None for a frame; raises BadInput for what is neither."""
    if isinstance(data, bytes):
        data = os.fsdecode(data)
    if isinstance(data, str) and not data.strip():
        raise BadInput(f"data={data!r} names no file; give a path, or leave data= out.")
    if isinstance(data, str | os.PathLike):
        return written_path(data if isinstance(data, str) else Path(os.fsdecode(data)))
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
