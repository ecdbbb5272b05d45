"""From columns to samples: the part that all table formats share.

The columns come in blocks of rows.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from pyarrow import array, compute, types

from ...core.arrays import Flags, Ints, Words
from ...core.figures import count
from ...errors import BadFile
from . import cells, user_histories
from .first_cells import texts_of
from .ids import Place, id_tokens
from .labels import copies_of
from .layouts import OPERATORS, Layout
from .lists import ListTexts, is_list, join_fields
from .numbering import AS_THEY_ARE, FIRST_SEEN, HASHED, WHERE_THEY_FIT, IdIndex, drop_largest, fold_tokens, hashed_rows
from .recording import MOST_LENGTH, HistoryFields, Recording, check_samples
from .records import is_number
from .samples import Samples, Watch, too_large_refusal, unwatched
from .times import AmbiguousTimes, Times

MOST_VALUES = 12  # of a label's column, for a message
BOOLEANS = ("false", "true")


@dataclass(frozen=True)
class Rows:
    """A block of rows of a data file.

    name: the name of the file.
    lines: the line number of each row.
    columns: the columns by name.
    """

    name: str
    lines: Ints
    columns: Mapping[str, Any]

    def place(self, column: str, row: int) -> str:
        """Return the place of a cell for a message, such as "clicks.csv:7: user"."""
        return f"{self.name}:{self.lines[row]}: {column}"


class ColumnMemory:
    """The state that is kept from one block of a file to the next.

    The state has the indexes of ids, the syntax of lists, the formats of times, and the values of the label.
    """

    def __init__(self, name: str, layout: Layout) -> None:
        """Start before the first block."""
        self.name, self.rows = name, layout.rows
        self.indexes = {column: IdIndex() for column in layout.ids if layout.rows in (WHERE_THEY_FIT, HASHED, FIRST_SEEN)}
        self.lists = {column: ListTexts(layout.lists) for column in layout.ids if layout.lists}
        self.times = Times(layout.time_format)
        self.values: dict[str, None] = {}  # of the label's column, in the order first seen
        self.histories: HistoryFields | None = None
        self.records = 0
        self.label_copies: tuple[str, ...] = ()  # inputs that equal the label in the first rows

    def take_histories(self, layout: Layout, block: Rows, exploded: bool) -> None:
        """Keep which fields make histories, if they are wanted; raises BadFile."""
        if layout.keeps_order:
            self.histories = user_histories.history_fields(layout, block, exploded)

    def number_tokens(self, column: str, ids: Words) -> Words:
        """Add a column's next tokens to its index, and return them.

        If the layout numbers or hashes ids into rows, return row numbers instead. Raises BadFile for too many ids to number.
        """
        if index := self.indexes.get(column):
            index.add(ids)
            return index.numbers_or_refusal(ids, f"{self.name}: {column}") if self.rows == FIRST_SEEN else ids
        rows = hashed_rows(self.rows)
        return fold_tokens(np.uint64(rows), ids) if rows else ids


def check_block(name: str, layout: Layout, rows: Rows) -> None:
    """Raise BadFile for the first cell in a block that the layout does not allow."""
    block = _as_events(layout, rows)
    columns = ColumnMemory(name, layout)
    columns.take_histories(layout, block, block is not rows)
    _parts(layout, block, columns)


def read_samples(name: str, layout: Layout, tables: Iterable[Rows], watch: Watch = unwatched) -> Recording:
    """Return the recording of a file's blocks of rows.

    The samples are sorted by time if the layout has one. A file without dense features gets one feature that is always 0, because
    each model has a bottom MLP. Raises BadFile.
    """
    samples: Samples | None = None
    lists, has_lists = Samples([np.zeros(0, np.uint64)]), False  # ids of all fields, where one of them has lists
    columns, tables = ColumnMemory(name, layout), iter(tables)
    try:
        for table in tables:
            rows_read = table
            table = _as_events(layout, table)
            if not columns.records:
                _check_lists(layout, table)
                columns.take_histories(layout, table, table is not rows_read)
                columns.label_copies = label_copies(layout, _filter_rows(layout, table))
            has_lists = layout.lists != "" or any(is_list(table.columns[column].type) for column in layout.ids)
            dense, fields, labels, *extra_arrays = _parts(layout, table, columns)
            ids = [tokens for tokens, _ in fields]
            if has_lists:
                flat, begins, lengths = join_fields(fields)
                ids, extra_arrays = [(begins + lists.count).astype(np.uint64)], [*extra_arrays, lengths]
                lists.add(flat)
            samples = samples or _samples(layout, has_lists)
            if rekey := columns.times.rekey():
                samples.change_keys(rekey)
            samples.add(dense, np.stack(ids, axis=1), labels, *extra_arrays)
            drop_largest(columns.indexes.values())
        dense, rows, labels, *extra_arrays = (samples or _samples(layout, has_lists)).finish(watch)
        flat = lists.finish()[0]
    except AmbiguousTimes as refusal:
        raise refusal.resolve(_times(layout, tables)) from refusal
    except MemoryError as error:
        raise too_large_refusal(name) from error
    check_samples(name, labels, columns.records, tuple(columns.values) if layout.rule else (), bool(layout.label))
    properties: dict[str, Any] = {"hashed": layout.rows in (HASHED, WHERE_THEY_FIT), "format": layout.name, "order": layout.order}
    properties["where_they_fit"] = layout.rows == WHERE_THEY_FIT
    properties["indexes"] = tuple(None if index.is_full else index for index in columns.indexes.values())
    properties["labelled"], properties["fields"] = bool(layout.label), layout.ids
    properties["histories"], properties["label_copies"] = columns.histories, columns.label_copies
    properties["times"] = extra_arrays[0] if layout.time and layout.keeps_order else None
    if not has_lists:
        return Recording(name, dense, rows, labels, (1,) * len(layout.ids), **properties)
    return _of_lists(Recording(name, dense, flat, labels, (), **properties), rows[:, 0].astype(np.int64), extra_arrays[-1])


def _times(layout: Layout, tables: Iterable[Rows]) -> Iterator[tuple[Any, Place]]:
    """Yield the times of the remaining blocks as texts, with a function that names their places."""
    for rows in (_filter_rows(layout, table) for table in tables):
        texts = cells.plain_column(rows.columns[layout.time])
        if len(texts) and cells.is_text(texts.type) and not cells.missing_cells(texts).any():
            yield texts, partial(rows.place, layout.time)


def label_copies(layout: Layout, rows: Rows) -> tuple[str, ...]:
    """Return the inputs that are copies of the label in a file's first rows."""
    names = [column for column in layout.read_columns if column != layout.time and not is_list(rows.columns[column].type)]
    return copies_of(layout.label, {column: texts_of(rows.columns[column]) for column in names}) if layout.label in names else ()


