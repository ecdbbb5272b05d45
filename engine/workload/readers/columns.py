"""From columns to samples: what every format of rows and columns has in common, one block of rows after the other."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from pyarrow import array, compute, types

from ...core.arrays import Flags, Ints, Words
from ...core.figures import count
from ...errors import BadFile
from . import cells
from .ids import Place, tokens
from .layouts import OPERATORS, Layout
from .lists import MOST_LENGTH, ListTexts, is_list, side_by_side
from .numbering import AS_THEY_ARE, FIRST_SEEN, HASHED, WHERE_THEY_FIT, IdIndex, folded, into, keep_within
from .recording import Recording, check_samples
from .samples import Samples, Watch, too_large, unwatched
from .times import OpenTimes, Times

MOST_VALUES = 12  # of a label's column, for a message
BOOLEANS = ("false", "true")


@dataclass(frozen=True)
class Rows:
    """A block of rows of the file `name`: their columns by name, and on which of its lines each stands."""

    name: str
    lines: Ints
    columns: Mapping[str, Any]

    def place(self, column: str, row: int) -> str:
        """Return where a cell stands, as a message begins."""
        return f"{self.name}:{self.lines[row]}: {column}"


class ColumnMemory:
    """What is remembered of a file's columns from block to block: how ids and times are written, which ids have been seen."""

    def __init__(self, name: str, layout: Layout) -> None:
        """Start with nothing seen."""
        self.name, self.rows = name, layout.rows
        self.indexes = {column: IdIndex() for column in layout.ids if layout.rows in (WHERE_THEY_FIT, HASHED, FIRST_SEEN)}
        self.lists = {column: ListTexts(layout.lists) for column in layout.ids if layout.lists}
        self.times = Times(layout.time_format)
        self.values: dict[str, None] = {}  # of the label's column, in the order first seen
        self.records = 0

    def numbered(self, column: str, ids: Words) -> Words:
        """Return a column's next tokens, or row numbers where the layout makes these of them; raises BadFile."""
        if index := self.indexes.get(column):
            index.add(ids)
            return index.numbers_or_refusal(ids, f"{self.name}: {column}") if self.rows == FIRST_SEEN else ids
        rows = into(self.rows)
        return folded(np.uint64(rows), ids) if rows else ids


def check_block(name: str, layout: Layout, rows: Rows) -> None:
    """Raise BadFile for the first cell of a block that a layout cannot be applied to."""
    _parts(layout, rows, ColumnMemory(name, layout))


def samples_of(name: str, layout: Layout, tables: Iterable[Rows], watch: Watch = unwatched) -> Recording:
    """Put the blocks of a file together, sorted by time where the layout has one; raises BadFile.

    A file without dense features has one that is always 0, as every model has a bottom MLP.
    """
    held: Samples | None = None
    lists, some = Samples([np.zeros(0, np.uint64)]), False  # ids of all fields, where one of them has lists
    columns, tables = ColumnMemory(name, layout), iter(tables)
    try:
        for table in tables:
            if not columns.records:
                _check_lists(layout, table)
            some = layout.lists != "" or any(is_list(table.columns[column].type) for column in layout.ids)
            dense, fields, labels, *more = _parts(layout, table, columns)
            ids = [tokens for tokens, _ in fields]
            if some:
                flat, begins, lengths = side_by_side(fields)
                ids, more = [(begins + lists.count).astype(np.uint64)], [*more, lengths]
                lists.add(flat)
            held = held or _samples(layout, some)
            if rekey := columns.times.rekey():
                held.change_keys(rekey)
            held.add(dense, np.stack(ids, axis=1), labels, *more)
            keep_within(columns.indexes.values())
        dense, rows, labels, *more = (held or _samples(layout, some)).whole(watch)
        flat = lists.whole()[0]
    except OpenTimes as refusal:
        raise refusal.settled(_times(layout, tables)) from refusal
    except MemoryError as error:
        raise too_large(name) from error
    check_samples(name, labels, columns.records, tuple(columns.values) if layout.rule else (), bool(layout.label))
    about: dict[str, Any] = {"hashed": layout.rows in (HASHED, WHERE_THEY_FIT), "format": layout.name, "order": layout.order}
    about["where_they_fit"] = layout.rows == WHERE_THEY_FIT
    about["indexes"] = tuple(None if index.full else index for index in columns.indexes.values())
    about["labelled"], about["fields"] = bool(layout.label), layout.ids
    if not some:
        return Recording(name, dense, rows, labels, (1,) * len(layout.ids), **about)
    return _of_lists(Recording(name, dense, flat, labels, (), **about), rows[:, 0].astype(np.int64), more[-1])


