"""Spans of neighbouring tables that are alike, and their positions in the trained model."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

import numpy as np

from ..core.arithmetic import total
from ..core.arrays import Ints
from ..scenario.storage import row_state, scale_words, stored_bytes
from ..units import FLOAT32


class TableSpan(NamedTuple):
    """Neighbouring tables of one width, precision, optimizer and number of features.

    dim: the elements of a row.
    precision, optimizer: the precision and the optimizer of all rows.
    tables: the number of tables.
    features: the number of features that share each table.
    """

    dim: int
    precision: str
    optimizer: str
    tables: int
    features: int = 1

    @property
    def vectors(self) -> int:
        """The number of a sample's pooled vectors in the span: tables times features."""
        return self.tables * self.features

    @property
    def width(self) -> int:
        """The number of elements of a sample's pooled vectors in the span."""
        return self.vectors * self.dim

    @property
    def row_state(self) -> int:
        """Words (fp32) of a row's state: optimizer state, and an int8 row's scale."""
        return row_state(self.optimizer, self.dim) + scale_words(self.precision)

    @property
    def row_bytes(self) -> int:
        """Bytes of a stored row with its optimizer state."""
        return stored_bytes(self.precision, self.dim) + FLOAT32 * row_state(self.optimizer, self.dim)


def table_spans(
    dims: Iterable[int], precisions: Iterable[str], optimizers: Iterable[str], features: Iterable[int]
) -> tuple[TableSpan, ...]:
    """Return the spans of neighbouring tables of equal width, precision, optimizer and features.

    Each argument has one value per table.
    """
    runs = groupby(zip(dims, precisions, optimizers, features, strict=True))
    return tuple(TableSpan(dim, word, rule, sum(1 for _ in run), num_features) for (dim, word, rule, num_features), run in runs)


def row_nbytes(span: TableSpan) -> int:
    """Return the bytes of a row in this process's memory.

    The row has its vector, in fp32 for each precision, and its state.
    """
    return FLOAT32 * (span.dim + span.row_state)


class PlacedSpan(NamedTuple):
    """A span of tables, with its position in the model.

    span: the span.
    tables: the range of the span's tables among all tables.
    columns: the range of the span's pooled vectors in the columns of the features.
    vectors: the range of the span's pooled vectors among all vectors; vector 0 is the bottom MLP's output.
    pooling: the lookups of a sample in each table of the span, (tables,).
    lookups: the lookups of a sample in the whole span.
    """

    span: TableSpan
    tables: slice
    columns: slice
    vectors: slice
    pooling: Ints
    lookups: int


@lru_cache(maxsize=32)
def place_spans(spans: tuple[TableSpan, ...], pooling: tuple[int, ...], column: int) -> tuple[PlacedSpan, ...]:
    """Return each span with its position.

    The first span's vectors begin at `column` of the features.
    """
    table, vector, places = 0, 1, list[PlacedSpan]()
    for span in spans:
        tables, columns = slice(table, table + span.tables), slice(column, column + span.width)
        vectors = slice(vector, vector + span.vectors)
        places.append(PlacedSpan(span, tables, columns, vectors, np.array(pooling[tables]), total(pooling[tables])))
        table, column, vector = tables.stop, columns.stop, vectors.stop
    return tuple(places)
