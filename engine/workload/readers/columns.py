"""From columns to samples: what every format of rows and columns has in common, one block of rows after the other."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Flags, Floats, Words
from ...errors import BadFile
from .layouts import OPERATORS, Layout
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
    samples = Samples(
        max(len(layout.dense), 1), len(layout.ids), (np.float64,) if layout.time else (), 3 if layout.time else None
    )
    try:
        for table in tables:
            parts = _parts(name, layout, table)
            samples.room(len(parts[2]))
            samples.add(*parts)
        dense, tokens, labels, *_ = samples.whole(watch)
        check_samples(name, labels)
    except MemoryError as error:
        raise too_large(name) from error
    pooling, order = (1,) * len(layout.ids), layout.order
    return Recording(name, digest(), dense, tokens, labels, pooling, layout.hashed, layout.name, order)


def _parts(name: str, layout: Layout, table: Rows) -> list[Any]:
    """Return a block's dense features, log(1 + x) of what is not negative, tokens, labels and times."""
    columns = dict(table.columns)
    kept = _chosen(layout, columns)
    for column in filter(None, (layout.label, layout.time)):
        _check_there(name, column, table, kept)
    labels = _clicks(name, layout, table)[kept].astype(np.float32)
    dense = np.zeros((len(labels), max(len(layout.dense), 1)), np.float32)
    tokens = np.empty((len(labels), len(layout.ids)), np.uint64)
    for at, column in enumerate(layout.dense):
        dense[:, at] = np.log1p(np.maximum(table.numbers(columns[column])[kept], 0.0))
    for at, column in enumerate(layout.ids):
        tokens[:, at] = (table.tokens(columns[column]) if layout.hashed else _whole(name, layout, column, table))[kept]
    return [dense, tokens, labels, *([table.times(columns[layout.time])[kept]] if layout.time else [])]


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


def _whole(name: str, layout: Layout, column: str, table: Rows) -> Words:
    """Return ids that are rows' numbers."""
    found = table.numbers(table.columns[column])
    bad = np.flatnonzero((found < 0) | (found != np.floor(found)) | (found >= 2**53))
    if len(bad):
        raise BadFile(
            f"{name}:{table.line + bad[0]}: {column}={found[bad[0]]:g} is no row's number; write whole ones from 0 to 2^53."
        )
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
