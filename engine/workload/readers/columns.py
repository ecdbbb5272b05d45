"""From columns to samples: what every format of rows and columns has in common, one block of rows after the other."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Flags, Floats, Words
from ...errors import BadFile
from .layouts import OPERATORS, Layout
from .recording import Recording, check_samples
from .samples import Samples, too_large


@dataclass(frozen=True)
class Rows:
    """A block of rows: its columns by name, where its first row stands, and how columns become tokens and numbers."""

    line: int
    columns: Mapping[str, Any]
    tokens: Callable[[Any], Words]
    numbers: Callable[[Any], Floats]


def samples_of(name: str, layout: Layout, tables: Iterable[Rows], digest: Callable[[], str]) -> Recording:
    """Put the blocks of a file together, sorted by time where the layout has one; raises BadFile.

    A file without dense features has one that is always 0, as every model has a bottom MLP.
    """
    samples = Samples(max(len(layout.dense), 1), len(layout.ids), (np.float64,) if layout.time else ())
    try:
        for table in tables:
            parts = _parts(name, layout, table)
            samples.room(len(parts[2]))
            samples.add(*parts)
        dense, tokens, labels, *_ = samples.sorted_by(3) if layout.time else samples.whole()
        check_samples(name, labels)
    except MemoryError as error:
        raise too_large(name) from error
    pooling, order = (1,) * len(layout.ids), layout.order
    return Recording(name, digest(), dense, tokens, labels, pooling, layout.hashed, layout.name, order)


def _parts(name: str, layout: Layout, table: Rows) -> list[Any]:
    """Return a block's dense features, log(1 + x) of what is not negative, tokens, labels and times."""
    columns = dict(table.columns)
    kept = _chosen(layout, columns)
    labels = _clicks(name, layout, table)[kept].astype(np.float32)
    dense = np.zeros((len(labels), max(len(layout.dense), 1)), np.float32)
    tokens = np.empty((len(labels), len(layout.ids)), np.uint64)
    for at, column in enumerate(layout.dense):
        dense[:, at] = np.log1p(np.maximum(table.numbers(columns[column])[kept], 0.0))
    for at, column in enumerate(layout.ids):
        tokens[:, at] = (table.tokens(columns[column]) if layout.hashed else _whole(name, layout, column, table))[kept]
    return [dense, tokens, labels, *([table.numbers(columns[layout.time])[kept]] if layout.time else [])]


def _chosen(layout: Layout, columns: Mapping[str, Any]) -> Any:
    if not layout.where:
        return slice(None)
    column, *texts = layout.where
    return np.isin(np.array(columns[column].to_pylist(), dtype=str), texts)


def _whole(name: str, layout: Layout, column: str, table: Rows) -> Words:
    """Return ids that are rows' numbers."""
    found = table.numbers(table.columns[column])
    bad = np.flatnonzero((found < 0) | (found != np.floor(found)) | (found >= 2**53))
    if len(bad):
        raise BadFile(f"{name}:{table.line + bad[0]}: {column}={found[bad[0]]:g} is no row's number; write whole ones from 0 on.")
    return found.astype(np.uint64)


def _clicks(name: str, layout: Layout, table: Rows) -> Flags:
    held = table.columns[layout.label]
    if isinstance(layout.value, str):
        found: Flags = OPERATORS[layout.rule](np.array(held.to_pylist(), dtype=object), layout.value)
        return np.asarray(found, dtype=np.bool_)
    numbers = table.numbers(held)
    if layout.rule:
        return np.asarray(OPERATORS[layout.rule](numbers, layout.value), dtype=np.bool_)
    bad = np.flatnonzero((numbers != 0) & (numbers != 1))
    if len(bad):
        where = f"{name}:{table.line + bad[0]}"
        raise BadFile(f"{where}: {layout.label}={numbers[bad[0]]:g} is not a label; write 0 or 1, or give a rule such as >= 4.")
    return np.asarray(numbers == 1)
