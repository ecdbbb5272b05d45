"""The shape of the trained model: the scenario's model, or a smaller twin.

A twin has narrower MLPs and smaller tables, so that training fits the budgets of this computer. The timing always uses the
full model; the twin is trained on the same ids, in the same order and the same batches. A twin that reads histories has fewer
samples in a batch too, and of each history the events nearest to the candidate.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from typing import Literal

import numpy as np

from ..core import figures
from ..core.arithmetic import total
from ..core.arrays import Ints
from ..core.work import SequenceShape, cross_parameters
from ..errors import CannotRun
from ..hardware.sequence_layers import sequence_parameters
from ..scenario.scenario import (
    ROW_KNOBS,
    Scenario,
    cross_ranks,
    dense_optimizer,
    is_sequential,
    per_table,
    vectors_per_table,
    with_values,
)
from ..scenario.storage import mlp_state
from ..units import FLOAT32, GiB
from ..workload.bags import length_cv
from .histories.sizes import HstuShape, sequence_products, sequence_shape
from .spans import PlacedSpan, TableSpan, place_spans, row_nbytes, table_spans

Part = Literal["bottom", "top"]
PARTS: tuple[Part, Part] = ("bottom", "top")


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a DLRM to train; models of equal shape compute the same function.

    rows: the rows of each table of the full model.
    pooling: the lookups of a sample in each table.
    spans: the spans of equal neighbouring tables, in the order of the tables.
    bottom: the widths of the bottom MLP, from the dense features to its output.
    top: the widths of the top MLP, from its first layer's output to 1.
    interaction: "dot" for products of all pairs of vectors as wide as the bottom MLP's output, "hstu" for the candidate of a
        history, else concatenation.
    dense_optimizer, learning_rate: the optimizer and the learning rate of the MLPs.
    matrix_precision: the precision of matrix products.
    stride: the number of neighbouring concatenated features that are averaged into one.
    ranks: the ranks of the cross network's layers, 0 for a full matrix; empty without a cross network.
    row_rate: the learning rate of rows; None for that of the MLPs.
    initial_accumulator: the first value of Adagrad's sums.
    width_divisor: the power of two by which hidden widths are divided, and with histories their lengths and batches; 1 for the
        full model.
    table_divisor: the power of two by which the rows of tables are divided; 1 for the full model.
    hstu: the layers that read histories; None without histories.
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
    hstu: HstuShape | None = None

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
    def sequence(self) -> SequenceShape | None:
        """The sizes of the layers that read histories; None without histories."""
        return sequence_shape(self.hstu, placed_spans(self), self.bottom[-1]) if self.hstu else None

    @property
    def top_input(self) -> int:
        """Width of the interaction's output, the input of the top MLP."""
        if self.hstu:
            return self.hstu.dim
        if self.interaction == "dot":
            return self.bottom[-1] + num_pairs(self.num_vectors)
        return ceil(self.features_width / self.stride)

    def widths(self, part: Part) -> tuple[int, ...]:
        """Return the widths of the "bottom" or "top" MLP, from its input to its output."""
        return self.bottom if part == "bottom" else (self.top_input, *self.top)


def placed_spans(shape: Shape) -> tuple[PlacedSpan, ...]:
    """Return each span of a shape with its position in the model."""
    return place_spans(shape.spans, shape.pooling, shape.bottom[-1])


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

    In the flat vector of dense layers they lie after all other layers; a model has either projections or histories.
    """
    return total(span.tables * span.dim * shape.bottom[-1] for span in shape.projected)


def dense_size(shape: Shape) -> int:
    """Return the number of weights and biases of all dense layers."""
    histories = sequence_parameters(shape.sequence) if shape.sequence else 0
    return mlp_size(shape) + cross_size(shape) + projection_size(shape) + histories


def step_flop(shape: Shape, batch_size: int) -> float:
    """Return the floating-point operations of a training step, without embeddings.

    The backward pass has twice as many as the forward pass.
    """
    weights = total(n * m for part in PARTS for m, n in pairwise(shape.widths(part)))
    weights += total(span.width * shape.bottom[-1] for span in shape.projected)
    products = shape.bottom[-1] * num_pairs(shape.num_vectors) if shape.interaction == "dot" else cross_size(shape)
    histories = sequence_products(shape.sequence) if shape.sequence else 0
    return 6.0 * batch_size * (weights + products + histories)


def full_shape(scenario: Scenario) -> Shape:
    """Return the shape of the scenario's full model."""
    model = scenario.model
    dims, precisions, optimizers = (per_table(model, name) for name in ROW_KNOBS)
    pooling, kinds = per_table(model, "pooling"), per_table(model, "feature_kind")
    lookups = tuple(length if kind == "sequence" else 0 for length, kind in zip(pooling, kinds, strict=True))
    uneven = any(cv for cv, kind in zip(length_cv(scenario), kinds, strict=True) if kind == "sequence")
    sizes = (model.hstu_layers, model.hstu_dim, model.hstu_heads, model.hstu_head_dim)
    hstu = HstuShape(lookups, *sizes, gated=3 if model.hstu_concat else 1, uneven=uneven)
    return Shape(
        rows=per_table(model, "num_embeddings"),
        pooling=pooling,
        spans=table_spans(dims, precisions, optimizers, vectors_per_table(model)),
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
        hstu=hstu if is_sequential(model) else None,
    )