def _times(layout: Layout, tables: Iterable[Rows]) -> Iterator[tuple[Any, Place]]:
    """Yield the times of the blocks that are left, as texts, and where they stand."""
    for rows in (_chosen(layout, table) for table in tables):
        texts = cells.plain(rows.columns[layout.time])
        if len(texts) and cells.is_text(texts.type) and not cells.missing(texts).any():
            yield texts, partial(rows.place, layout.time)


def _check_lists(layout: Layout, table: Rows) -> None:
    """Raise BadFile where the layout parts lists in cells, and no column of ids has text."""
    if layout.lists and not any(cells.is_text(cells.plain(table.columns[column]).type) for column in layout.ids):
        kinds = ", ".join(f"{column} of {table.columns[column].type}"[:60] for column in layout.ids[:4])
        raise BadFile(f"{table.name} has no text in its columns of ids ({kinds}), so lists does nothing; take lists away.")


def _of_lists(read: Recording, begins: Ints, lengths: Any) -> Recording:
    """Return a recording whose samples have lists that begin so in its tokens: a table of tokens, if all are as long."""
    mean = lengths.mean(axis=0, dtype=np.float64)
    if (lengths == lengths[:1]).all() and lengths[0].min() > 0:
        pooling, width = tuple(lengths[0].tolist()), int(lengths[0].sum())
        in_order = (begins == np.arange(len(begins)) * width).all()
        whole = read.tokens.reshape(-1, width) if in_order else read.tokens[begins[:, None] + np.arange(width)]
        return replace(read, tokens=whole, pooling=pooling)
    return replace(read, pooling=tuple(max(round(each), 1) for each in mean.tolist()), begins=begins, lengths=lengths)


def _samples(layout: Layout, lists: bool) -> Samples:
    """Start to keep samples with a token for each field, or where their `lists` begin and how long these are."""
    fields = len(layout.ids)
    kinds = [(np.float32, (max(len(layout.dense), 1),)), (np.uint64, (1 if lists else fields,)), (np.float32, ())]
    kinds += [(np.int64, ())] if layout.time else []
    kinds += [(np.uint16, (fields,))] if lists else []
    return Samples([np.zeros((0, *shape), kind) for kind, shape in kinds], 3 if layout.time else None)


def _parts(layout: Layout, given: Rows, columns: ColumnMemory) -> list[Any]:
    """Return a block's dense features, log(1 + x) of what is not negative, tokens and lengths of fields, labels and times."""
    columns.records += len(given.lines)
    rows = _chosen(layout, given)
    for column in filter(None, (layout.label, layout.time)):
        if (lacks := cells.missing(rows.columns[column])).any():
            raise BadFile(f"{rows.place(column, int(lacks.argmax()))} is missing; write it, or take the sample away.")
    labels = _clicks(layout, rows, columns).astype(np.float32)
    dense = np.zeros((len(labels), max(len(layout.dense), 1)), np.float32)
    for at, column in enumerate(layout.dense):
        dense[:, at] = np.log1p(np.maximum(cells.numbers(rows.columns[column], partial(rows.place, column)), 0.0))
    fields = [_field(layout, rows, column, columns) for column in layout.ids]
    times = [columns.times(rows.columns[column], partial(rows.place, column)) for column in filter(None, (layout.time,))]
    return [dense, fields, labels, *times]


def _chosen(layout: Layout, rows: Rows) -> Rows:
    """Leave out the rows that the layout does."""
    if not layout.where:
        return rows
    column, *texts = layout.where
    chosen = _among(rows.columns[column], texts) & ~cells.missing(rows.columns[layout.label])
    return Rows(rows.name, rows.lines[chosen], {name: held.filter(array(chosen)) for name, held in rows.columns.items()})


