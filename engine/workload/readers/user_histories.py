"""Histories of users in a table: lists of events become rows, cells are checked.

A log has an event in each row. Other tables have a row for each user, with a list for each column of its events; or a row for
each sample, with the history before it as a list.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from pyarrow import array, compute, types

from ...core.arrays import Ints
from ...core.figures import count
from ...errors import BadFile
from . import cells
from .layouts import Layout
from .lists import is_list
from .recording import HistoryFields

NEGATIVE = r"^\s*-0*[1-9][0-9]*(\.0*)?\s*$"


class Block(Protocol):
    """A block of rows of a data file, with a column for each name."""

    @property
    def columns(self) -> Mapping[str, Any]:
        """The columns by name."""

    def place(self, column: str, row: int) -> str:
        """Return the place of a cell for a message."""


def has_events_in_lists(layout: Layout, kinds: Mapping[str, Any]) -> bool:
    """Return whether rows have lists of events, each of which is a sample.

    `kinds` are the Arrow types of the columns. Without a statement, it is so if the times are lists too.
    """
    if not any(is_list(kinds[column]) for column in layout.history):
        return False
    return layout.anchors == "events" or (not layout.anchors and layout.time != "" and is_list(kinds[layout.time]))


def event_columns(layout: Layout, block: Block, lines: Ints) -> tuple[Mapping[str, Any], Ints]:
    """Return a block's columns with a row for each event, and its line.

    All lists of a row must be equally long; a cell without a list holds for all events of its row. Raises BadFile.
    """
    lists = [name for name, column in block.columns.items() if is_list(column.type)]
    sizes = [_sizes(block.columns[name]) for name in lists]
    for name, column_sizes in zip(lists[1:], sizes[1:], strict=True):
        _check_equal(block, (lists[0], name), (sizes[0], column_sizes), "a row of a user has one of each for every event")
    rows = np.repeat(np.arange(len(lines)), sizes[0])
    columns = {
        name: column.flatten() if name in lists else cells.plain_column(column).take(array(rows))
        for name, column in block.columns.items()
    }
    return columns, lines[rows]


def history_fields(layout: Layout, block: Block, exploded: bool) -> HistoryFields:
    """Return which fields of a table make histories, by the types of its columns.

    `exploded` says whether rows of users were made events. Raises BadFile for a statement that the columns contradict.
    """
    kinds = {column: cells.plain_column(block.columns[column]).type for column in layout.history}
    in_rows = layout.anchors != "events" and any(
        is_list(kind) or (layout.lists and cells.is_text(kind)) for kind in kinds.values()
    )
    named = ", ".join(layout.history)[:80]
    if layout.anchors == "rows" and not in_rows:
        raise BadFile(
            f'{block.place(layout.history[0], 0)} has no list, so a row is no history; write anchors = "events" in the mapping '
            "to take each row as an event of its user."
        )
    if not in_rows and not layout.user:
        raise BadFile(
            f'{block.place(layout.history[0], 0)} is one event a row, but no column of its user is named; write user = "COLUMN" '
            f"in the mapping, or leave out history = {named}."
        )
    user = layout.ids.index(layout.user) if layout.user else None
    return HistoryFields(user, tuple(map(layout.ids.index, layout.history)), in_rows, exploded)


def check_events(layout: Layout, block: Block, sizes: Sequence[Ints], in_rows: bool) -> None:
    """Raise BadFile for missing users, bad ids of events, and lists of unlike length.

    `sizes` are the ids of each row by field.
    """
    if layout.user and (is_missing := cells.missing_cells(block.columns[layout.user])).any():
        place = block.place(layout.user, int(is_missing.argmax()))
        raise BadFile(f"{place} is missing, so nobody has this history; write the user, or remove the row.")
    first, *other_columns = layout.history
    size_of = dict(zip(layout.ids, sizes, strict=True))
    if layout.user and (is_several := size_of[layout.user] != 1).any():
        row = int(is_several.argmax())
        raise BadFile(
            f"{block.place(layout.user, row)} has {count(size_of[layout.user][row], 'id')}, but a history has one user; name a "
            "column with one id a row as user."
        )
    for column in other_columns:
        cause = "an event has one id in each column of a history; name only one of them as history, and the others as ids"
        _check_equal(block, (first, column), (size_of[first], size_of[column]), cause)
    if not in_rows and (is_several := size_of[first] != 1).any():
        row = int(is_several.argmax())
        raise BadFile(
            f"{block.place(first, row)} has {count(size_of[first][row], 'id')}, but each row is one event; write anchors = "
            '"rows" in the mapping to take its list as a history.'
        )
    for column in layout.history:
        _check_ids(block, column, size_of[column])


def _check_ids(block: Block, column: str, sizes: Ints) -> None:
    """Raise BadFile for an event without an id, or with a negative one, which pads lists in many files."""
    flat = block.columns[column]
    if not is_list(flat.type) and not (sizes == 1).all():
        return  # a list in a cell of text: empty pieces are dropped, and -1 is a text like others
    flat = cells.plain_column(flat.flatten() if is_list(flat.type) else flat)
    for is_bad, fault in (
        (cells.missing_cells(flat), "is missing"),
        (_negative(flat), "is negative, as padding is"),
    ):
        if is_bad.any():
            row = int(np.searchsorted(np.cumsum(sizes), int(is_bad.argmax()), side="right"))
            raise BadFile(f"{block.place(column, row)}: the id of an event {fault}; remove the event, or write its id from 0.")


def _negative(flat: Any) -> Any:
    """Return flags of the cells that are a negative number."""
    if types.is_signed_integer(flat.type) or types.is_floating(flat.type):
        flags = compute.less(flat, 0)
    elif cells.is_text(flat.type):
        flags = compute.match_substring_regex(flat, NEGATIVE)
    else:
        return np.zeros(len(flat), np.bool_)
    return np.asarray(flags.fill_null(False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _sizes(column: Any) -> Ints:
    lengths = compute.list_value_length(column).fill_null(0)
    return np.asarray(lengths.to_numpy(zero_copy_only=False), dtype=np.int64)


def _check_equal(block: Block, names: tuple[str, str], sizes: tuple[Ints, Ints], cause: str) -> None:
    """Raise BadFile for the first row in which two columns have lists of unlike length."""
    is_unlike = sizes[0] != sizes[1]
    if is_unlike.any():
        row = int(is_unlike.argmax())
        raise BadFile(
            f"{block.place(names[1], row)} has {count(sizes[1][row], 'id')}, but {names[0]} has {count(sizes[0][row])}; {cause}."
        )
