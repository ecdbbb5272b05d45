"""A file path as people type or paste it."""

import os
import re
from pathlib import Path
from urllib.parse import unquote

from engine.errors import BadFile

QUOTES = (
    "''",
    '""',
    "``",
    "\u2018\u2019",
    "\u201c\u201d",
    "«»",
    "<>",
)  # a pair each, as shells, file managers and mails put around a path
URL = re.compile(r"file:(?://(?:localhost)?)?(?=/)", re.IGNORECASE)
ESCAPED = re.compile(r"\\([ \t'\"`()\[\]{}&;,|<>$!?*#~=%\\])")  # as a terminal writes a file that is dragged into it


def expand_path(text: str) -> Path:
    """Return the path of a text, without surrounding blanks, quotes and `file:

    `.
    `~` is a home folder.
    Backslashes before blanks and marks fall away, but for a file whose name has them. Raises BadFile.
    """
    bare = text.strip()
    while len(bare) > 1 and bare[0] + bare[-1] in QUOTES:
        bare = bare[1:-1].strip()
    if URL.match(bare):
        bare = unquote(URL.sub("", bare, count=1))
    try:
        path = Path(bare).expanduser()
        if os.path.lexists(path) or "\\" not in bare:
            return path
        return Path(ESCAPED.sub(r"\1", bare)).expanduser()
    except RuntimeError as error:
        raise BadFile(f"{bare} begins with ~, but this computer has no folder of such a user; write the whole path.") from error
