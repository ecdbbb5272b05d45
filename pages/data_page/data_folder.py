"""The data folder named at start: its files by name; files outside it are refused."""

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from engine.errors import BadFile
from engine.workload.readers.formats import parts_of_file
from pages.answers import data_file
from pages.answers.data_file import DataFile

MAPPING = ".toml"
MOST_ENTRIES = 10_000  # files of the folder and its subfolders that are listed at most


def folder() -> Path | None:
    """Return the folder that was named at start."""
    path = data_file.named_path()
    return path if path and path.is_dir() else None


def names() -> tuple[str, ...]:
    """Return the sorted names of the folder's data files.

    If several files form one data set, only the main file is named.
    """
    top = folder()
    if top is None:
        return ()
    data_paths = [path for path in _entries(top) if is_inside(path, top) and not path.name.endswith(MAPPING)]
    return tuple(sorted(str(path.relative_to(top)) for path in files_by_main(data_paths)))


def named_file(name: str) -> DataFile:
    """Return the folder's file of this name; raises BadFile for any other name."""
    top = folder()
    if top is None or name not in names():
        raise BadFile(f"{name} is not a data file of the folder that was named at start; choose a file from the list.")
    for path in parts_of_file(top / name):
        if not is_inside(path, top):
            raise BadFile(
                f"{path.name} is a link out of the folder that was named at start; copy the file itself into the folder."
            )
    return data_file.register(top / name, data_file.START)


def is_inside(path: Path, top: Path) -> bool:
    """Return whether a path, after following all links, is a readable file in a folder."""
    return os.access(path, os.R_OK) and path.is_file() and path.resolve().is_relative_to(top.resolve())


def files_by_main(paths: Collection[Path]) -> Mapping[Path, frozenset[Path]]:
    """Return the data files among `paths`, each with all paths that belong to it.

    A data file belongs to itself.
    """
    members_by_file: dict[Path, frozenset[Path]] = {}
    for path in sorted(paths, key=lambda path: ("sparse" not in path.name, path.name)):  # a file of ids names its arrays
        if not any(path in members for members in members_by_file.values()):
            try:
                members_by_file[path] = frozenset({path, *(set(parts_of_file(path)) & set(paths))})
            except BadFile:  # a file that belongs to this one is missing
                members_by_file[path] = frozenset({path})
    return members_by_file


def _entries(top: Path) -> Iterator[Path]:
    num_entries = 0
    for parent, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            num_entries += 1
            if num_entries > MOST_ENTRIES:
                return
            if not name.startswith("."):
                yield Path(parent, name)
