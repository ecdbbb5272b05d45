"""The shape of the trained model: the scenario's model, or a smaller twin.

A twin has narrower MLPs and smaller tables, so that training fits the budgets of this computer. The timing always uses the
full model; the twin is trained on the same ids, in the same order and the same batches.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, pairwise
from math import ceil
from typing import Literal, NamedTuple

import numpy as np

from ..core import figures
from ..core.arithmetic import total
from ..core.arrays import Ints
from ..core.work import cross_parameters
from ..errors import CannotRun
from ..scenario.scenario import ROW_KNOBS, Scenario, cross_ranks, dense_optimizer, is_sequential, per_table, with_values
from ..scenario.storage import mlp_state, row_state, scale_words, stored_bytes
from ..units import FLOAT32, GiB

Part = Literal["bottom", "top"]
PARTS: tuple[Part, Part] = ("bottom", "top")


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


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a DLRM to train; models of equal shape compute the same function.

    rows: the rows of each table of the full model.
    pooling: the lookups of a sample in each table.
    spans: the spans of equal neighbouring tables, in the order of the tables.
    bottom: the widths of the bottom MLP, from the dense features to its output.
    top: the widths of the top MLP, from its first layer's output to 1.
    interaction: "dot" for products of all pairs of vectors as wide as the bottom MLP's output, else concatenation.
    dense_optimizer, learning_rate: the optimizer and the learning rate of the MLPs.
    matrix_precision: the precision of matrix products.
    stride: the number of neighbouring concatenated features that are averaged into one.
    ranks: the ranks of the cross network's layers, 0 for a full matrix; empty without a cross network.
    row_rate: the learning rate of rows; None for that of the MLPs.
    initial_accumulator: the first value of Adagrad's sums.
    width_divisor: the power of two by which hidden widths are divided; 1 for the full model.
    table_divisor: the power of two by which the rows of tables are divided; 1 for the full model.
    """

    rows: tuple[int, ...]
    pooling: tuple[int, ...]
    spans: tuple[TableSpan, ...]
    bottom: tuple[int, ...]
    top: tuple[int, ...]
    interaction: str
    dense_optimizer: str
    learning_rate: float
    matrix_precision: str = "fp32"
    stride: int = 1
    ranks: tuple[int, ...] = ()
    row_rate: float | None = None
    initial_accumulator: float = 0.0
    width_divisor: int = 1
    table_divisor: int = 1

    @property
    def num_tables(self) -> int:
        """The number of embedding tables."""
        return len(self.rows)

    @property
    def num_vectors(self) -> int:
        """The number of pooled vectors of a sample: tables times features, summed over spans."""
        return total(span.vectors for span in self.spans)

    @property
    def folded(self) -> tuple[int, ...]:
        """The rows of each table after division by `table_divisor`."""
        return tuple(-(-rows // self.table_divisor) for rows in self.rows)

    @property
    def mlp_state(self) -> int:
        """The number of words of optimizer state for each weight of the dense layers."""
        return mlp_state(self.dense_optimizer)

    @property
    def features_width(self) -> int:
        """The number of elements of a sample's features, the input of the interaction.

        The features are the bottom MLP's output, then all pooled vectors.
        """
        return self.bottom[-1] + total(span.width for span in self.spans)

    @property
    def projected(self) -> tuple[TableSpan, ...]:
        """The spans whose pooled vectors are projected to the width of the bottom MLP's output.

        Only the interaction "dot" needs such projections.
        """
        return tuple(span for span in self.spans if self.interaction == "dot" and span.dim != self.bottom[-1])

    @property
    def top_input(self) -> int:
        """Width of the interaction's output, the input of the top MLP."""
        if self.interaction == "dot":
            return self.bottom[-1] + num_pairs(self.num_vectors)
        return ceil(self.features_width / self.stride)

    def widths(self, part: Part) -> tuple[int, ...]:
        """Return the widths of the "bottom" or "top" MLP, from its input to its output."""
        return self.bottom if part == "bottom" else (self.top_input, *self.top)


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


def placed_spans(shape: Shape) -> tuple[PlacedSpan, ...]:
    """Return each span of a shape with its position in the model."""
    return _placed_spans(shape.spans, shape.pooling, shape.bottom[-1])


@lru_cache(maxsize=32)
def _placed_spans(spans: tuple[TableSpan, ...], pooling: tuple[int, ...], column: int) -> tuple[PlacedSpan, ...]:
    table, vector, places = 0, 1, list[PlacedSpan]()
    for span in spans:
        tables, columns = slice(table, table + span.tables), slice(column, column + span.width)
        vectors = slice(vector, vector + span.vectors)
        places.append(PlacedSpan(span, tables, columns, vectors, np.array(pooling[tables]), total(pooling[tables])))
        table, column, vector = tables.stop, columns.stop, vectors.stop
    return tuple(places)


def num_pairs(vectors: int) -> int:
    """Return the number of pairs among `vectors` pooled vectors and the dense vector."""
    return vectors * (vectors + 1) // 2


def offsets(shape: Shape) -> Ints:
    """Return the first global row of each full table, then the number of rows, (T+1,)."""
    return np.concatenate(([0], np.cumsum(shape.rows, dtype=np.int64)))


def fold(shape: Shape, ids: Ints) -> Ints:
    """Return the global rows that `ids` have in the smaller tables of a twin.

    A row's number within its table is taken modulo the table's folded rows. Return `ids` themselves if the tables are full.
    """
    if shape.table_divisor == 1:
        return ids
    starts = offsets(shape)
    table = np.searchsorted(starts, ids, side="right") - 1
    first_row = starts[table]
    rows: Ints = first_row + (ids - first_row) % np.array(shape.folded)[table]
    return rows


def by_span(shape: Shape, rows: Ints) -> list[Ints]:
    """Return sorted global `rows`, split into one array per span."""
    ends = [place.tables.stop for place in placed_spans(shape)]
    return np.split(rows, np.searchsorted(rows, offsets(shape)[ends[:-1]]))


def row_nbytes(span: TableSpan) -> int:
    """Return the bytes of a row in this process's memory.

    The row has its vector, in fp32 for each precision, and its state.
    """
    return FLOAT32 * (span.dim + span.row_state)


def mlp_size(shape: Shape, *parts: Part) -> int:
    """Return the number of weights and biases of the named MLPs, or of both."""
    return total(n * m + n for part in parts or PARTS for m, n in pairwise(shape.widths(part)))


def cross_size(shape: Shape) -> int:
    """Return the number of weights and biases of the cross network.

    In the flat vector of dense layers they lie after the MLPs.
    """
    return cross_parameters(shape.features_width, shape.ranks)


def projection_size(shape: Shape) -> int:
    """Return the number of weights of all projections.

    In the flat vector of dense layers they lie after all other layers.
    """
    return total(span.tables * span.dim * shape.bottom[-1] for span in shape.projected)


def dense_size(shape: Shape) -> int:
    """Return the number of weights and biases of all dense layers."""
    return mlp_size(shape) + cross_size(shape) + projection_size(shape)


def step_flop(shape: Shape, batch_size: int) -> float:
    """Return the floating-point operations of a training step, without embeddings.

    The backward pass has twice as many as the forward pass.
    """
    weights = total(n * m for part in PARTS for m, n in pairwise(shape.widths(part)))
    weights += total(span.width * shape.bottom[-1] for span in shape.projected)
    products = shape.bottom[-1] * num_pairs(shape.num_vectors) if shape.interaction == "dot" else cross_size(shape)
    return 6.0 * batch_size * (weights + products)


def full_shape(scenario: Scenario) -> Shape:
    """Return the shape of the scenario's full model."""
    model = scenario.model
    return Shape(
        rows=per_table(model, "num_embeddings"),
        pooling=per_table(model, "pooling"),
        spans=table_spans(*(per_table(model, name) for name in (*ROW_KNOBS, "features"))),
        bottom=model.bottom_mlp,
        top=model.top_mlp,
        interaction=model.interaction,
        dense_optimizer=dense_optimizer(model),
        learning_rate=model.learning_rate,
        matrix_precision=scenario.machine.matrix_precision,
        stride=model.interaction_stride,
        ranks=cross_ranks(model),
        row_rate=model.embedding_learning_rate,
        initial_accumulator=model.initial_accumulator,
    )


def scaled_shape(scenario: Scenario, touched_rows: Ints) -> Shape:
    """Return the shape to train: the full model, or the largest twin within the budgets.

    `touched_rows` are the sorted global rows that the run and its held-out samples use.
    Raises CannotRun if even the smallest twin exceeds the budgets, or for a model of sequences.
    """
    if is_sequential(scenario.model):
        raise CannotRun(
            "run.training=on is not possible with model.interaction=hstu: layers over histories are timed, but not trained; set "
            "run.training=off."
        )
    return _folded(_narrowed(full_shape(scenario), scenario), scenario, touched_rows)


def scale_note(shape: Shape) -> str:
    """Return the sentence that says how the trained model differs from the timed model.

    Return '' if they are the same.
    """
    parts = []
    if shape.width_divisor > 1:
        parts.append(f"hidden MLP widths{' and cross ranks' if any(shape.ranks) else ''} divided by {shape.width_divisor}")
    if shape.table_divisor > 1:
        parts.append(f"embedding tables folded to 1/{shape.table_divisor} of their rows")
    return (
        (f"Trained on a smaller model of the same form, with {' and '.join(parts)}; the timing uses the full model.")
        if parts
        else ""
    )


def _narrowed(shape: Shape, scenario: Scenario) -> Shape:
    budget, batch_size = scenario.run.step_budget_GFLOP, scenario.data.batch_size
    for narrow_shape in _divided(shape):
        flop = step_flop(narrow_shape, batch_size)
        if flop <= budget * 1e9:
            return narrow_shape
    raise CannotRun(
        f"run.step_budget_GFLOP={budget:g} cannot hold a training step of {figures.figure(flop / 1e9, 'GFLOP')}, "
        f"even with hidden widths of 1; raise it to {figures.exact(_ample(flop))}, lower data.batch_size={batch_size}, "
        "or set run.training=off."
    )


def larger_budget(scenario: Scenario) -> float | None:
    """Return the step budget [GFLOP] that training needs.

    Return None if the scenario's budget is enough for a twin, or if training is off.
    """
    *_, narrowest = _divided(full_shape(scenario))
    flop = step_flop(narrowest, scenario.data.batch_size)
    return _ample(flop) if scenario.run.training and flop > scenario.run.step_budget_GFLOP * 1e9 else None


def with_larger_budget(scenario: Scenario) -> Scenario:
    """Return the scenario with the step budget that its training needs.

    Return the scenario itself if its budget is enough, or if training is off.
    """
    budget = larger_budget(scenario)
    return with_values(scenario, {"run.step_budget_GFLOP": budget}) if budget else scenario


def _ample(flop: float) -> float:
    """Return a step budget in whole GFLOP, a quarter above the narrowest twin's, so that hidden widths can exceed 1."""
    return float(ceil(1.25 * flop / 1e9))


def _divided(shape: Shape) -> Iterator[Shape]:
    """Yield `shape` with hidden widths and ranks divided by 1, 2, 4, ... until all of them are 1."""
    hidden = (*shape.bottom[1:-1], *shape.top[:-1])
    for power in range(max((*hidden, *shape.ranks), default=1).bit_length()):
        divisor = 2**power
        narrow_widths = [max(1, width // divisor) for width in hidden]
        cut = len(shape.bottom) - 2
        yield replace(
            shape,
            bottom=(shape.bottom[0], *narrow_widths[:cut], shape.bottom[-1]),
            top=(*narrow_widths[cut:], shape.top[-1]),
            ranks=tuple(rank and max(1, rank // divisor) for rank in shape.ranks),
            width_divisor=divisor,
        )


def _folded(shape: Shape, scenario: Scenario, touched_rows: Ints) -> Shape:
    budget = scenario.run.memory_budget_GiB * GiB
    fixed = FLOAT32 * dense_size(shape) * (1 + shape.mlp_state)
    for power in range(max(shape.rows).bit_length() + 1):
        smaller = replace(shape, table_divisor=2**power)
        rows = by_span(shape, touched_rows if power == 0 else distinct_ids(fold(smaller, touched_rows)))
        needed_bytes = fixed + total(len(span_rows) * row_nbytes(span) for span_rows, span in zip(rows, shape.spans, strict=True))
        if needed_bytes <= budget:
            return smaller
    raise CannotRun(
        f"run.memory_budget_GiB={scenario.run.memory_budget_GiB:g} cannot hold {figures.figure(needed_bytes / GiB, 'GiB')} of "
        "weights, even with every table folded to one row; raise it, or set run.training=off."
    )


def distinct_ids(ids: Ints) -> Ints:
    """Return the sorted distinct `ids`.

    The function is several times faster than np.unique, which hashes the ids before it sorts them.
    """
    rows = np.sort(ids)
    first_of_its_kind = np.append(True, rows[1:] != rows[:-1])[: rows.size]
    return np.compress(first_of_its_kind, rows)
