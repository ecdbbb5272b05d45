"""The weights and optimizer states that training changes: embedding rows, and dense layers.

Only rows that a run uses exist. The first value of each row is a stateless hash, so no row depends on the others. Rows of equal
tables lie in one block, so no row is padded. One flat vector `mlp` holds all dense layers: the bottom MLP's layers, then the top
MLP's, then the cross network's, then the projections, then the layers that read histories. Each layer is its (out, in) weights
row by row, then its biases. So a checkpoint, a log or a copy of the dense layers is one contiguous piece of memory.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from ..core.arithmetic import total
from ..core.arrays import Ints, Places, Singles, aligned_copy, aligned_empty
from ..core.figures import count
from ..core.hashing import GOLDEN, mix
from ..core.jit import entry_kernel
from ..core.work import cross_parameters
from ..errors import CannotRun
from ..scenario.storage import ACCUMULATING_OPTIMIZERS
from .cross import CrossLayer
from .histories.dense import HistoryLayers, history_layers
from .precision import round_to_nearest
from .products import Layer
from .shape import (
    PARTS,
    Part,
    Shape,
    by_span,
    dense_size,
    distinct_ids,
    fold,
    mlp_size,
    offsets,
    projection_size,
)
from .spans import TableSpan

MIN_BUCKETS = 1024
MAX_PENDING_IDS = 1 << 22  # limit of ids that are gathered before they are merged: 32 MiB


@dataclass(frozen=True, slots=True, eq=False)
class SortedRowIndex:
    """An index that finds a row in a sorted array by buckets of ids.

    first: bucket b begins at place `first[b]` of the sorted rows.
    shift: the id of a row is in bucket `id >> shift`.
    """

    first: Places
    shift: int


def row_index(rows: Ints) -> SortedRowIndex:
    """Return the index of sorted, distinct `rows`, with about as many buckets as rows."""
    span = int(rows[-1]) + 1 if len(rows) else 1
    shift = max(0, (span // max(len(rows), MIN_BUCKETS)).bit_length())
    edges = np.arange((span >> shift) + 2, dtype=np.int64) << shift
    return SortedRowIndex(np.searchsorted(rows, edges).astype(np.uint32), shift)


@entry_kernel
def find_places(rows: Ints, bucket_starts: Places, shift: int, ids: Ints, places: Places) -> int:
    """Write into `places` the place of each id in the sorted `rows`.

    `bucket_starts` and `shift` are a SortedRowIndex of `rows`. Return -1, or the position of the first id that is not in `rows`.
    """
    last_bucket = np.uint64(bucket_starts.size - 1)
    for position in range(ids.size):
        row_id = ids[position]
        bucket = np.uint64(row_id) >> np.uint64(shift)
        if bucket >= last_bucket:
            return position
        low, high = np.uint64(bucket_starts[bucket]), np.uint64(bucket_starts[bucket + np.uint64(1)])
        while low < high:
            middle = (low + high) >> np.uint64(1)
            if rows[middle] < row_id:
                low = middle + np.uint64(1)
            else:
                high = middle
        if low >= np.uint64(rows.size) or rows[low] != row_id:
            return position
        places[position] = low
    return -1


def rows_of(lookups: Iterable[Ints]) -> Ints:
    """Return the sorted distinct ids of several arrays.

    The arrays are taken one at a time, so that not all must be in memory.
    """
    rows, pending, waiting = np.empty(0, np.int64), [], 0
    for ids in lookups:
        pending.append(distinct_ids(ids))
        waiting += len(pending[-1])
        if waiting > MAX_PENDING_IDS:
            rows, pending, waiting = distinct_ids(np.concatenate([rows, *pending])), [], 0
    return distinct_ids(np.concatenate([rows, *pending]))


MLP_STREAM = 201  # the MLPs' random stream; the workload's streams are in engine.core.hashing.Purpose


class RowBlock(NamedTuple):
    """The rows of one span of tables.

    vectors: the rows' vectors, (R, dim).
    states: the rows' optimizer states, (R, words); the last word of an int8 row is its scale.
    """

    vectors: Singles
    states: Singles


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The weights of a model: all arrays that a training step changes in place.

    The caller that makes the weights owns them.

    rows: the sorted global rows that exist, (R,).
    guide: the index of `rows`.
    blocks: the vectors and states of `rows` in the same order, one block per span of the shape.
    mlp: all dense layers, (P,).
    mlp_state: the optimizer state of `mlp`, (words * P,): the first word of all P weights, then the second word, and so on.
    seed: the seed of first values, and of the rounding of rows narrower than fp32.
    """

    rows: Ints
    guide: SortedRowIndex
    blocks: tuple[RowBlock, ...]
    mlp: Singles
    mlp_state: Singles
    seed: int = 0


