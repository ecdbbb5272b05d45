"""Paths as users write them, and file states that show whether a file changed."""

from contextlib import suppress
from pathlib import Path

FileState = tuple[int, ...]


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


def file_state(path: Path) -> FileState:
    """Return a file's device, inode, size, modification time and change time; raises OSError.

    Programs such as `rsync -t` and `tar -x` set the modification time. They cannot set the change time of the inode.
    """
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
