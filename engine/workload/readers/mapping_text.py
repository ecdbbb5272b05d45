"""A guessed mapping of an unknown table, as TOML to copy.

The guess is made from the names of the columns and the first rows.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from ...core.figures import count
from .guess import Guess, Role, guess_columns
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
    notes: Iterable[str] = (),
) -> str:
    """Return a guessed mapping of columns as TOML.

    Above it stand `notes`, and those of the guess, as comments.
    The roles are guessed from the names and the first `rows`. The columns in `lists` have a list type, so they need no separator.
    """
    cells = {name: [row[index] for row in rows] for index, name in enumerate(columns) if columns.count(name) == 1}
    guessed = guess_roles(cells, lists, headerless)
    text = as_toml(mappable_guesses(guessed), delimiter, columns if headerless else (), quotes)
    return as_comments((*notes, *left_out_notes(guessed))) + text


def as_comments(notes: Iterable[str]) -> str:
    """Return sentences as comment lines of a mapping."""
    return "".join(f"# {''.join(filter(str.isprintable, note))}\n" for note in notes)


def guess_roles(cells: dict[str, list[str]], lists: Collection[str] = (), headerless: bool = False) -> list[Guess]:
    """Return a guess of each column's role, from its name and first cells.

    The columns in `lists` have a list type.
    """
    guessed = [Guess(column.name, "list") if column.name in lists else column for column in guess_columns(cells)]
    return guessed if headerless else _by_custom(guessed)


def mappable_guesses(guessed: Sequence[Guess]) -> list[Guess]:
    """Return guesses that a mapping can contain, with at least one column of ids.

    A column that a mapping cannot name gets the role "text", and is left out of the mapping.
    """
    usable = [column for column in guessed if 0 < len(column.name) <= LONGEST_NAME][:MOST_COLUMNS]
    guesses_by_name = {column.name: column for column in _of_one_separator(_with_ids(usable))}
    return [guesses_by_name.get(column.name, Guess(column.name, "text")) for column in guessed]


def left_out_notes(guessed: Sequence[Guess]) -> Iterator[str]:
    """Yield a sentence for each column in doubt.

    Useful columns that a mapping cannot name get a sentence too.
    """
    mapped_guesses = {column.name: column for column in mappable_guesses(guessed)}
    for column in guessed:
        if column.note and mapped_guesses[column.name].role == column.role:
            yield column.note
            continue
        if column.role == "list" and mapped_guesses[column.name].role == "text":
            mark = next(guess.separator for guess in mapped_guesses.values() if guess.role == "list")
            cause = f"its lists are parted by {column.separator!r}, others by {mark!r}, and a mapping names one"
            yield f"{column.name} is left out: {cause}."
        elif column.role != "text" and mapped_guesses[column.name].role == "text":
            bounds = f"{count(MOST_COLUMNS)} columns, of at most {LONGEST_NAME} letters each"
            yield f"{column.name[:40]!r} is left out: a mapping names at most {bounds}."


def as_toml(guessed: Sequence[Guess], delimiter: str = ",", columns: Sequence[str] = (), quotes: str = QUOTED) -> str:
    """Return the mapping of guessed columns as TOML; it may lack a label.

    `columns` are the names of all columns if the file has no header.
    """
    roles = ("label", "list", "user", "event", "number", "time")
    by_role = {role: [column for column in guessed if column.role == role] for role in roles}
    lines = [f"label = {_text(' '.join(filter(None, (column.name, column.rule))))}" for column in by_role["label"]]
    lines += [f"ids = {_array([column.name for column in guessed if column.role in ('id', 'list')])}"]
    lines += [f"dense = {_array([column.name for column in by_role['number']])}"] if by_role["number"] else []
    lines += [f"time = {_text(column.name)}" for column in by_role["time"]]
    lines += [f"time_format = {_text(column.rule)}" for column in by_role["time"] if column.rule]
    lines += [f"user = {_text(column.name)}" for column in by_role["user"]]
    lines += [f"history = {_array([column.name for column in by_role['event']])}"] if by_role["event"] else []
    separators = [column.separator for column in (*by_role["list"], *by_role["event"]) if column.separator]
    lines += [f"lists = {_text(separator)}" for separator in separators[:1]]
    lines += [f"columns = {_array(columns)}"] if columns else []
    lines += [f"delimiter = {_text(delimiter)}"] if delimiter not in ("", ",") else []
    lines += [f"quotes = {_text(quotes)}"] if quotes != QUOTED else []
    return "\n".join(lines) + "\n"


def has_label(text: str) -> bool:
    """Return whether the text of a mapping names a label."""
    return LABEL.search(text) is not None


def _text(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08X}" for letter in quoted)


def _array(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _with_ids(guessed: Sequence[Guess]) -> Sequence[Guess]:
    """Return guesses with at least one column of ids.

    Without one, ids are the columns of texts or of one value, else of numbers, else of times and labels. A label that is named
    like one never is.
    """
    for roles in ((), ("text", "constant"), ("number",), ("time", "label")):
        guessed = [Guess(column.name, "id") if column.role in roles and not column.withheld else column for column in guessed]
        if has_ids(guessed):
            break
    return guessed


def has_ids(guessed: Sequence[Guess]) -> bool:
    """Return whether a guess has a column of ids."""
    return any(column.role in ("id", "list") for column in guessed)


def _of_one_separator(guessed: Sequence[Guess]) -> list[Guess]:
    """Return guesses with lists of one separator, the first list's, as a mapping names only one.

    Other lists become "text".
    """
    marks = [column.separator for column in guessed if column.role == "list" and column.separator][:1]
    other_names = [column.name for column in guessed if column.role == "list" and column.separator not in ("", *marks)]
    return [Guess(column.name, "text") if column.name in other_names else column for column in guessed]


def _by_custom(guessed: Sequence[Guess]) -> list[Guess]:
    """Return guesses by Criteo's names: I1, I2, ... are counts, C1, C2, ... ids.

    Guesses stay as they are where one of the two kinds of names is missing.
    """
    if not all(any(pattern.fullmatch(column.name) for column in guessed) for pattern in (COUNT, CATEGORY)):
        return list(guessed)
    name_patterns: dict[Role, re.Pattern[str]] = {"number": COUNT, "id": CATEGORY}
    return [
        next((Guess(column.name, role) for role, pattern in name_patterns.items() if pattern.fullmatch(column.name)), column)
        if not column.withheld
        else column
        for column in guessed
    ]