def _check_lists(layout: Layout, table: Rows) -> None:
    """Raise BadFile where the layout splits lists in cells, and no column of ids has text."""
    if layout.lists and not any(cells.is_text(cells.plain_column(table.columns[column]).type) for column in layout.ids):
        kinds = ", ".join(f"{column} of {table.columns[column].type}"[:60] for column in layout.ids[:4])
        raise BadFile(
            f"{table.name} has no text in its columns of ids ({kinds}), so `lists` has no effect; remove it from the mapping."
        )


def _of_lists(recording: Recording, begins: Ints, lengths: Any) -> Recording:
    """Return a recording with its samples' lists, as a table of tokens if equally long."""
    mean = lengths.mean(axis=0, dtype=np.float64)
    if (lengths == lengths[:1]).all() and lengths[0].min() > 0:
        pooling, width = tuple(lengths[0].tolist()), int(lengths[0].sum())
        in_order = (begins == np.arange(len(begins)) * width).all()
        tokens_by_sample = (
            recording.tokens.reshape(-1, width) if in_order else recording.tokens[begins[:, None] + np.arange(width)]
        )
        return replace(recording, tokens=tokens_by_sample, pooling=pooling)
    return replace(
        recording, pooling=tuple(max(round(mean_length), 1) for mean_length in mean.tolist()), begins=begins, lengths=lengths
    )


