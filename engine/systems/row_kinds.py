"""Rows of embedding tables by kind: their bytes, and of rows of several tables the mix of them."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.row_sizes import RowBytes, mean_bytes, mixed
from ..scenario.scenario import ROW_KNOBS, Scenario, per_table
from ..scenario.storage import row_state, stored_bytes
from ..units import FLOAT32
from ..workload.accesses import expected, lookups

CHECKSUM_BYTES = 8
LEVELS = 4  # memories outside HBM, fastest first


class RowKind(NamedTuple):
    """Bytes of a row with its optimizer state and checksum, of what a lookup reads of it, of its gradient in fp32.

    By how much its vector is `wider` in fp32, in which it is added up, than as it is read; and of state and checksum `beside` its
    vector. Of unlike rows each is a mix.
    """

    row: RowBytes
    vector: RowBytes
    gradient: RowBytes
    wider: RowBytes
    beside: RowBytes


class RowSizes(NamedTuple):
    """Bytes of a batch's `unique` rows, of its rows `by_lookup`, of those that a cache moves, and of those in each level.

    `far` are rows outside HBM, of all levels; `hot` are those among the rows that the system treats as popular.
    """

    unique: RowKind
    by_lookup: RowKind
    moved: RowKind
    levels: tuple[RowKind, ...]
    far: RowBytes
    hot: RowKind


def row_kinds(s: Scenario) -> tuple[tuple[RowKind, ...], Ints]:
    """Return the kinds of rows that the tables have, and of which kind each table's are, (T,)."""
    return _row_kinds(*(per_table(s.model, name) for name in ROW_KNOBS), s.policy.row_checksums)


@lru_cache(maxsize=64)
def _row_kinds(*knobs: Any) -> tuple[tuple[RowKind, ...], Ints]:
    *columns, checked = knobs
    known: dict[RowKind, int] = {}
    kind = np.array([known.setdefault(_row_kind(*of, checked), len(known)) for of in zip(*columns, strict=True)])
    kind.flags.writeable = False
    return tuple(known), kind


@lru_cache(maxsize=4096)
def _row_kind(dim: int, precision: str, optimizer: str, checked: bool) -> RowKind:
    vector, gradient = stored_bytes(precision, dim), dim * FLOAT32
    row = vector + FLOAT32 * row_state(optimizer, dim) + (CHECKSUM_BYTES if checked else 0)
    read = row if checked else vector
    return RowKind(row, read, gradient, max(0, gradient - read), row - vector)


def mean_kind(s: Scenario, weights: Floats | Sequence[float]) -> RowKind:
    """Return the bytes of rows of which each table has so many, (T,): numbers where all rows are alike."""
    kinds, kind = row_kinds(s)
    if len(kinds) == 1:
        return kinds[0]
    many = np.bincount(kind, weights=np.asarray(weights, dtype=np.float64), minlength=len(kinds)).tolist()
    return RowKind(*(mixed(sizes, many) for sizes in zip(*kinds, strict=True)))


def row_sizes(
    s: Scenario,
    unique: Floats | None = None,
    moved: Floats | None = None,
    levels: Any = (),
    hot: Floats | None = None,
    by_lookup: Floats | None = None,
) -> RowSizes:
    """Return the bytes of a batch's rows, given how many of each table are unique, moved by a cache, hot, (T,) each, and in each
    of the levels, (LEVELS, T): the unique rows that the popularity lets expect, and the same of the others, where not said.
    Lookups of each table are the model's, or `by_lookup`, (T,).
    """
    kinds, _ = row_kinds(s)
    if len(kinds) == 1:
        return RowSizes(kinds[0], kinds[0], kinds[0], kinds * LEVELS, kinds[0].row, kinds[0])
    rows = mean_kind(s, expected(s).unique_rows if unique is None else unique)
    where = tuple(mean_kind(s, level) if np.any(level) else rows for level in levels) or (rows,) * LEVELS
    far = mean_kind(s, np.sum(levels, axis=0)).row if np.any(levels) else rows.row
    come, popular = (rows if some is None or not some.any() else mean_kind(s, some) for some in (moved, hot))
    return RowSizes(rows, mean_kind(s, lookups(s) if by_lookup is None else by_lookup), come, where, far, popular)


def kind_bytes(s: Scenario, name: str) -> Floats:
    """Return the bytes of each table's rows, (T,), of the field of RowKind that is named."""
    kinds, kind = row_kinds(s)
    return np.array([float(mean_bytes(getattr(one, name))) for one in kinds])[kind]


def row_bytes(s: Scenario) -> float:
    """Return the bytes of an embedding row with its optimizer state and its checksum: of unlike rows the mean over all rows."""
    return mean_bytes(mean_kind(s, per_table(s.model, "num_embeddings")).row)


def unique_row_bytes(s: Scenario) -> float:
    """Return the mean bytes of a batch's unique rows, with optimizer state and checksum."""
    return mean_bytes(row_sizes(s).unique.row)


def vector_bytes(s: Scenario) -> float:
    """Return the bytes of a row that a lookup reads, all of it where it has a checksum: of unlike rows the mean over lookups."""
    return mean_bytes(mean_kind(s, lookups(s)).vector)
