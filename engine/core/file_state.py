"""What tells a file from what it was before, without reading it."""

from pathlib import Path

FileState = tuple[int, ...]


def file_state(path: Path) -> FileState:
    """Return device, inode, size and both times of a file; raises OSError.

    A file's own time can be set, as `rsync -t` and `tar -x` do, but not the time when it or its inode was last changed.
    """
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