class DenseLayers(NamedTuple):
    """All dense layers of a model.

    bottom, top: the layers of both MLPs.
    cross: the layers of the cross network.
    projections: for each projected span, matrices (tables, D, dim) that bring vectors of width dim to the width D.
    histories: the layers that read histories; None without histories.
    """

    bottom: tuple[Layer, ...]
    top: tuple[Layer, ...]
    cross: tuple[CrossLayer, ...]
    projections: tuple[Singles, ...]
    histories: HistoryLayers | None = None


def initial_weights(shape: Shape, touched_rows: Ints, seed: int) -> Weights:
    """Return the weights before the first batch.

    `touched_rows` are global rows in any order, perhaps with duplicates.
    """
    end = int(offsets(shape)[-1])
    if touched_rows.size and not 0 <= int(touched_rows.min()) <= int(touched_rows.max()) < end:
        reach = f"from {touched_rows.min()} to {touched_rows.max()}"
        raise CannotRun(f"The rows to train reach {reach}, but the tables hold rows 0 to {end - 1}.")
    rows = distinct_ids(fold(shape, touched_rows))
    mlp = first_mlp(shape, seed)
    mlp_state = aligned_empty(mlp.size * shape.mlp_state)
    mlp_state[:] = _first_state(shape, shape.dense_optimizer)
    return Weights(
        rows=rows,
        guide=row_index(rows),
        blocks=tuple(_first_block(shape, *part, seed) for part in zip(shape.spans, by_span(shape, rows), strict=True)),
        mlp=mlp,
        mlp_state=mlp_state,
        seed=seed,
    )


def _first_block(shape: Shape, span: TableSpan, rows: Ints, seed: int) -> RowBlock:
    values = first_values(shape, span.dim, rows, seed)
    vectors, scale = round_to_nearest(values, span.precision)
    states = aligned_empty((len(rows), span.row_state))
    states[:] = _first_state(shape, span.optimizer)
    states[:, span.row_state - scale.shape[1] :] = scale
    return RowBlock(vectors if vectors is values else aligned_copy(vectors), states)


def _first_state(shape: Shape, optimizer: str) -> float:
    return shape.initial_accumulator if optimizer in ACCUMULATING_OPTIMIZERS else 0.0


def first_mlp(shape: Shape, seed: int) -> Singles:
    """Return the initial dense layers as a flat vector, (P,).

    Weights are normal with standard deviation sqrt(2/(in+out)), biases with sqrt(1/out); biases of a cross network and of the
    layers that read histories are 0.
    Source: the reference DLRM (Naumov et al., arXiv 1906.00091, `create_mlp`, and for projections `PrEmbeddingBag`, whose
    distribution is uniform with the same standard deviation); for a cross network TorchRec.
    """
    random = np.random.default_rng([seed, MLP_STREAM])
    mlp = aligned_empty(dense_size(shape))
    dense = dense_layers(shape, mlp)
    for weight, bias in (*dense.bottom, *dense.top):
        n, m = weight.shape
        weight[:] = random.normal(0.0, np.sqrt(2.0 / (m + n)), (n, m))
        bias[:] = random.normal(0.0, np.sqrt(1.0 / n), n)
    for weight, bias, down_weight in dense.cross:
        for matrix in (weight,) if down_weight is None else (weight, down_weight):
            matrix[:] = random.normal(0.0, np.sqrt(2.0 / total(matrix.shape)), matrix.shape)
        bias[:] = 0.0
    for weight, bias in dense.histories.linear if dense.histories else ():
        weight[:] = random.normal(0.0, np.sqrt(2.0 / total(weight.shape)), weight.shape)
        bias[:] = 0.0
    for matrices in dense.projections:
        matrices[:] = random.normal(0.0, np.sqrt(2.0 / total(matrices.shape[1:])), matrices.shape)
    return mlp


def first_values(shape: Shape, dim: int, rows: Ints, seed: int) -> Singles:
    """Return the initial vectors of sorted global `rows`, (R, dim).

    Values are uniform in ±1/sqrt(n), where n is the number of rows of the row's table.
    """
    values = aligned_empty((len(rows), dim))
    bounds = (1.0 / np.sqrt(np.array(shape.folded))).astype(np.float32)
    _draw(values, rows, offsets(shape), bounds, np.uint64(seed))
    return values


@entry_kernel
def _draw(values: Singles, rows: Ints, starts: Ints, bounds: Singles, seed: np.uint64) -> None:
    """Fill each vector from 24 bits of a word mixed from seed, row and column."""
    count, dim = values.shape
    stream = mix(seed + GOLDEN)
    table = 0
    for place in range(count):
        row = rows[place]
        while row >= starts[table + 1]:
            table += 1
        word = mix(stream ^ (np.uint64(row) * GOLDEN))
        for column in range(dim):
            word += GOLDEN
            bits = np.int64(mix(word) >> np.uint64(40))
            values[place, column] = np.float32((2 * bits + 1) * 2.0**-24 - 1.0) * bounds[table]


