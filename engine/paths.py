"""Paths as people write them, in a script, on the command line or in a form."""

from pathlib import Path


def written_path(text: str | Path) -> Path:
    """Return the path that a text names: without blanks around it unless a file has them, `~` expanded."""
    path = Path(text)
    if isinstance(text, str) and text != text.strip() and not path.exists():
        path = Path(text.strip())
    try:
        return path.expanduser()
    except RuntimeError:  # `~name` of nobody
        return path
