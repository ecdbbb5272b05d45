"""Uploaded files, stored unchanged in a private folder named by their digest.

An uploaded file that no reader would use is refused.
"""

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from engine.errors import BadFile
from engine.workload.readers.formats import parts_of_file
from pages.answers import data_file
from pages.answers.data_file import DataFile
from pages.data_page.data_folder import MAPPING, files_by_main

FOLDER = Path(".emberpool") / "uploads"
FORBIDDEN_CHARACTERS, MOST_NAME = re.compile(r"[^A-Za-z0-9._-]"), 240  # characters of a name at most, with room for a suffix
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600


def keep_upload(files: Iterable[tuple[str, bytes]]) -> DataFile:
    """Store files that were uploaded together; return the main one.

    An upload never overwrites another, whatever its name. Raises BadFile where a file would not be used, or cannot be stored.
    """
    contents = contents_by_name(files)
    digest = sha256(repr([(name, sha256(contents[name]).hexdigest()) for name in sorted(contents)]).encode()).hexdigest()
    target = FOLDER / digest
    try:
        if not _is_whole(target, contents):
            _write(target, contents)
    except OSError as error:
        raise BadFile(f"The server cannot store the file ({error.strerror}); try again later.") from error
    return data_file.register(_main_file(target, contents), data_file.UPLOADED)


def contents_by_name(files: Iterable[tuple[str, bytes]]) -> Mapping[str, bytes]:
    """Return the files' contents by their names on the server.

    A mapping file gets the name under which readers search it: `clicks.toml` for `clicks.csv` becomes `clicks.csv.toml`.
    Raises BadFile where two files would get the same name, or a mapping has no data file.
    """
    cleaned = [(cleaned_name(name), content) for name, content in files]
    data_names = sorted({name for name, _ in cleaned if not name.endswith(MAPPING)})
    if not data_names:
        raise BadFile("These files are mappings without data; upload the data file together with its mapping.")
    content_by_name: dict[str, bytes] = {}
    for name, content in cleaned:
        name = _mapping_name(name, data_names) if name.endswith(MAPPING) else name
        twin = next((other_name for other_name in content_by_name if other_name.casefold() == name.casefold()), name)
        if content_by_name.get(twin, content) != content:
            raise BadFile(f"Two of these files would get the name {name} on the server; rename one with other letters or digits.")
        content_by_name[twin] = content
    return content_by_name


def cleaned_name(name: str) -> str:
    """Return a name with only letters, digits and `._-`, which is no path and not hidden.

    Raises BadFile for a name that is too long.
    """
    cleaned = FORBIDDEN_CHARACTERS.sub("_", name).lstrip(".") or "file"
    stem = cleaned[: -len(MAPPING)] if cleaned.lower().endswith(MAPPING) else ""
    if len(stem or cleaned) > MOST_NAME:
        raise BadFile(
            f"{name[:40]}... is a name of {len(name)} characters, and at most {MOST_NAME} are allowed; rename the file."
        )
    return f"{stem}{MAPPING}" if stem else cleaned


def _mapping_name(name: str, data_names: Iterable[str]) -> str:
    """Return a mapping's name: its data file's name with .toml behind.

    The data file is called as the mapping's stem, or as the stem with an ending.
    """
    stem = name.removesuffix(MAPPING)
    candidates = [data_name for data_name in data_names if data_name == stem] or [
        data_name for data_name in data_names if data_name.startswith(f"{stem}.")
    ]
    if len(candidates) != 1:
        count_word = "several" if candidates else "none"
        raise BadFile(
            f"{name} could be the mapping of {count_word} of these files; the mapping of FILE must have the name FILE{MAPPING}."
        )
    return f"{candidates[0]}{MAPPING}"


def _is_whole(folder: Path, contents: Mapping[str, bytes]) -> bool:
    """Whether all files are there as uploaded; older programs or crashes may leave fewer."""
    files = {path.name: path for path in folder.iterdir()} if folder.is_dir() else {}
    if not all(name in files and files[name].stat().st_size == len(content) for name, content in contents.items()):
        return False
    folder.chmod(PRIVATE_FOLDER)
    for name in contents:
        files[name].chmod(PRIVATE_FILE)
    return all(files[name].read_bytes() == content for name, content in contents.items())


def _write(target: Path, contents: Mapping[str, bytes]) -> None:
    """Write files into a private folder, whole or not at all. Raises OSError, BadFile."""
    FOLDER.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    FOLDER.chmod(PRIVATE_FOLDER)
    unfinished = FOLDER / f"{target.name}.{uuid4().hex}"
    unfinished.mkdir(PRIVATE_FOLDER)
    try:
        for name, content in contents.items():
            with os.fdopen(os.open(unfinished / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if (unfinished / name).stat().st_size != len(content):
                raise BadFile(f"The server has stored only a part of {name}; upload the file again.")
        _main_file(unfinished, contents)
        shutil.rmtree(target, ignore_errors=True)
        unfinished.replace(target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _main_file(folder: Path, contents: Mapping[str, bytes]) -> Path:
    """Return the data file to which all others belong.

    Raises BadFile where one would not be read.
    """
    paths = frozenset(folder / name for name in contents)
    recordings = files_by_main([path for path in paths if not path.name.endswith(MAPPING)])
    if len(recordings) > 1:
        for path in recordings:  # the error of a missing file comes first
            parts_of_file(path)
        first_name, second_name = sorted(path.name for path in recordings)[:2]
        raise BadFile(
            f"These are {len(recordings)} separate data files, such as {first_name} and {second_name}, but a run trains on one: "
            "put their rows into one file, in their order, or upload only one of them with the files that belong to it."
        )
    (main,) = recordings
    unread = sorted(path.name for path in paths - set(parts_of_file(main)))
    if unread:
        raise BadFile(f"{unread[0]} does not belong to {main.name}, so it would be ignored; upload only one of the two.")
    return main
