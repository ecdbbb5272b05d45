"""Checks that a data file has a certain digest.

So results that were computed from the file can be cached under the digest.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import BadFile
from ...paths import FileState, file_state, short_path
from .formats import digest_of, parts_of_file


@contextmanager
def digest_check(path: Path, digest: str) -> Iterator[None]:
    """Check before and after a with-block that a data file has this digest.

    After the block, the file is read again only if its state has changed, or it is some seconds old. Raises BadFile.
    """
    states = file_states(path)
    _check(path, digest)
    yield
    if file_states(path) != states:
        _check(path, digest)


def file_states(path: Path) -> tuple[FileState, ...]:
    """Return the states of all files of a data file; raises BadFile."""
    try:
        return tuple(file_state(file) for file in parts_of_file(path))
    except OSError as error:
        raise BadFile(f"{short_path(path)} cannot be read: {error.strerror or error}; give a readable file.") from error


def _check(path: Path, digest: str) -> None:
    actual_digest = digest_of(path)
    if actual_digest != digest:
        raise BadFile(
            f"{short_path(path)} has changed (SHA-256 {actual_digest[:12]}..., it was {digest[:12]}...); give it again as a new "
            "file, or restore the old one."
        )
