"""Data files that this server may train on: named at start, uploaded, or typed as a path.

A typed path needs the token. Links name a file by its digest only.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from engine.errors import BadFile
from engine.paths import FileState
from engine.scenario.scenario import Scenario, with_values
from engine.service.outline import outline_refusal
from engine.store import quota
from engine.workload.readers.digest_check import file_states
from engine.workload.readers.formats import digest_of
from pages.answers import stored_uploads
from pages.answers.stored_uploads import Upload
from pages.gate import access
from pages.gate.typed_path import expand_path

START, TYPED, UPLOADED = "start", "typed", "uploaded"  # origins of a file, which decide who may see its content


@dataclass(frozen=True)
class DataFile:
    """A file on the server.

    path: its path. digest: its SHA-256, which links have. origin: how it was given.
    """

    path: Path
    digest: str
    origin: str = ""


_FILES: dict[str, dict[str, DataFile]] = {}  # files that this process may read, by digest and origin: a link never names a path


def named_path() -> Path | None:
    """Return the file or folder named when the explorer was started; raises BadFile.

    It is named by `make run DATA=PATH` or `streamlit run app.py -- --data PATH`.
    """
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--data")
    text = parser.parse_known_args(sys.argv[1:])[0].data
    return expand_path(text) if text and text.strip() else None


@cache
def start_file() -> DataFile | None:
    """Return the data file named when the explorer was started; raises BadFile if unreadable."""
    path = named_path()
    return None if path is None or path.is_dir() else register(path, START)


def register(path: Path, origin: str = "") -> DataFile:
    """Allow this server to train on a file; raises BadFile if unreadable."""
    try:
        if not path.is_file():
            raise BadFile(f"{path} is not a file on this computer; give the path of a data file, such as Criteo's, plain or .gz.")
        file = DataFile(path, _digest(path, file_states(path)), origin)
    except OSError as error:
        raise BadFile(
            f"{path} cannot be read: {error.strerror}; give another file, or name one at start with make run DATA=file."
        ) from error
    _FILES.setdefault(file.digest, {})[origin] = file
    return file


@lru_cache(maxsize=64)
def _digest(path: Path, states: tuple[FileState, ...]) -> str:
    """Return the digest of files in such states, cached: 10 GB take ten seconds."""
    return digest_of(path)


def with_start_file(scenario: Scenario) -> Scenario:
    """Return `scenario` with training on the file named at start, if there is one."""
    file = start_file()
    return with_values(scenario, {"data.digest": file.digest}) if file else scenario


def path_for(scenario: Scenario) -> Path | None:
    """Return the path of the scenario's data file; None if the generator makes its data.

    Raises BadFile if this server lacks the file.
    """
    return file_of(scenario).path if scenario.data.digest else None


def file_of(scenario: Scenario) -> DataFile:
    """Return the scenario's data file, preferably one that the visitor may see.

    An upload counts as used from now on. Raises BadFile if this server has none.
    """
    digest = scenario.data.digest
    start_file()
    if files := [*_FILES.get(digest, {}).values(), *map(uploaded_file, stored_uploads.stored_uploads(digest) if digest else ())]:
        file = next(filter(is_visible, files), files[0])
        if file.origin == UPLOADED:
            quota.note_upload_use(file.path.parent)
        return file
    raise BadFile(
        f"data.digest={digest[:12]} names a data file that this server does not have, or an upload that was deleted; upload the "
        "same file again, start the server with make run DATA=file, or empty the knob to train on generated data."
    )


def uploaded_file(upload: Upload) -> DataFile:
    """Return the data file of an upload."""
    return DataFile(upload.path, upload.digest, UPLOADED)


def is_visible(file: DataFile) -> bool:
    """Return whether this visitor may see a file's content.

    A visitor may see files named at start, the visitor's own uploads, or files typed with the token.
    """
    if file.origin == TYPED:
        return access.is_trusted()
    return file.origin == START or (file.origin == UPLOADED and stored_uploads.is_owner(access.visitor(), file.path.parent))


@contextmanager
def refusals(file: DataFile) -> Iterator[None]:
    """Read a file in the block; error sentences omit content that the visitor may not see."""
    try:
        yield
    except BadFile as error:
        if is_visible(file):
            raise
        raise outline_refusal(error, file.path) from None


def sentence(error: BaseException, scenario: Scenario) -> str:
    """Return an error's sentence without file content that the visitor may not see."""
    if not isinstance(error, BadFile) or not scenario.data.digest:
        return str(error)
    try:
        file = file_of(scenario)
    except BadFile:  # the server has no such file, or it was deleted meanwhile
        return str(error)
    return str(error) if is_visible(file) else str(outline_refusal(error, file.path))
