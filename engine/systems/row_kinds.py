"""Kinds of embedding rows: the bytes of each, and mixes over several tables."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.memo import memoised
from ..core.points.numbers import as_array
from ..core.points.per_point import PerPoint, at_each_point
from ..core.row_sizes import RowBytes, mean_bytes, row_mix
from ..scenario.scenario import ROW_KNOBS, Scenario, per_table
from ..scenario.storage import row_state, stored_bytes
from ..units import FLOAT32
from ..workload.accesses import expected_accesses, table_lookups

CHECKSUM_BYTES = 8
LEVELS = 4  # memories outside HBM, fastest first


class RowKind(NamedTuple):
    """Bytes of a row of one kind, or mixes of bytes for several kinds.

    row: the row with its optimizer state and checksum.
    vector: the bytes that a lookup reads of the row.
    gradient: the row's gradient in fp32.
    fp32_extra: additional bytes of the row's vector when converted to fp32, in which vectors are added up.
    state_and_checksum: optimizer state and checksum.
    """

    row: RowBytes
    vector: RowBytes
    gradient: RowBytes
    fp32_extra: RowBytes
    state_and_checksum: RowBytes


class RowSizes(NamedTuple):
    """Bytes of the rows of a batch that each use of rows has.

    unique: the batch's unique rows.
    by_lookup: a row for each lookup, repeated rows included.
    moved_row: the rows that a cache fetches and evicts.
    levels: the rows in each memory outside HBM.
    far_row: the rows in all memories outside HBM together.
    hot: the rows that the system treats as popular.
    """

    unique: RowKind
    by_lookup: RowKind
    moved_row: RowKind
    levels: tuple[RowKind, ...]
    far_row: RowBytes
    hot: RowKind


@memoised(each_point_alone=True)
def row_kinds(s: Scenario) -> tuple[tuple[RowKind, ...], Ints]:
    """Return the different kinds of rows, and each table's index among them, (T,)."""
    return _row_kinds(*(per_table(s.model, name) for name in ROW_KNOBS), s.policy.row_checksums)


@lru_cache(maxsize=64)
def _row_kinds(*knobs: Any) -> tuple[tuple[RowKind, ...], Ints]:
    """Return the kinds for the values of ROW_KNOBS by table."""
    *columns, checked = knobs
    kind_numbers: dict[RowKind, int] = {}
    kind = np.array(
        [kind_numbers.setdefault(_row_kind(*row_knobs, checked), len(kind_numbers)) for row_knobs in zip(*columns, strict=True)]
    )
    kind.flags.writeable = False
    return tuple(kind_numbers), kind


@lru_cache(maxsize=4096)
def _row_kind(dim: int, precision: str, optimizer: str, checked: bool) -> RowKind:
    """Return the kind of a row of so many elements."""
    vector, gradient = stored_bytes(precision, dim), dim * FLOAT32
    row = vector + FLOAT32 * row_state(optimizer, dim) + (CHECKSUM_BYTES if checked else 0)
    read_bytes = row if checked else vector
    return RowKind(row, read_bytes, gradient, max(0, gradient - read_bytes), row - vector)


def mean_kind(s: Scenario, weights: Floats | Sequence[float]) -> RowKind:
    """Return the mix of rows of which each table has `weights` rows, (T,).

    The bytes are numbers instead of mixes if all rows have the same kind.
    """
    kinds, kind = row_kinds(s)
    if len(kinds) == 1:
        return kinds[0]
    row_counts = at_each_point(lambda rows: np.bincount(kind, weights=rows, minlength=len(kinds)), (weights,), {})
    row_counts = [*row_counts] if isinstance(row_counts, PerPoint) else row_counts.tolist()
    return RowKind(*(row_mix(sizes, row_counts) for sizes in zip(*kinds, strict=True)))


def row_sizes(
    s: Scenario,
    unique: Floats | None = None,
    moved_rows: Floats | None = None,
    levels: Any = (),
    hot: Floats | None = None,
    by_lookup: Floats | None = None,
) -> RowSizes:
    """Return the bytes of a batch's rows for each use of rows.

    unique, moved_rows, hot: rows of each table for these uses, (T,).
    levels: rows of each table in each memory outside HBM, (LEVELS, T).
    by_lookup: lookups of each table, (T,).
    By default, unique rows are the expected ones, all other rows are the unique rows, and lookups are the model's.
    """
    kinds, _ = row_kinds(s)
    if len(kinds) == 1:
        return RowSizes(kinds[0], kinds[0], kinds[0], kinds * LEVELS, kinds[0].row, kinds[0])
    rows = mean_kind(s, expected_accesses(s).unique_rows if unique is None else unique)
    level_kinds = tuple(mean_kind(s, level) if np.any(level) else rows for level in levels) or (rows,) * LEVELS
    far_bytes = mean_kind(s, np.sum(levels, axis=0)).row if np.any(levels) else rows.row
    come, popular = (
        rows if table_rows is None or not table_rows.any() else mean_kind(s, table_rows) for table_rows in (moved_rows, hot)
    )
    return RowSizes(
        rows, mean_kind(s, table_lookups(s) if by_lookup is None else by_lookup), come, level_kinds, far_bytes, popular
    )


def kind_bytes(s: Scenario, name: str) -> Floats:
    """Return the bytes of each table's rows, (T,), for a field of RowKind."""
    kinds, kind = row_kinds(s)
    return as_array([mean_bytes(getattr(row_kind, name)) for row_kind in kinds], np.float64)[kind]


def row_bytes(s: Scenario) -> float:
    """Return the mean bytes of a row over all rows, with optimizer state and checksum."""
    return mean_bytes(mean_kind(s, per_table(s.model, "num_embeddings")).row)


def unique_row_bytes(s: Scenario) -> float:
    """Return the mean bytes of a batch's unique rows, with optimizer state and checksum."""
    return mean_bytes(row_sizes(s).unique.row)


def vector_bytes(s: Scenario) -> float:
    """Return the bytes that a lookup reads of a row: the mean over lookups.

    Of a row with a checksum, a lookup reads all bytes.
    """
    return mean_bytes(mean_kind(s, table_lookups(s)).vector)
