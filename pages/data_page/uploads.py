"""Uploaded files: kept whole and private in a folder named by their digest, and all of them used or refused by a sentence."""

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from engine.errors import BadFile
from engine.workload.readers.formats import files_of
from pages.answers import data_file
from pages.answers.data_file import DataFile
from pages.data_page.data_folder import MAPPING, groups

FOLDER = Path(".emberpool") / "uploads"
OTHER, MOST_NAME = re.compile(r"[^A-Za-z0-9._-]"), 240  # letters, so that a reader can put a word behind a name
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600


def keep(files: Iterable[tuple[str, bytes]]) -> DataFile:
    """Keep files that were uploaded together, by name; returns the one that is read, beside which the others lie.

    No other upload takes their place, whatever its name. Raises BadFile where one would be left out, or cannot be kept.
    """
    contents = named(files)
    digest = sha256(repr([(name, sha256(contents[name]).hexdigest()) for name in sorted(contents)]).encode()).hexdigest()
    target = FOLDER / digest
    try:
        if not _is_whole(target, contents):
            _write(target, contents)
    except OSError as error:
        raise BadFile(f"The file cannot be kept on the server ({error.strerror}); try again later.") from error
    return data_file.register(_main(target, contents), data_file.UPLOADED)


def named(files: Iterable[tuple[str, bytes]]) -> Mapping[str, bytes]:
    """Return contents by their names on the server; raises BadFile where two would be one, or a mapping has no file.

    A mapping gets the name under which readers look for it: `clicks.toml` beside `clicks.csv` is `clicks.csv.toml`.
    """
    cleaned = [(cleaned_name(name), content) for name, content in files]
    data = sorted({name for name, _ in cleaned if not name.endswith(MAPPING)})
    if not data:
        raise BadFile("These are no data: give the file itself with its mapping.")
    found: dict[str, bytes] = {}
    for name, content in cleaned:
        name = _mapping_name(name, data) if name.endswith(MAPPING) else name
        twin = next((other for other in found if other.casefold() == name.casefold()), name)
        if found.get(twin, content) != content:
            raise BadFile(f"Two of these files would be called {name} on the server; rename one, letters and digits count.")
        found[twin] = content
    return found


def cleaned_name(name: str) -> str:
    """Return a name of letters, digits and `._-` that is no path and not hidden; raises BadFile for an endless one."""
    cleaned = OTHER.sub("_", name).lstrip(".") or "file"
    stem = cleaned[: -len(MAPPING)] if cleaned.lower().endswith(MAPPING) else ""
    if len(stem or cleaned) > MOST_NAME:
        raise BadFile(
            f"{name[:40]}... has {len(name)} letters in its name, and at most {MOST_NAME} can be kept; rename the file."
        )
    return f"{stem}{MAPPING}" if stem else cleaned


def _mapping_name(name: str, data: Iterable[str]) -> str:
    """Return the name of a mapping beside its data file: that of the file with .toml, or with its ending in place of it."""
    stem = name.removesuffix(MAPPING)
    of = [one for one in data if one == stem] or [one for one in data if one.startswith(f"{stem}.")]
    if len(of) != 1:
        which = "several" if of else "none"
        raise BadFile(f"{name} could be the mapping of {which} of these files; call that of FILE exactly FILE{MAPPING}.")
    return f"{of[0]}{MAPPING}"


def _is_whole(folder: Path, contents: Mapping[str, bytes]) -> bool:
    """Return whether all files are there as they were uploaded: an older program, or a crash, may have left less."""
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
                raise BadFile(f"{name} was not kept whole on the server; upload it again.")
        _main(unfinished, contents)
        shutil.rmtree(target, ignore_errors=True)
        unfinished.replace(target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _main(folder: Path, contents: Mapping[str, bytes]) -> Path:
    """Return the data file to which all others belong; raises BadFile where one would not be read."""
    paths = frozenset(folder / name for name in contents)
    found = groups([path for path in paths if not path.name.endswith(MAPPING)])
    if len(found) > 1:
        for path in found:  # one that is missing is worth more than a word about those that are there
            files_of(path)
        first, second = sorted(path.name for path in found)[:2]
        raise BadFile(
            f"{first} and {second} are {len(found)} recordings, and a run trains on one: put their rows into one file, in "
            "their order, or upload one of them, with those that belong to it."
        )
    (main,) = found
    unread = sorted(path.name for path in paths - set(files_of(main)))
    if unread:
        raise BadFile(f"{unread[0]} is not read together with {main.name}; upload one without the other.")
    return main
