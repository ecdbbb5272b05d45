"""A data file held to the digest that it is known by, so that what is found of it can be kept under that digest."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import BadFile
from ...paths import FileState, file_state
from .blocks import shown
from .formats import digest_of, files_of


@contextmanager
def digest_check(path: Path, digest: str) -> Iterator[None]:
    """Check before and after a block that a data file is the one of a digest; raises BadFile.

    It is read once more where its state says that it was touched meanwhile.
    """
    before = file_states(path)
    _check(path, digest)
    yield
    if file_states(path) != before:
        _check(path, digest)


def file_states(path: Path) -> tuple[FileState, ...]:
    """Return the states of all files that belong to a data file; raises BadFile."""
    try:
        return tuple(file_state(one) for one in files_of(path))
    except OSError as error:
        raise BadFile(f"{shown(path)} cannot be read: {error.strerror or error}; give a readable file.") from error


def _check(path: Path, digest: str) -> None:
    now = digest_of(path)
    if now != digest:
        raise BadFile(
            f"{shown(path)} is another file now (SHA-256 {now[:12]}..., it was {digest[:12]}...); give it again, or put the one "
            "that it was back in its place."
        )