def copy_weights(weights: Weights) -> Weights:
    """Return a copy of the weights that shares no array that a step changes."""
    blocks = tuple(RowBlock(aligned_copy(vectors), aligned_copy(states)) for vectors, states in weights.blocks)
    return replace(weights, blocks=blocks, mlp=aligned_copy(weights.mlp), mlp_state=aligned_copy(weights.mlp_state))


def trained_arrays(weights: Weights) -> list[tuple[str, Singles]]:
    """Return (name, array) for each array that a training step changes."""
    blocks = [named_array for block in weights.blocks for named_array in zip(RowBlock._fields, block, strict=True)]
    return [*blocks, ("mlp", weights.mlp), ("mlp_state", weights.mlp_state)]


def first_places(blocks: Sequence[RowBlock]) -> list[int]:
    """Return each block's first row among all rows, then the number of rows."""
    return list(accumulate((len(block.vectors) for block in blocks), initial=0))


def local_places(shape: Shape, weights: Weights, ids: Ints) -> Places:
    """Return the place of each global id in `weights.rows`.

    Raises CannotRun for a row that does not exist in `weights`.
    """
    rows = fold(shape, ids)
    places = np.empty(rows.size, np.uint32)
    missing_position = find_places(weights.rows, weights.guide.first, weights.guide.shift, rows, places)
    if missing_position >= 0:
        raise CannotRun(
            f"Row {ids[missing_position]} is not among the {count(len(weights.rows), 'row')} of these weights; "
            "make them with the rows of every batch, the held-out samples included."
        )
    return places


def dense_layers(shape: Shape, mlp: Singles) -> DenseLayers:
    """Return all dense layers as views of the flat vector `mlp`.

    `mlp` is `Weights.mlp`, or another vector with the same layout, such as a gradient.
    """
    bottom, top = (layers(shape, mlp, part) for part in PARTS)
    cross = cross_layers(shape, mlp) if shape.ranks else ()
    return DenseLayers(bottom, top, cross, _projections(shape, mlp), history_layers(shape, mlp))


def layers(shape: Shape, mlp: Singles, part: Part) -> tuple[Layer, ...]:
    """Return the layers of one MLP as views of the flat vector `mlp`.

    `part` is "bottom" or "top". `mlp` is `Weights.mlp`, or another vector with the same layout, such as a gradient.
    """
    offset = mlp_size(shape, "bottom") if part == "top" else 0
    views = []
    for m, n in pairwise(shape.widths(part)):
        views.append(Layer(mlp[offset : offset + n * m].reshape(n, m), mlp[offset + n * m : offset + n * m + n]))
        offset += n * m + n
    return tuple(views)


def cross_layers(shape: Shape, mlp: Singles) -> tuple[CrossLayer, ...]:
    """Return the cross network's layers as views of the flat vector `mlp`.

    `mlp` is `Weights.mlp`, or another vector with the same layout, such as a gradient.
    """
    offset, width, views = mlp_size(shape), shape.features_width, list[CrossLayer]()
    for rank in shape.ranks:
        inner = rank or width
        weight, bias, down_weight = np.split(
            mlp[offset : offset + cross_parameters(width, (rank,))], [width * inner, width * (inner + 1)]
        )
        views.append(CrossLayer(weight.reshape(width, inner), bias, down_weight.reshape(inner, width) if rank else None))
        offset += cross_parameters(width, (rank,))
    return tuple(views)


def _projections(shape: Shape, mlp: Singles) -> tuple[Singles, ...]:
    spans, views = shape.projected, list[Singles]()
    offset = mlp.size - projection_size(shape) if spans else 0
    for span in spans:
        stop = offset + span.tables * span.dim * shape.bottom[-1]
        views.append(mlp[offset:stop].reshape(span.tables, shape.bottom[-1], span.dim))
        offset = stop
    return tuple(views)


def rows_at(weights: Weights, places: Sequence[Places]) -> tuple[RowBlock, ...]:
    """Return copies of the rows at the given places of each block."""
    return tuple(
        RowBlock(block.vectors[block_places], block.states[block_places])
        for block, block_places in zip(weights.blocks, places, strict=True)
    )


def restore_rows(weights: Weights, places: Sequence[Places], rows: Sequence[RowBlock]) -> None:
    """Write old rows back to their places in each block, in place."""
    for block, block_places, old_rows in zip(weights.blocks, places, rows, strict=True):
        block.vectors[block_places], block.states[block_places] = old_rows


def restore_mlp(weights: Weights, mlp: Singles, state: Singles) -> None:
    """Write old dense layers (P,) and their optimizer state (words * P,) back, in place."""
    weights.mlp[:], weights.mlp_state[:] = mlp, state
