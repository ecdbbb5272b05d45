"""The first cells of Arrow columns as texts, with a guess of each column's role.

The guess uses the type of the column too.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from pyarrow import ArrowException, BaseExtensionType, types

from .guess import SAMPLE, Guess
from .lists import is_list
from .mapping_text import as_comments, as_toml, guess_roles, has_ids, left_out_notes, mappable_guesses

EXAMPLES = 5  # cells of a list that are shown


def is_mappable(kind: Any, of_arrays: bool = False) -> bool:
    """Return whether a mapping can name a column of this Arrow type.

    Structures and maps, and views and lists of these, are neither ids nor numbers. Lists of floats are numbers in archives of
    arrays.
    """
    if is_list(kind):
        return is_list_of_ids(kind) or (of_arrays and _is_of_floats(kind))
    return not types.is_nested(kind) and not isinstance(kind, BaseExtensionType)


def is_list_of_ids(kind: Any) -> bool:
    """Return whether an Arrow type is a list of whole numbers or of texts."""
    if not is_list(kind):
        return False
    inner = kind.value_type
    is_unsuited = types.is_nested(inner) or types.is_floating(inner) or types.is_decimal(inner) or types.is_temporal(inner)
    return not is_unsuited and not isinstance(inner, BaseExtensionType)


def guesses_of(
    columns: Mapping[str, Any], cells: Mapping[str, Sequence[str]], headerless: bool = False, of_arrays: bool = False
) -> list[Guess]:
    """Return a guess for each column, by its type, its name and its first `cells`.

    Columns of lists need no cells. A column that no mapping can name gets the role "text".
    """
    lists = [name for name, column in columns.items() if is_list_of_ids(column.type)]
    cells_by_name = {name: list(cells[name]) for name, column in columns.items() if not is_list(column.type)}
    cells_by_name = {name: texts for name, texts in cells_by_name.items() if is_mappable(columns[name].type)}
    guessed = {guess.name: guess for guess in guess_roles(cells_by_name, headerless=headerless)}
    guessed |= {name: Guess(name, "list") for name in lists}
    features = [name for name, column in columns.items() if of_arrays and _is_of_floats(column.type)]
    guessed |= {name: Guess(name, "number") for name in features}
    return [guessed.get(name, Guess(name, "text")) for name in columns]


def _is_of_floats(kind: Any) -> bool:
    return is_list(kind) and bool(types.is_floating(kind.value_type))


def mapping_of_types(columns: Mapping[str, Any], of_arrays: bool = False) -> str:
    """Return a mapping for columns, guessed from their types and first cells.

    Return "" if no column has ids.
    """
    usable = {name: column for name, column in columns.items() if is_mappable(column.type, of_arrays)}
    cells = {name: texts_of(column) for name, column in usable.items() if not is_list(column.type)}
    guessed = guesses_of(usable, cells, of_arrays=of_arrays)
    mappable = mappable_guesses(guessed)
    return as_comments(left_out_notes(guessed)) + as_toml(mappable) if has_ids(mappable) else ""


def texts_of(column: Any) -> list[str]:
    """Return the first cells of an Arrow column as texts."""
    with suppress(ArrowException, NotImplementedError, ValueError, OverflowError):
        return [_text(cell) for cell in column[:SAMPLE].to_pylist()]
    return [""] * min(len(column), SAMPLE)  # of a type that Python has nothing for


def _text(cell: object) -> str:
    if isinstance(cell, list):
        return f"[{', '.join(map(_text, cell[:EXAMPLES]))}{', ...' if len(cell) > EXAMPLES else ''}]"
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    return "" if cell is None else str(cell)