def _samples(layout: Layout, lists: bool) -> Samples:
    """Return empty arrays of samples: a token for each field, or the begins and lengths of `lists`."""
    fields = len(layout.ids)
    kinds = [(np.float32, (max(len(layout.dense), 1),)), (np.uint64, (1 if lists else fields,)), (np.float32, ())]
    kinds += [(np.int64, ())] if layout.time else []
    kinds += [(np.uint16, (fields,))] if lists else []
    return Samples([np.zeros((0, *shape), kind) for kind, shape in kinds], 3 if layout.time else None, not layout.keeps_order)


def _parts(layout: Layout, block: Rows, columns: ColumnMemory) -> list[Any]:
    """Return a block's dense features, tokens and lengths of fields, labels and times.

    A dense feature x becomes log(1 + x), with 0 for a negative x.
    """
    columns.records += len(block.lines)
    rows = _filter_rows(layout, block)
    for column in filter(None, (layout.label, layout.time)):
        if (is_missing := cells.missing_cells(rows.columns[column])).any():
            raise BadFile(f"{rows.place(column, int(is_missing.argmax()))} is missing; write it, or remove the sample.")
    labels = _clicks(layout, rows, columns).astype(np.float32)
    dense = np.zeros((len(labels), max(len(layout.dense), 1)), np.float32)
    for index, column in enumerate(layout.dense):
        dense[:, index] = np.log1p(np.maximum(cells.column_numbers(rows.columns[column], partial(rows.place, column)), 0.0))
    fields = [_field(layout, rows, column, columns) for column in layout.ids]
    if columns.histories:
        user_histories.check_events(layout, rows, [sizes for _, sizes in fields], columns.histories.in_rows)
    times = [columns.times(rows.columns[column], partial(rows.place, column)) for column in filter(None, (layout.time,))]
    return [dense, fields, labels, *times]


def _as_events(layout: Layout, rows: Rows) -> Rows:
    """Return a row for each event where rows have the events of a user as lists, else the rows."""
    if not user_histories.has_events_in_lists(layout, {name: column.type for name, column in rows.columns.items()}):
        return rows
    columns, lines = user_histories.event_columns(layout, rows, rows.lines)
    return Rows(rows.name, lines, columns)


def _filter_rows(layout: Layout, rows: Rows) -> Rows:
    """Return the rows that the layout's filter keeps."""
    if not layout.row_filter:
        return rows
    column, *texts = layout.row_filter
    is_selected = _is_among(rows.columns[column], texts) & ~cells.missing_cells(rows.columns[layout.label])
    return Rows(
        rows.name,
        rows.lines[is_selected],
        {name: column_cells.filter(array(is_selected)) for name, column_cells in rows.columns.items()},
    )


def _field(layout: Layout, rows: Rows, column: str, columns: ColumnMemory) -> tuple[Words, Ints]:
    """Return the tokens of a column's ids, one after another, and ids by row."""
    flat, sizes = _bags(rows, column, columns.lists.get(column))

    def place(index: int) -> str:
        return rows.place(column, int(np.searchsorted(np.cumsum(sizes), index, side="right")))

    field_tokens = _row_numbers(flat, place) if layout.rows == AS_THEY_ARE else id_tokens(flat, place, layout.longest_id)
    return columns.number_tokens(column, field_tokens), sizes


