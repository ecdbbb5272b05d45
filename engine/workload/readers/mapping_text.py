"""Suggests a mapping for a table that nobody has described: TOML to copy, guessed from its columns' names and first rows."""

import re
from collections.abc import Collection, Sequence

from . import guess
from .guess import Guess, guesses
from .mapping import MOST_COLUMNS
from .records import QUOTED
from .sniffing import Row

LABEL = re.compile(r"^label = ", re.M)
LONGEST_NAME = 120  # of a column that a mapping names
COUNT, CATEGORY = re.compile(r"I\d+", re.IGNORECASE), re.compile(r"C\d+", re.IGNORECASE)


def mapping_text(
    columns: Sequence[str],
    delimiter: str = ",",
    headerless: bool = False,
    rows: Sequence[Row] = (),
    quotes: str = QUOTED,
    lists: Collection[str] = (),
) -> str:
    """Return a mapping of columns as TOML of letters that can be seen; their roles are guessed from names and first `rows`.

    Columns that are `lists` by their type hold ids already parted.
    """
    cells = {name: [row[at] for row in rows] for at, name in enumerate(columns) if columns.count(name) == 1}
    found = [Guess(one.name, "list") if one.name in lists else one for one in guesses(cells)]
    found = found if headerless else _by_custom(found)
    usable = _with_ids([one for one in found if 0 < len(one.name) <= LONGEST_NAME][:MOST_COLUMNS])
    text = guess.mapping_text(_of_one_separator(usable), delimiter, headerless, quotes).replace('lists = ""\n', "")
    return "".join(letter if letter == "\n" or letter.isprintable() else f"\\U{ord(letter):08X}" for letter in text)


def has_label(text: str) -> bool:
    """Return whether a mapping names a label."""
    return LABEL.search(text) is not None


def _with_ids(found: Sequence[Guess]) -> Sequence[Guess]:
    """Return guesses with one id at least: of columns of one value or of texts, else of numbers, where none seems to be one."""
    for roles in ((), ("text", "constant"), ("number",), ("time", "label")):
        found = [Guess(one.name, "id") if one.role in roles else one for one in found]
        if any(one.role in ("id", "list") for one in found):
            break
    return found


def _of_one_separator(found: Sequence[Guess]) -> Sequence[Guess]:
    """Return guesses without lists that another mark parts than those of the first list: a mapping names one."""
    marks = [one.separator for one in found if one.role == "list"][:1]
    return [Guess(one.name, "text") if one.role == "list" and one.separator not in marks else one for one in found]


def _by_custom(found: Sequence[Guess]) -> list[Guess]:
    """Return guesses in which I1, I2, ... are counts and C1, C2, ... ids, as in Criteo's files, where there are both."""
    if not all(any(pattern.fullmatch(one.name) for one in found) for pattern in (COUNT, CATEGORY)):
        return list(found)
    return [
        Guess(one.name, "number") if COUNT.fullmatch(one.name) else Guess(one.name, "id") if CATEGORY.fullmatch(one.name) else one
        for one in found
    ]