def scaled_shape(scenario: Scenario, touched_rows: Ints) -> Shape:
    """Return the shape to train: the full model, or the largest twin within the budgets.

    `touched_rows` are the sorted global rows that the run and its held-out samples use.
    Raises CannotRun if even the smallest twin exceeds the budgets.
    """
    return folded_shape(narrowed_shape(scenario), scenario, touched_rows)


def scale_note(shape: Shape) -> str:
    """Return the sentence that says how the trained model differs from the timed model.

    Return '' if they are the same.
    """
    parts = []
    if shape.width_divisor > 1:
        others = " and cross ranks" if any(shape.ranks) else ", HSTU widths, histories and batches" if shape.hstu else ""
        parts.append(f"hidden MLP widths{others} divided by {shape.width_divisor}")
    if shape.hstu and shape.hstu.uneven:
        parts.append(f"histories cut to their last {figures.count(max(shape.pooling), 'lookup')}")
    if shape.table_divisor > 1:
        parts.append(f"embedding tables folded to 1/{shape.table_divisor} of their rows")
    return (
        (f"Trained on a smaller model of the same form, with {' and '.join(parts)}; the timing uses the full model.")
        if parts
        else ""
    )


def narrowed_shape(scenario: Scenario) -> Shape:
    """Return the full model, or the widest twin within the step budget.

    Its tables are not folded yet.
    Raises CannotRun if no twin is narrow enough, or for more than one position an event.
    """
    budget, batch_size, shape = scenario.run.step_budget_GFLOP, scenario.data.batch_size, full_shape(scenario)
    if shape.hstu and scenario.model.event_positions > 1:
        raise CannotRun(
            f"model.event_positions={scenario.model.event_positions} is timed, but training has one position for each event; "
            "set run.training=off, or model.event_positions=1."
        )
    for narrow_shape in _divided(shape):
        flop = step_flop(narrow_shape, trained_samples(narrow_shape, batch_size))
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
    flop = step_flop(narrowest, trained_samples(narrowest, scenario.data.batch_size))
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


def trained_samples(shape: Shape, batch_size: int) -> int:
    """Return the number of a batch's samples that are trained.

    A twin that reads histories is trained on the first part of each batch.
    """
    return -(-batch_size // shape.width_divisor) if shape.hstu else batch_size


def _divided(shape: Shape) -> Iterator[Shape]:
    """Yield `shape` with hidden widths, ranks and histories divided by 1, 2, 4, ... until all of them are 1."""
    hidden = (*shape.bottom[1:-1], *shape.top[:-1])
    histories = (shape.hstu.dim, shape.hstu.head_dim, *shape.hstu.lookups) if shape.hstu else ()
    for power in range(max((*hidden, *shape.ranks, *histories), default=1).bit_length()):
        divisor = 2**power
        narrow_widths = [max(1, width // divisor) for width in hidden]
        cut = len(shape.bottom) - 2
        yield replace(
            _with_shorter_histories(shape, divisor),
            bottom=(shape.bottom[0], *narrow_widths[:cut], shape.bottom[-1]),
            top=(*narrow_widths[cut:], shape.top[-1]),
            ranks=tuple(rank and max(1, rank // divisor) for rank in shape.ranks),
            width_divisor=divisor,
        )


def _with_shorter_histories(shape: Shape, divisor: int) -> Shape:
    """Return `shape` with HSTU widths and the lookups of histories divided, at least 1."""
    if not shape.hstu:
        return shape
    pooling = tuple(-(-lookups // divisor) or bag for lookups, bag in zip(shape.hstu.lookups, shape.pooling, strict=True))
    spans = [span for span in shape.spans for _ in range(span.tables)]
    vectors = [
        trained if lookups else span.features for span, lookups, trained in zip(spans, shape.hstu.lookups, pooling, strict=True)
    ]
    spans_of_twin = table_spans(
        (span.dim for span in spans), (span.precision for span in spans), (span.optimizer for span in spans), vectors
    )
    return replace(shape, pooling=pooling, hstu=shape.hstu.divided(divisor), spans=spans_of_twin)


def folded_shape(shape: Shape, scenario: Scenario, touched_rows: Ints) -> Shape:
    """Return `shape` with its tables folded until their `touched_rows` fit the memory budget; raises CannotRun."""
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
