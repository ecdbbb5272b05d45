"""A refusal of a data file for readers who may not see what the file holds: its name, the line, the kind of fault."""

from pathlib import Path

from ..errors import BadFile
from ..workload.readers.formats import files_of


def outlined(error: BadFile, data: Path) -> BadFile:
    """Return the same refusal of a data file without a byte of what it, its mapping or a file beside it holds."""
    try:
        files = files_of(data)
    except (BadFile, OSError):  # one that belongs to it is missing
        files = (data,)
    names = (name for file in files for name in (file.name, f"{file.name}.toml"))
    return BadFile(error.outline(names), kind=error.kind)
