"""From columns to samples: what every format of rows and columns has in common, one block of rows after the other."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.arrays import Flags, Floats, Ints, Words
from ...errors import BadFile
from .layouts import OPERATORS, Layout
from .lists import MOST_LENGTH, Lists, side_by_side
from .numbering import AS_THEY_ARE, HASHED, Numbers, numbering
from .recording import Recording, check_samples
from .samples import Samples, Watch, too_large, unwatched


@dataclass(frozen=True)
class Rows:
    """A block of rows: its columns by name, where its first row stands, and how columns become tokens, numbers and times."""

    line: int
    columns: Mapping[str, Any]
    tokens: Callable[[Any], Words]
    numbers: Callable[[Any], Floats]
    times: Callable[[Any], Floats]


def samples_of(
    name: str, layout: Layout, tables: Iterable[Rows], digest: Callable[[], str], watch: Watch = unwatched
) -> Recording:
    """Put the blocks of a file together, sorted by time where the layout has one; raises BadFile.

    A file without dense features has one that is always 0, as every model has a bottom MLP.
    """
    held: Samples | None = None
    lists, some = Lists(), False  # ids of all fields, where one of them has lists
    numbers = {column: numbering(layout.rows, name, column) for column in layout.ids}
    try:
        for table in tables:
            some = layout.lists != "" or any(_is_list(table.columns[column].type) for column in layout.ids)
            parts = _parts(name, layout, table, numbers)
            if some:
                tokens, begins, lengths = side_by_side(parts[1])
                parts[1] = (begins + lists.count).astype(np.uint64)[:, None]
                parts.append(lengths)
                lists.add(tokens)
            else:
                parts[1] = np.stack([tokens for tokens, _ in parts[1]], axis=1)
            held = held or _samples(layout, some)
            held.room(len(parts[2]))
            held.add(*parts)
        dense, tokens, labels, *more = (held or _samples(layout, some)).whole(watch)
        check_samples(name, labels)
        flat = lists.whole() if some else None
    except MemoryError as error:
        raise too_large(name) from error
    about = (layout.rows == HASHED, layout.name, layout.order)
    if flat is None:
        return Recording(name, digest(), dense, tokens, labels, (1,) * len(layout.ids), *about)
    return _of_lists(Recording(name, digest(), dense, flat, labels, (), *about), tokens[:, 0].astype(np.int64), more[-1])


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
    more = ((np.float64,) if layout.time else ()) + ((np.dtype((np.uint16, (len(layout.ids),))),) if lists else ())
    return Samples(max(len(layout.dense), 1), 1 if lists else len(layout.ids), more, 3 if layout.time else None)


def _parts(name: str, layout: Layout, table: Rows, numbers: Mapping[str, Numbers | None]) -> list[Any]:
    """Return a block's dense features, log(1 + x) of what is not negative, tokens and lengths of fields, labels and times."""
    columns = dict(table.columns)
    kept = _chosen(layout, columns)
    for column in filter(None, (layout.label, layout.time)):
        _check_there(name, column, table, kept)
    labels = _clicks(name, layout, table)[kept].astype(np.float32)
    dense = np.zeros((len(labels), max(len(layout.dense), 1)), np.float32)
    for at, column in enumerate(layout.dense):
        dense[:, at] = np.log1p(np.maximum(table.numbers(columns[column])[kept], 0.0))
    ids = [_field(name, layout, table, column, kept, numbers[column]) for column in layout.ids]
    return [dense, ids, labels, *([table.times(columns[layout.time])[kept]] if layout.time else [])]


def _field(name: str, layout: Layout, table: Rows, column: str, kept: Any, number: Numbers | None) -> tuple[Words, Ints]:
    """Return the tokens of a column's ids in the rows that are kept, one after another, and how many each row has."""
    flat, sizes = _bags(name, layout, table, column)
    found = table.tokens(flat) if layout.rows != AS_THEY_ARE else _whole(name, column, table, flat, sizes)
    stays = np.zeros(len(sizes), dtype=np.bool_)
    stays[kept] = True
    found = found[np.repeat(stays, sizes)]
    return (number(found) if number else found), sizes[stays]


def _bags(name: str, layout: Layout, table: Rows, column: str) -> tuple[Any, Ints]:
    """Return a column's ids one after another, and how many each row has; raises BadFile where these are too many."""
    from pyarrow import compute

    held = table.columns[column]
    if layout.lists:
        held = compute.if_else(compute.equal(held, ""), None, compute.split_pattern(held, layout.lists))
    if not _is_list(held.type):
        return held, np.ones(len(held), dtype=np.int64)
    sizes = np.asarray(compute.list_value_length(held).fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    if sizes.max(initial=0) > MOST_LENGTH:
        row = int(sizes.argmax())
        what = f"{name}:{table.line + row}: {column} has {sizes[row]:,} ids"
        raise BadFile(f"{what}; a sample has at most {MOST_LENGTH:,}: cut them.")
    return held.flatten(), sizes


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _chosen(layout: Layout, columns: Mapping[str, Any]) -> Any:
    if not layout.where:
        return slice(None)
    column, *texts = layout.where
    return _among(columns[column], texts) & ~_missing(columns[layout.label])


def _among(held: Any, texts: Sequence[str]) -> Flags:
    """Return which values are one of some texts."""
    from pyarrow import array, compute

    return np.asarray(compute.is_in(held.cast("string"), array(texts)).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _missing(held: Any) -> Flags:
    """Return which values are not there: null, or an empty text."""
    from pyarrow import compute, types

    found = held.is_null()
    if types.is_string(held.type) or types.is_large_string(held.type):
        found = compute.or_(found, compute.equal(held, "").fill_null(True))
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _check_there(name: str, column: str, table: Rows, kept: Any) -> None:
    missing = np.zeros(len(table.columns[column]), np.bool_)
    missing[kept] = _missing(table.columns[column])[kept]
    if missing.any():
        line = table.line + int(missing.argmax())
        raise BadFile(f"{name}:{line}: {column} is missing; write it, or take the sample away.")


def _whole(name: str, column: str, table: Rows, held: Any, sizes: Ints) -> Words:
    """Return ids that are rows' numbers."""
    found = table.numbers(held)
    bad = np.flatnonzero((found < 0) | (found != np.floor(found)) | (found >= 2**53))
    if len(bad):
        row = int(np.searchsorted(np.cumsum(sizes), bad[0], side="right"))
        where = f"{name}:{table.line + row}: {column}={found[bad[0]]:g}"
        raise BadFile(f"{where} is no row's number; write whole ones from 0 to 2^53.")
    return found.astype(np.uint64)


def _clicks(name: str, layout: Layout, table: Rows) -> Flags:
    held = table.columns[layout.label]
    if isinstance(layout.value, str):
        if layout.known and not (among := _among(held, layout.known)).all():
            line = int(among.argmin())
            what = f"{name}:{table.line + line}: {layout.label}={held[line].as_py()[:40]!r}"
            raise BadFile(f"{what} is not known; known are {', '.join(layout.known)}.")
        return np.asarray(_among(held, [layout.value]) == (layout.rule == "=="), dtype=np.bool_)
    numbers = table.numbers(held)
    if layout.rule:
        return np.asarray(OPERATORS[layout.rule](numbers, layout.value), dtype=np.bool_)
    bad = np.flatnonzero((numbers != 0) & (numbers != 1))
    if len(bad):
        where = f"{name}:{table.line + bad[0]}"
        raise BadFile(f"{where}: {layout.label}={numbers[bad[0]]:g} is not a label; write 0 or 1, or give a rule such as >= 4.")
    return np.asarray(numbers == 1)
