"""Paths as users write them, and file states that show whether a file changed."""

import time
from contextlib import suppress
from pathlib import Path

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
