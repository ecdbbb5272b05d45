"""From columns to samples: what every format of rows and columns has in common, one block of rows after the other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from pyarrow import array, compute, types

from ...core.arrays import Flags, Ints, Words
from ...errors import BadFile
from . import cells
from .layouts import OPERATORS, Layout
from .lists import MOST_LENGTH, side_by_side
from .numbering import AS_THEY_ARE, HASHED, Numbers, numbering
from .recording import Recording, check_samples
from .samples import Samples, Watch, too_large, unwatched


@dataclass(frozen=True)
class Rows:
    """A block of rows of the file `name`: their columns by name, and on which of its lines each stands."""

    name: str
    lines: Ints
    columns: Mapping[str, Any]

    def place(self, column: str, row: int) -> str:
        """Return where a cell stands, as a message begins."""
        return f"{self.name}:{self.lines[row]}: {column}"


def samples_of(name: str, layout: Layout, tables: Iterable[Rows], watch: Watch = unwatched) -> Recording:
    """Put the blocks of a file together, sorted by time where the layout has one; raises BadFile.

    A file without dense features has one that is always 0, as every model has a bottom MLP.
    """
    held: Samples | None = None
    lists, some = Samples([np.zeros(0, np.uint64)]), False  # ids of all fields, where one of them has lists
    numbers = {column: numbering(layout.rows, name, column) for column in layout.ids}
    try:
        for table in tables:
            some = layout.lists != "" or any(_is_list(table.columns[column].type) for column in layout.ids)
            dense, fields, labels, *more = _parts(layout, table, numbers)
            ids = [tokens for tokens, _ in fields]
            if some:
                tokens, begins, lengths = side_by_side(fields)
                ids, more = [(begins + lists.count).astype(np.uint64)], [*more, lengths]
                lists.add(tokens)
            held = held or _samples(layout, some)
            held.add(dense, np.stack(ids, axis=1), labels, *more)
        dense, tokens, labels, *more = (held or _samples(layout, some)).whole(watch)
        check_samples(name, labels)
        flat = lists.whole()[0]
    except MemoryError as error:
        raise too_large(name) from error
    about = (layout.rows == HASHED, layout.name, layout.order)
    if not some:
        return Recording(name, dense, tokens, labels, (1,) * len(layout.ids), *about)
    return _of_lists(Recording(name, dense, flat, labels, (), *about), tokens[:, 0].astype(np.int64), more[-1])


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
    kinds += [(np.float64, ())] if layout.time else []
    kinds += [(np.uint16, (fields,))] if lists else []
    return Samples([np.zeros((0, *shape), kind) for kind, shape in kinds], 3 if layout.time else None)


def _parts(layout: Layout, given: Rows, numbers: Mapping[str, Numbers | None]) -> list[Any]:
    """Return a block's dense features, log(1 + x) of what is not negative, tokens and lengths of fields, labels and times."""
    rows = _chosen(layout, given)
    for column in filter(None, (layout.label, layout.time)):
        if (lacks := cells.missing(rows.columns[column])).any():
            raise BadFile(f"{rows.place(column, int(lacks.argmax()))} is missing; write it, or take the sample away.")
    labels = _clicks(layout, rows).astype(np.float32)
    dense = np.zeros((len(labels), max(len(layout.dense), 1)), np.float32)
    for at, column in enumerate(layout.dense):
        dense[:, at] = np.log1p(np.maximum(cells.numbers(rows.columns[column], partial(rows.place, column)), 0.0))
    fields = [_field(layout, rows, column, numbers[column]) for column in layout.ids]
    times = [cells.times(rows.columns[column], partial(rows.place, column)) for column in filter(None, (layout.time,))]
    return [dense, fields, labels, *times]


def _chosen(layout: Layout, rows: Rows) -> Rows:
    """Leave out the rows that the layout does."""
    if not layout.where:
        return rows
    column, *texts = layout.where
    chosen = _among(rows.columns[column], texts) & ~cells.missing(rows.columns[layout.label])
    return Rows(rows.name, rows.lines[chosen], {name: held.filter(array(chosen)) for name, held in rows.columns.items()})


def _field(layout: Layout, rows: Rows, column: str, number: Numbers | None) -> tuple[Words, Ints]:
    """Return the tokens of a column's ids, one after another, and how many each row has."""
    flat, sizes = _bags(layout, rows, column)

    def place(at: int) -> str:
        return rows.place(column, int(np.searchsorted(np.cumsum(sizes), at, side="right")))

    found = _whole(flat, place) if layout.rows == AS_THEY_ARE else cells.tokens(flat, place, layout.longest_id)
    return (number(found) if number else found), sizes


def _bags(layout: Layout, rows: Rows, column: str) -> tuple[Any, Ints]:
    """Return a column's ids one after another, and how many each row has; raises BadFile where these are too many."""
    held = rows.columns[column]
    if layout.lists:
        held = compute.if_else(compute.equal(held, ""), None, compute.split_pattern(held, layout.lists))
    if not _is_list(held.type):
        return held, np.ones(len(held), dtype=np.int64)
    sizes = np.asarray(compute.list_value_length(held).fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    if sizes.max(initial=0) > MOST_LENGTH:
        row = int(sizes.argmax())
        raise BadFile(f"{rows.place(column, row)} has {sizes[row]:,} ids; a sample has at most {MOST_LENGTH:,}: cut them.")
    return held.flatten(), sizes


def _is_list(kind: Any) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _among(held: Any, texts: Sequence[str]) -> Flags:
    """Return which values are one of some texts."""
    return np.asarray(compute.is_in(held.cast("string"), array(texts)).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _whole(held: Any, place: cells.Place) -> Words:
    """Return ids that are rows' numbers."""
    found = cells.numbers(held, place)
    bad = np.flatnonzero((found < 0) | (found != np.floor(found)) | (found >= 2**53))
    if len(bad):
        raise BadFile(f"{place(bad[0])}={found[bad[0]]:g} is no row's number; write whole ones from 0 to 2^53.")
    return found.astype(np.uint64)


def _clicks(layout: Layout, rows: Rows) -> Flags:
    held, place = rows.columns[layout.label], partial(rows.place, layout.label)
    if isinstance(layout.value, str):
        if layout.known and not (among := _among(held, layout.known)).all():
            row = int(among.argmin())
            raise BadFile(f"{place(row)}={held[row].as_py()[:40]!r} is not known; known are {', '.join(layout.known)}.")
        return np.asarray(_among(held, [layout.value]) == (layout.rule == "=="), dtype=np.bool_)
    numbers = cells.numbers(held, place)
    if layout.rule:
        return np.asarray(OPERATORS[layout.rule](numbers, layout.value), dtype=np.bool_)
    bad = np.flatnonzero((numbers != 0) & (numbers != 1))
    if len(bad):
        raise BadFile(f"{place(bad[0])}={numbers[bad[0]]:g} is not a label; write 0 or 1, or give a rule such as >= 4.")
    return np.asarray(numbers == 1)
