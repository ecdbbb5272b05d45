"""Paths as people write them, in a script, on the command line or in a form."""

from contextlib import suppress
from pathlib import Path


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
