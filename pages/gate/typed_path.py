"""A path as people type it."""

from pathlib import Path

from engine.errors import BadFile


def expanded(text: str) -> Path:
    """Return the path that a text means, with blanks around it and `~` for a home folder; raises BadFile."""
    try:
        return Path(text.strip()).expanduser()
    except RuntimeError as error:
        raise BadFile(f"{text.strip()} begins with ~, but there is no such user's folder here; write the whole path.") from error
