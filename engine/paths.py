"""Paths as users write them, and the state by which a changed file is noticed."""

from contextlib import suppress
from pathlib import Path

FileState = tuple[int, ...]


def user_path(text: str | Path) -> Path:
    """Return the path of a user's text: `~` expanded, blanks around it removed.

    Blanks stay if a file has them in its name.
    """
    path = Path(text)
    with suppress(OSError):  # a name that is too long for any file
        if isinstance(text, str) and text != text.strip() and not path.exists():
            path = Path(text.strip())
    try:
        return path.expanduser()
    except (RuntimeError, ValueError):  # `~name` of an unknown user, or with impossible letters
        return path


def file_state(path: Path) -> FileState:
    """Return device, inode, size and both times of a file; raises OSError.

    A file's own time can be set, as `rsync -t` and `tar -x` do, but not the time when it or its inode was last changed.
    """
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