def _field(layout: Layout, rows: Rows, column: str, columns: ColumnMemory) -> tuple[Words, Ints]:
    """Return the tokens of a column's ids, one after another, and how many each row has."""
    flat, sizes = _bags(rows, column, columns.lists.get(column))

    def place(at: int) -> str:
        return rows.place(column, int(np.searchsorted(np.cumsum(sizes), at, side="right")))

    found = _row_numbers(flat, place) if layout.rows == AS_THEY_ARE else tokens(flat, place, layout.longest_id)
    return columns.numbered(column, found), sizes


def _bags(rows: Rows, column: str, lists: ListTexts | None) -> tuple[Any, Ints]:
    """Return a column's ids one after another, and how many each row has; raises BadFile where these are too many."""
    held = rows.columns[column]
    if lists and cells.is_text(cells.plain(held).type):
        held = lists(held, partial(rows.place, column))
    if not is_list(held.type):
        return held, np.ones(len(held), dtype=np.int64)
    sizes = np.asarray(compute.list_value_length(held).fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    if sizes.max(initial=0) > MOST_LENGTH:
        row = int(sizes.argmax())
        raise BadFile(
            f"{rows.place(column, row)} has {count(sizes[row], 'id')}; a sample has at most {count(MOST_LENGTH)}: cut them."
        )
    return held.flatten(), sizes


def _among(held: Any, texts: Sequence[str]) -> Flags:
    """Return which values are one of some texts."""
    words = cells.plain(cells.plain(held).cast("string"))
    return np.asarray(compute.is_in(words, array(texts)).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _equal(held: Any, text: str) -> Flags:
    """Return which values are those that a text writes: of booleans and numbers in any way that these are written."""
    column = cells.plain(held)
    if types.is_boolean(column.type):
        return _among(column, [text.lower()])
    if (types.is_integer(column.type) or types.is_floating(column.type)) and cells.is_number(text):
        return np.asarray(cells.numbers(column, str) == float(text))
    return _among(held, [text])


def _row_numbers(held: Any, place: Place) -> Words:
    """Return ids that are row numbers."""
    if (lacks := cells.missing(held)).any():
        raise BadFile(f"{place(int(lacks.argmax()))} is missing, and no row's number; write it, or say rows = {HASHED!r}.")
    found = cells.numbers(held, place, "write a row's number")
    bad = np.flatnonzero((found < 0) | (found != np.floor(found)) | (found >= 2**53))
    if len(bad):
        raise BadFile(f"{place(bad[0])}={found[bad[0]]:g} is no row's number; write whole ones from 0 to 2^53.")
    return found.astype(np.uint64)


def _clicks(layout: Layout, rows: Rows, columns: ColumnMemory) -> Flags:
    if not layout.label:
        return np.zeros(len(rows.lines), np.bool_)
    held, place = rows.columns[layout.label], partial(rows.place, layout.label)
    if layout.rule and len(columns.values) <= MOST_VALUES:
        columns.values |= dict.fromkeys(str(value) for value in compute.unique(held)[: MOST_VALUES + 1].to_pylist())
    if isinstance(layout.value, str):
        if layout.known and not (among := _among(held, layout.known)).all():
            row = int(among.argmin())
            raise BadFile(f"{place(row)}={held[row].as_py()[:40]!r} is not known; known are {', '.join(layout.known)}.")
        return np.asarray(_equal(held, layout.value) == (layout.rule == "=="), dtype=np.bool_)
    numbers = _truths(held) if not layout.rule else None
    if numbers is None:
        numbers = cells.numbers(held, place, "write one in every row, or give a rule for a text, such as == 'click'")
    if layout.rule:
        return np.asarray(OPERATORS[layout.rule](numbers, layout.value), dtype=np.bool_)
    bad = np.flatnonzero((numbers != 0) & (numbers != 1))
    if len(bad):
        raise BadFile(f"{place(bad[0])}={numbers[bad[0]]:g} is not a label; write 0 or 1, or give a rule such as >= 4.")
    return np.asarray(numbers == 1)


def _truths(held: Any) -> Any:
    """Return texts of true and false as 1 and 0, as pandas and others write them; None for any others."""
    column = cells.plain(held)
    if not cells.is_text(column.type):
        return None
    words = compute.utf8_lower(column)
    if not compute.all(compute.is_in(words, array(BOOLEANS, words.type))).as_py():
        return None
    return np.asarray(compute.equal(words, BOOLEANS[1]).to_numpy(zero_copy_only=False), dtype=np.float64)