def _bags(rows: Rows, column: str, lists: ListTexts | None) -> tuple[Any, Ints]:
    """Return a column's ids, one after another, and the number of each row.

    Raises BadFile for too many ids in a row.
    """
    column_cells = rows.columns[column]
    if lists and cells.is_text(cells.plain_column(column_cells).type):
        column_cells = lists(column_cells, partial(rows.place, column))
    if not is_list(column_cells.type):
        return column_cells, np.ones(len(column_cells), dtype=np.int64)
    sizes = np.asarray(compute.list_value_length(column_cells).fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    if sizes.max(initial=0) > MOST_LENGTH:
        row = int(sizes.argmax())
        raise BadFile(
            f"{rows.place(column, row)} has {count(sizes[row], 'id')}, but a sample has at most {count(MOST_LENGTH)}; shorten "
            "the list."
        )
    return column_cells.flatten(), sizes


def _is_among(values: Any, texts: Sequence[str]) -> Flags:
    """Return flags of the values that are among some texts."""
    words = cells.plain_column(cells.plain_column(values).cast("string"))
    return np.asarray(compute.is_in(words, array(texts)).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _equal(values: Any, text: str) -> Flags:
    """Return flags of the values equal to a text.

    Booleans and numbers may be written in any way.
    """
    column = cells.plain_column(values)
    if types.is_boolean(column.type):
        return _is_among(column, [text.lower()])
    if (types.is_integer(column.type) or types.is_floating(column.type)) and is_number(text):
        return np.asarray(cells.column_numbers(column, str) == float(text))
    return _is_among(values, [text])


def _row_numbers(ids: Any, place: Place) -> Words:
    """Return ids that are row numbers; raises BadFile for a cell that is no row number."""
    if (is_missing := cells.missing_cells(ids)).any():
        raise BadFile(
            f"{place(int(is_missing.argmax()))} is missing, so it names no row; write it, or say rows = {HASHED!r} in the "
            "mapping."
        )
    row_numbers = cells.column_numbers(ids, place, "write a row's number")
    bad_rows = np.flatnonzero((row_numbers < 0) | (row_numbers != np.floor(row_numbers)) | (row_numbers >= 2**53))
    if len(bad_rows):
        raise BadFile(
            f"{place(bad_rows[0])}={row_numbers[bad_rows[0]]:g} is not the number of a row; write whole numbers from 0 to 2^53-1."
        )
    return row_numbers.astype(np.uint64)


def _clicks(layout: Layout, rows: Rows, columns: ColumnMemory) -> Flags:
    if not layout.label:
        return np.zeros(len(rows.lines), np.bool_)
    label_cells, place = rows.columns[layout.label], partial(rows.place, layout.label)
    if layout.rule and len(columns.values) <= MOST_VALUES:
        columns.values |= dict.fromkeys(
            str(label_value) for label_value in compute.unique(label_cells)[: MOST_VALUES + 1].to_pylist()
        )
    if isinstance(layout.label_value, str):
        if layout.known_labels and not (is_known := _is_among(label_cells, layout.known_labels)).all():
            row = int(is_known.argmin())
            raise BadFile(
                f"{place(row)}={label_cells[row].as_py()[:40]!r} is not known; known are {', '.join(layout.known_labels)}."
            )
        return np.asarray(_equal(label_cells, layout.label_value) == (layout.rule == "=="), dtype=np.bool_)
    numbers = _truths(label_cells) if not layout.rule else None
    if numbers is None:
        numbers = cells.column_numbers(
            label_cells, place, "write one in every row, or give a rule for a text, such as == 'click'"
        )
    if layout.rule:
        return np.asarray(OPERATORS[layout.rule](numbers, layout.label_value), dtype=np.bool_)
    bad_rows = np.flatnonzero((numbers != 0) & (numbers != 1))
    if len(bad_rows):
        raise BadFile(f"{place(bad_rows[0])}={numbers[bad_rows[0]]:g} is not a label; write 0 or 1, or give a rule such as >= 4.")
    return np.asarray(numbers == 1)


def _truths(label_cells: Any) -> Any:
    """Return texts of true and false, as pandas and others write them, as 1 and 0.

    The result is None for other texts.
    """
    column = cells.plain_column(label_cells)
    if not cells.is_text(column.type):
        return None
    words = compute.utf8_lower(column)
    if not compute.all(compute.is_in(words, array(BOOLEANS, words.type))).as_py():
        return None
    return np.asarray(compute.equal(words, BOOLEANS[1]).to_numpy(zero_copy_only=False), dtype=np.float64)
