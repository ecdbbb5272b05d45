"""Paths as people write them, in a script, on the command line or in a form; and what tells a file from what it was before."""

from contextlib import suppress
from pathlib import Path

FileState = tuple[int, ...]


def written_path(text: str | Path) -> Path:
    """Return the path that a text names: without blanks around it unless a file has them, `~` expanded."""
    path = Path(text)
    with suppress(OSError):  # a name that is too long for any file is none that is there
        if isinstance(text, str) and text != text.strip() and not path.exists():
            path = Path(text.strip())
    try:
        return path.expanduser()
    except (RuntimeError, ValueError):  # `~name` of nobody, or with letters that no name has
        return path


def file_state(path: Path) -> FileState:
    """Return device, inode, size and both times of a file; raises OSError.

    A file's own time can be set, as `rsync -t` and `tar -x` do, but not the time when it or its inode was last changed.
    """
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
