"""Refusals of data files without their content: name, line and kind of fault."""

from pathlib import Path

from ..errors import BadFile
from ..workload.readers.formats import parts_of_file


def outline_refusal(error: BadFile, data_path: Path) -> BadFile:
    """Return a refusal of a data file without any of the file's content.

    The refusal names the file, the line and the kind of error. Content of the file's companions is left out too.
    """
    try:
        files = parts_of_file(data_path)
    except (BadFile, OSError):  # a file that belongs to the data is missing
        files = (data_path,)
    names = (name for file in files for name in (file.name, f"{file.name}.toml"))
    return BadFile(error.outline(names), kind=error.kind)
