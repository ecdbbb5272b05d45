"""The shape of the model that is trained: the scenario's own, or its functional twin, scaled to this computer's budgets.

Timing always uses the full model; the twin sees the same ids, in the same order and the same batches.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, pairwise
from math import ceil
from typing import Literal, NamedTuple

import numpy as np

from ..core import figures
from ..core.arrays import Ints
from ..core.work import cross_parameters
from ..errors import CannotRun
from ..scenario.scenario import ROW_KNOBS, Scenario, cross_ranks, dense_optimizer, per_table, with_values
from ..scenario.storage import mlp_state, row_state, scales, stored_bytes
from ..units import FLOAT32, GiB

Part = Literal["bottom", "top"]
PARTS: tuple[Part, Part] = ("bottom", "top")


class TableSpan(NamedTuple):
    """Neighbouring tables, `tables` of them, of one width, precision and optimizer; so many `features` share each."""

    dim: int
    precision: str
    optimizer: str
    tables: int
    features: int = 1

    @property
    def vectors(self) -> int:
        """How many pooled vectors a sample has of them: one of each feature."""
        return self.tables * self.features

    @property
    def width(self) -> int:
        """Elements of a sample's pooled vectors."""
        return self.vectors * self.dim

    @property
    def row_state(self) -> int:
        """Words beside a row: the optimizer's state, and a scale if it has one."""
        return row_state(self.optimizer, self.dim) + scales(self.precision)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row as it is stored, with its optimizer state."""
        return stored_bytes(self.precision, self.dim) + FLOAT32 * row_state(self.optimizer, self.dim)


def table_spans(
    dims: Iterable[int], precisions: Iterable[str], optimizers: Iterable[str], features: Iterable[int]
) -> tuple[TableSpan, ...]:
    """Return the spans of tables with these widths, precisions, optimizers and numbers of features, one of each a table."""
    runs = groupby(zip(dims, precisions, optimizers, features, strict=True))
    return tuple(TableSpan(dim, word, rule, sum(1 for _ in run), shared) for (dim, word, rule, shared), run in runs)


@dataclass(frozen=True, slots=True)
class Shape:
    """A DLRM to train: equal shapes train the same function.

    `rows` are the rows of the full model's tables; of table t, `folded[t]` exist once rows are taken modulo them. `spans` are
    runs of tables alike, in the order of the tables.
    `bottom` runs from dense features to its output; `top` starts after the interaction and ends in 1. Dot products are made of
    vectors as wide as the bottom's output; a table of another width has a projection to it. So many neighbours of
    concatenated features as the `stride` are averaged into one. `ranks` are those of the layers of a cross network, 0 for a full
    matrix. `row_rate` is the learning rate of rows, None that of the MLPs. Widths
    are already divided by `width_divisor`, a power of two like `table_divisor`; 1 is the full model.
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
        """How many embedding tables there are."""
        return len(self.rows)

    @property
    def num_vectors(self) -> int:
        """How many pooled vectors a sample has: one of each feature."""
        return sum(span.vectors for span in self.spans)

    @property
    def folded(self) -> tuple[int, ...]:
        """Rows of each table that can exist."""
        return tuple(-(-rows // self.table_divisor) for rows in self.rows)

    @property
    def mlp_state(self) -> int:
        """Words of optimizer state beside each weight of the dense layers."""
        return mlp_state(self.dense_optimizer)

    @property
    def features_width(self) -> int:
        """Elements of a sample's features: the bottom MLP's output, then one pooled vector per table, of its own width."""
        return self.bottom[-1] + sum(span.width for span in self.spans)

    @property
    def projected(self) -> tuple[TableSpan, ...]:
        """The spans whose pooled vectors a projection brings to the width of dot products."""
        return tuple(span for span in self.spans if self.interaction == "dot" and span.dim != self.bottom[-1])

    @property
    def top_input(self) -> int:
        """Width of what the interaction hands to the top MLP."""
        if self.interaction == "dot":
            return self.bottom[-1] + pairs(self.num_vectors)
        return ceil(self.features_width / self.stride)

    def widths(self, part: Part) -> tuple[int, ...]:
        """Return the widths of one MLP, its input first."""
        return self.bottom if part == "bottom" else (self.top_input, *self.top)


class PlacedSpan(NamedTuple):
    """A span where it stands among the tables.

    span: its tables' kind; tables: their numbers
    columns: of their pooled vectors in the features; vectors: these vectors' numbers, behind the dense one
    pooling: (tables,) lookups of a sample; lookups: their sum
    """

    span: TableSpan
    tables: slice
    columns: slice
    vectors: slice
    pooling: Ints
    lookups: int


def placed(shape: Shape) -> tuple[PlacedSpan, ...]:
    """Return each span of a shape where it stands."""
    return _placed(shape.spans, shape.pooling, shape.bottom[-1])


@lru_cache(maxsize=32)
def _placed(spans: tuple[TableSpan, ...], pooling: tuple[int, ...], column: int) -> tuple[PlacedSpan, ...]:
    table, vector, places = 0, 1, list[PlacedSpan]()
    for span in spans:
        tables, columns = slice(table, table + span.tables), slice(column, column + span.width)
        vectors = slice(vector, vector + span.vectors)
        places.append(PlacedSpan(span, tables, columns, vectors, np.array(pooling[tables]), sum(pooling[tables])))
        table, column, vector = tables.stop, columns.stop, vectors.stop
    return tuple(places)


def pairs(vectors: int) -> int:
    """Return how many pairwise products the dense vector and so many pooled `vectors` have."""
    return vectors * (vectors + 1) // 2


def offsets(shape: Shape) -> Ints:
    """Return (T+1,) global numbers of each full table's first row, then the number of all rows."""
    return np.concatenate(([0], np.cumsum(shape.rows, dtype=np.int64)))


def fold(shape: Shape, ids: Ints) -> Ints:
    """Return the global rows that stand for `ids` once tables are folded; `ids` themselves when they are not."""
    if shape.table_divisor == 1:
        return ids
    starts = offsets(shape)
    table = np.searchsorted(starts, ids, side="right") - 1
    first = starts[table]
    rows: Ints = first + (ids - first) % np.array(shape.folded)[table]
    return rows


def by_span(shape: Shape, rows: Ints) -> list[Ints]:
    """Return sorted global `rows` cut into those of each span."""
    ends = [place.tables.stop for place in placed(shape)]
    return np.split(rows, np.searchsorted(rows, offsets(shape)[ends[:-1]]))


def row_nbytes(span: TableSpan) -> int:
    """Return the bytes that training a row takes here: its vector, in fp32 whatever its precision, and its state."""
    return FLOAT32 * (span.dim + span.row_state)


def mlp_size(shape: Shape, *parts: Part) -> int:
    """Return the number of weights and biases of the named MLPs, or of both."""
    return sum(n * m + n for part in parts or PARTS for m, n in pairwise(shape.widths(part)))


def cross_size(shape: Shape) -> int:
    """Return the number of weights and biases of the cross network; they lie behind those of the MLPs."""
    return cross_parameters(shape.features_width, shape.ranks)


def projection_size(shape: Shape) -> int:
    """Return the number of weights of the projections; they lie behind all other dense layers."""
    return sum(span.tables * span.dim * shape.bottom[-1] for span in shape.projected)


def dense_size(shape: Shape) -> int:
    """Return the number of weights and biases of all dense layers."""
    return mlp_size(shape) + cross_size(shape) + projection_size(shape)


def step_flop(shape: Shape, batch_size: int) -> float:
    """Return the floating-point operations of a step: forward, and twice that backward, without the embeddings."""
    weights = sum(n * m for part in PARTS for m, n in pairwise(shape.widths(part)))
    weights += sum(span.width * shape.bottom[-1] for span in shape.projected)
    products = shape.bottom[-1] * pairs(shape.num_vectors) if shape.interaction == "dot" else cross_size(shape)
    return 6.0 * batch_size * (weights + products)


def full(scenario: Scenario) -> Shape:
    """Return the shape of the model itself."""
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


def scaled(scenario: Scenario, touched: Ints) -> Shape:
    """Return what to train of `scenario`, given the sorted global rows that the run and its held-out samples touch.

    Raises CannotRun where not even the smallest twin fits the budgets.
    """
    return _folded(_narrowed(full(scenario), scenario), scenario, touched)


def scale_note(shape: Shape) -> str:
    """Return the sentence that says how the trained model differs from the timed one; '' when it does not."""
    parts = []
    if shape.width_divisor > 1:
        parts.append(f"hidden MLP widths{' and cross ranks' if any(shape.ranks) else ''} divided by {shape.width_divisor}")
    if shape.table_divisor > 1:
        parts.append(f"embedding tables folded to 1/{shape.table_divisor} of their rows")
    return f"Trained on a functional twin with {' and '.join(parts)}; timing uses the full model." if parts else ""


def _narrowed(shape: Shape, scenario: Scenario) -> Shape:
    budget, batch_size = scenario.run.step_budget_GFLOP, scenario.data.batch_size
    for narrow in _divided(shape):
        flop = step_flop(narrow, batch_size)
        if flop <= budget * 1e9:
            return narrow
    raise CannotRun(
        f"run.step_budget_GFLOP={budget:g} cannot hold a training step of {figures.figure(flop / 1e9, 'GFLOP')}, "
        f"even with hidden widths of 1; raise it to {figures.exact(_ample(flop))}, lower data.batch_size={batch_size}, "
        "or set run.training=off."
    )


def larger_budget(scenario: Scenario) -> float | None:
    """Return the step budget [GFLOP] that training needs where the scenario's holds not even the narrowest twin, else None."""
    *_, narrowest = _divided(full(scenario))
    flop = step_flop(narrowest, scenario.data.batch_size)
    return _ample(flop) if scenario.run.training and flop > scenario.run.step_budget_GFLOP * 1e9 else None


def with_larger_budget(scenario: Scenario) -> Scenario:
    """Return a scenario with the step budget that its training needs, itself where its own is enough."""
    needed = larger_budget(scenario)
    return with_values(scenario, {"run.step_budget_GFLOP": needed}) if needed else scenario


def _ample(flop: float) -> float:
    """Return whole GFLOP for a step whose hidden widths need not be 1."""
    return float(ceil(1.25 * flop / 1e9))


def _divided(shape: Shape) -> Iterator[Shape]:
    """Yield `shape` with hidden widths and ranks divided by 1, 2, 4, ... until all of them are 1."""
    hidden = (*shape.bottom[1:-1], *shape.top[:-1])
    for power in range(max((*hidden, *shape.ranks), default=1).bit_length()):
        divisor = 2**power
        narrow = [max(1, width // divisor) for width in hidden]
        cut = len(shape.bottom) - 2
        yield replace(
            shape,
            bottom=(shape.bottom[0], *narrow[:cut], shape.bottom[-1]),
            top=(*narrow[cut:], shape.top[-1]),
            ranks=tuple(rank and max(1, rank // divisor) for rank in shape.ranks),
            width_divisor=divisor,
        )


def _folded(shape: Shape, scenario: Scenario, touched: Ints) -> Shape:
    budget = scenario.run.memory_budget_GiB * GiB
    fixed = FLOAT32 * dense_size(shape) * (1 + shape.mlp_state)
    for power in range(max(shape.rows).bit_length() + 1):
        smaller = replace(shape, table_divisor=2**power)
        rows = by_span(shape, touched if power == 0 else distinct(fold(smaller, touched)))
        needed = fixed + sum(len(some) * row_nbytes(span) for some, span in zip(rows, shape.spans, strict=True))
        if needed <= budget:
            return smaller
    raise CannotRun(
        f"run.memory_budget_GiB={scenario.run.memory_budget_GiB:g} cannot hold {figures.figure(needed / GiB, 'GiB')} of weights, "
        "even with every table folded to one row; raise it, or set run.training=off."
    )


def distinct(ids: Ints) -> Ints:
    """Return the sorted distinct `ids`; several times faster than np.unique, which hashes them first."""
    rows = np.sort(ids)
    first_of_its_kind = np.append(True, rows[1:] != rows[:-1])[: rows.size]
    return np.compress(first_of_its_kind, rows)
