"""Data files for runs, from a script's data: a path or a frame.

A frame becomes a Parquet file and a mapping file in a temporary folder, which is removed when the call ends. The Parquet file
has only the mapped columns and no metadata of their origin, so equal columns under an equal mapping have one digest.
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
from ..paths import open_regular, user_path
from ..paths import short_path as shown_path
from ..workload.readers.file_tables import MOST_SETTINGS
from ..workload.readers.mapping import place
from . import frames
from .column_mapping import Columns, mapping_of, toml
from .knob_values import keyword, short_text

NAME = "data.parquet"


@contextmanager
def data_file(clicks: Any, mapping: Any = None) -> Iterator[Path | None]:
    """Yield the path of a file with the data, None without data.

    Raises BadInput with a sentence that names the frame.
    """
    columns = mapping_of(mapping)
    if clicks is None:
        if columns is not None:
            raise BadInput("mapping= gives the roles of the columns of data=; give both arguments.")
        yield None
        return
    try:
        path = _path(clicks)
        if path is not None:
            open_regular(path).close()
        if path is not None and columns is None:
            yield path
            return
        if path is not None:
            _check_unmapped(path)
        with TemporaryDirectory(prefix="emberpool-") as folder:
            file_path = Path(folder) / (NAME if path is None else path.name)
            try:
                _write_files(file_path, path, clicks, columns)
                yield file_path
            except BadInput as error:
                raise _argument_error(error, file_path, path) from None
    except UnlikeModel as error:
        raise _keyword_error(error, columns is not None) from None


def _check_unmapped(path: Path) -> None:
    """Raise BadInput where a file has a mapping beside it already."""
    with suppress(OSError):  # a name that is too long
        if mapping_path := place(path):
            raise BadInput(f"{path.name} has its mapping in {mapping_path.name}; leave out mapping=, or remove that file.")


def _write_files(file_path: Path, path: Path | None, clicks: Any, columns: Columns | None) -> None:
    """Write a frame's file, or a link to a file, and a mapping beside."""
    if path is None:
        columns = frames.write(clicks, columns, file_path)
        Path(f"{file_path}.toml").write_text(toml(columns), encoding="utf-8")
        return
    try:
        file_path.symlink_to(path.resolve())
        Path(f"{file_path}.toml").write_text(toml(columns or {}), encoding="utf-8")
    except OSError as error:
        raise BadFile(f"{shown_path(path)} cannot be read with a mapping: {error.strerror or error}; rename it.") from error


def _argument_error(error: BadInput, file_path: Path, path: Path | None) -> BadInput:
    """Return an error about the temporary file as one about the script's argument."""
    sentence = error.fact if isinstance(error, UnlikeModel) else str(error)
    if path is not None:
        for own_name, script_name in ((str(file_path), str(path)), (shown_path(file_path), shown_path(path))):
            sentence = sentence.replace(own_name, script_name)
    sentence = sentence.replace(f"{file_path.name}.toml", "mapping")
    if path is None:
        sentence = re.sub(rf"{re.escape(NAME)}:(\d+)", r"data, row \1", sentence).replace(NAME, "data")
    return UnlikeModel(sentence, "", error.changes) if isinstance(error, UnlikeModel) else type(error)(sentence)


def _keyword_error(error: UnlikeModel, mapped: bool) -> UnlikeModel:
    """Return the refusal of another shape of file with a script's keywords as remedy."""
    words = ", ".join(f"{keyword(path)}={setting!r}" for path, setting in error.changes.items())
    way = f"start from ep.fit(data{', mapping=mapping' if mapped else ''}), which suits it"
    way = f"write {words}; or {way}" if len(words) <= MOST_SETTINGS else way
    return UnlikeModel(error.fact, way, error.changes)


def _path(clicks: Any) -> Path | None:
    """Return the path of the data, None for a frame; raises BadInput for other types."""
    if isinstance(clicks, bytes):
        clicks = os.fsdecode(clicks)
    if isinstance(clicks, str) and not clicks.strip():
        raise BadInput(f"data={clicks!r} is not the name of a file; give a path, or leave out data=.")
    if isinstance(clicks, str | os.PathLike):
        return user_path(clicks if isinstance(clicks, str) else Path(os.fsdecode(clicks)))
    if hasattr(clicks, "iterrows") or hasattr(clicks, "__arrow_c_stream__") or hasattr(clicks, "__arrow_c_array__"):
        return None
    hint = "give a path, a pandas.DataFrame or an Arrow table"
    if hasattr(clicks, "dtype") and hasattr(clicks, "shape"):
        hint = "its columns have no names: give pandas.DataFrame(data, columns=[...])"
    elif isinstance(clicks, Mapping):
        hint = "give pandas.DataFrame(data)"
    elif hasattr(clicks, "read"):
        hint = "give the path of the file, not the open file"
    elif isinstance(clicks, list | tuple | set):
        hint = "give one path, or one pandas.DataFrame"
    raise BadInput(f"data={short_text(clicks)}, of type {type(clicks).__name__}, is not data; {hint}.")
