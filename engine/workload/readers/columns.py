"""From columns to samples: what every format of rows and columns has in common, one block of rows after the other."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Flags, Floats, Words
from ...errors import BadFile
from .layouts import OPERATORS, Layout
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
    bags: dict[str, int] = {}  # ids in each sample, by column
    numbers = {column: numbering(layout.rows, name, column) for column in layout.ids}
    try:
        for table in tables:
            parts = _parts(name, layout, table, bags, numbers)
            held = held or _samples(layout, sum(bags[column] for column in layout.ids))
            held.room(len(parts[2]))
            held.add(*parts)
        dense, tokens, labels, *_ = (held or _samples(layout, len(layout.ids))).whole(watch)
        check_samples(name, labels)
    except MemoryError as error:
        raise too_large(name) from error
    pooling = tuple(bags[column] for column in layout.ids)
    return Recording(name, digest(), dense, tokens, labels, pooling, layout.rows == HASHED, layout.name, layout.order)


def _samples(layout: Layout, lookups: int) -> Samples:
    time = (np.float64,) if layout.time else ()
    return Samples(max(len(layout.dense), 1), lookups, time, 3 if layout.time else None)


def _parts(name: str, layout: Layout, table: Rows, bags: dict[str, int], numbers: Mapping[str, Numbers | None]) -> list[Any]:
    """Return a block's dense features, log(1 + x) of what is not negative, tokens, labels and times."""
    columns = dict(table.columns)
    kept = _chosen(layout, columns)
    for column in filter(None, (layout.label, layout.time)):
        _check_there(name, column, table, kept)
    labels = _clicks(name, layout, table)[kept].astype(np.float32)
    dense = np.zeros((len(labels), max(len(layout.dense), 1)), np.float32)
    for at, column in enumerate(layout.dense):
        dense[:, at] = np.log1p(np.maximum(table.numbers(columns[column])[kept], 0.0))
    ids = []
    for column in layout.ids:
        flat = _bags(name, layout, table, column, bags)
        found = table.tokens(flat) if layout.rows != AS_THEY_ARE else _whole(name, column, table, flat, bags[column])
        found = found.reshape(-1, bags[column])[kept]
        number = numbers[column]
        ids.append(number(found.reshape(-1)).reshape(found.shape) if number else found)
    tokens = np.concatenate(ids, axis=1)
    return [dense, tokens, labels, *([table.times(columns[layout.time])[kept]] if layout.time else [])]


def _bags(name: str, layout: Layout, table: Rows, column: str, bags: dict[str, int]) -> Any:
    """Return a column's ids one after another, and note how many each sample has; raises BadFile where that differs."""
    from pyarrow import compute, types

    held = table.columns[column]
    if layout.lists:
        held = compute.split_pattern(held, layout.lists)
    kind = held.type
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        bags[column] = 1
        return held
    sizes = compute.list_value_length(held).fill_null(0).to_numpy(zero_copy_only=False)
    size = bags.setdefault(column, int(sizes[0]) if len(sizes) else 1)
    bad = np.flatnonzero(sizes != size)
    if len(bad) or not size:
        row = int(bad[0]) if len(bad) else 0
        what = f"{name}:{table.line + row}: {column} has {sizes[row]} ids"
        raise BadFile(f"{what}, and the first sample {size}; each sample must have as many, one at least: pad or cut them.")
    return held.flatten()


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


def _whole(name: str, column: str, table: Rows, held: Any, bag: int) -> Words:
    """Return ids that are rows' numbers."""
    found = table.numbers(held)
    bad = np.flatnonzero((found < 0) | (found != np.floor(found)) | (found >= 2**53))
    if len(bad):
        where = f"{name}:{table.line + bad[0] // bag}: {column}={found[bad[0]]:g}"
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
