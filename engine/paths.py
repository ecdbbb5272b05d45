"""Paths as users write them, the door for their files, and states of files."""

import os
import stat
import time
from contextlib import suppress
from io import FileIO
from pathlib import Path

from .errors import BadFile

FileState = tuple[int, ...]
COARSEST_CLOCK_SECONDS = 3  # file systems count times in steps of up to 2 s; in one step a file can change unseen


def user_path(text: str | Path) -> Path:
    """Return the path of a user's text: `~` expanded, blanks around the path removed.

    Blanks stay if the name of an existing file has them.
    """
    path = Path(text)
    with suppress(OSError):  # a name that is too long for any file
        if isinstance(text, str) and text != text.strip() and not path.exists():
            path = Path(text.strip())
    try:
        return path.expanduser()
    except (RuntimeError, ValueError):  # `~name` of an unknown user, or with impossible letters
        return path


NOT_REGULAR = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe, which cannot be read twice"),
    (stat.S_ISCHR, "a device, which has no end"),
)


def open_regular(path: Path, most_bytes: int | None = None, remedy: str = "give a regular file") -> FileIO:
    """Open a user's regular file for reading, of at most `most_bytes` bytes.

    All files of users are opened here. A pipe is refused at once instead of waiting for its writer, and a device is not read.
    Raises BadFile, whose sentence for what is no regular file ends in `remedy`.
    """
    name = short_path(path)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:  # ValueError for a name that no file can have
        cause = error.strerror if isinstance(error, OSError) else error
        raise BadFile(f"{name} cannot be read: {cause}; give a readable file.") from error
    status = os.fstat(handle)
    if stat.S_ISREG(status.st_mode) and (most_bytes is None or status.st_size <= most_bytes):
        return os.fdopen(handle, "rb", buffering=0)
    os.close(handle)
    if stat.S_ISREG(status.st_mode):
        raise BadFile(f"{name} has {status.st_size:,} bytes, but at most {most_bytes:,} are read; give a file of that length.")
    kind_text = next((text for is_kind, text in NOT_REGULAR if is_kind(status.st_mode)), "no regular file")
    raise BadFile(f"{name} cannot be read: it is {kind_text}; {remedy}.")


def read_regular(path: Path, most_bytes: int, remedy: str = "give a regular file") -> bytes:
    """Return the bytes of a user's regular file of at most `most_bytes`; raises BadFile."""
    with open_regular(path, most_bytes, remedy) as file:
        try:
            content = file.read(most_bytes + 1)
        except OSError as error:
            raise BadFile(f"{short_path(path)} cannot be read: {error.strerror}; give a readable file.") from error
    if len(content) > most_bytes:
        raise BadFile(f"{short_path(path)} grew beyond {most_bytes:,} bytes while it was read; give a file of that length.")
    return content


def short_path(path: Path | str, max_letters: int = 120) -> str:
    """Return a path cut to its last `max_letters` letters, for a message."""
    text = "".join(letter if letter.isprintable() else "?" for letter in str(path))
    return text if len(text) <= max_letters else f"...{text[-max_letters:]}"


def file_state(path: Path) -> FileState:
    """Return a file's state, which changes with its content; raises OSError.

    It is device, inode, size, modification time, change time and a look. Programs such as `rsync -t` and `tar -x` set the
    modification time. They cannot set the change time of the inode. The look is 0 if the last change is COARSEST_CLOCK_SECONDS
    past. A younger file can change again within one step of the clock, so its look is a new number: the state equals no other
    state, and nothing that was cached under an earlier state is used.
    """
    status = path.stat()
    is_settled = time.time_ns() - status.st_ctime_ns >= COARSEST_CLOCK_SECONDS * 10**9  # False where the clock was set back
    look = 0 if is_settled else time.monotonic_ns()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, look
