"""The functional training of a run, with roll-back to an earlier batch after a crash.

The training runs alongside the simulated machine. In a sampled run only each N-th batch is trained, but every batch has its log.
A roll-back to batch m restores the weights after the last trained batch before m. MLPs that are g batches older than the rows are
those of batch m - g, so on average they lack g / N trained batches.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Bytes, Ints, Singles, aligned_copy
from ..errors import CannotRun
from ..faults.fault import random_generator
from ..persistence.protocol import Position
from ..persistence.replay import BatchChange, StartState
from ..scenario.storage import ELEMENT_BYTES
from ..schedule.machine import Machine
from ..training.loop import OnBatch, RowChange, TrainedStretch, TrainingStopped, join_stretches, train
from ..training.precision import pack_rows, unpack_rows
from ..training.shape import Shape
from ..training.weights import RowBlock, Weights, first_places
from ..workload.batch import Batch
from ..workload.source import Source
from .crash_recovery import Bit, events, recovered_state
from .outage import Outage
from .run import Resumption
from .segment import Flip, Segment

BatchNumbers = frozenset[int]  # of batches
NO_BATCHES: BatchNumbers = frozenset()
BLAME = " Before it, a bit had flipped that no checksum covers: see faults.silent_corruption_where."


@dataclass(frozen=True, eq=False)
class Learner:
    """The trained model at the start of a batch.

    shape: the shape of the trained model.
    source: the source of the training batches.
    held_out: the samples on which the model is evaluated.
    weights: the weights at the start of `batch`.
    initial_weights: the weights before any training.
    evaluations: the numbers of trained batches after which the model is evaluated.
    relaxed_lookup: True if rows are read before the previous trained batch's update and corrected after it.
    train_every: N if only batches 0, N, 2N and so on are trained.
    batch: the next batch to run; it is trained if N divides it.
    flipped_bits: the bits of the table that have flipped so far.
    stopped_stretch: the part of a segment that a cancelled run had trained, else None.
    """

    shape: Shape
    source: Source
    held_out: Batch
    weights: Weights
    initial_weights: Weights
    evaluations: BatchNumbers
    relaxed_lookup: bool
    train_every: int = 1
    batch: int = 0
    flipped_bits: tuple[Bit, ...] = ()
    stopped_stretch: TrainedStretch | None = None


def advance(
    learner: Learner, m: Machine, end_batch: int, on_batch: OnBatch, flips: tuple[Flip, ...]
) -> tuple[Learner, TrainedStretch]:
    """Train up to the start of `end_batch`, with bits that flip in between.

    Return (the learner at `end_batch`, the results of the trained batches).
    """
    stretch = _train(learner, m, end_batch, on_batch, flips)
    return replace(with_noted_flips(learner, m, flips), weights=stretch.weights, batch=end_batch, stopped_stretch=None), stretch


def train_without_flips(
    learner: Learner, end_batch: int, on_batch: OnBatch, keep: BatchNumbers = NO_BATCHES, record: BatchNumbers = NO_BATCHES
) -> TrainedStretch:
    """Train up to the start of `end_batch`, without bit flips; return the results.

    keep: the batches at whose start the MLPs are kept in the result.
    record: the batches whose updated rows are recorded in the result.
    """
    return train(
        learner.shape,
        learner.weights,
        learner.source.batch,
        learner.batch,
        end_batch,
        keep=keep,
        record=record,
        held_out=learner.held_out,
        evaluations=learner.evaluations,
        relaxed=learner.relaxed_lookup,
        train_every=learner.train_every,
        resume=learner.stopped_stretch,
        on_batch=on_batch,
    )


def _train(
    learner: Learner,
    m: Machine,
    end_batch: int,
    on_batch: OnBatch,
    flips: tuple[Flip, ...],
    keep: BatchNumbers = NO_BATCHES,
    record: BatchNumbers = NO_BATCHES,
) -> TrainedStretch:
    """Train up to the start of `end_batch` in stretches between flipping bits, and join the stretches."""
    faults, trained_learner, parts = m.scenario.faults, learner, list[TrainedStretch]()
    corruption_place = faults.silent_corruption_where
    flips = tuple(flip for flip in flips if flip.batch <= end_batch and corruption_place != "log")
    flips_ahead = tuple(flip for flip in flips if flip.batch >= learner.batch)  # a resumed segment has the others in its weights
    for flip in (*flips_ahead, None):
        stop_batch = max(flip.batch, trained_learner.batch) if flip else end_batch
        try:
            part = train_without_flips(trained_learner, stop_batch, on_batch, keep, record)
        except TrainingStopped as stop:
            raise TrainingStopped(str(stop), stop.batch, join_stretches([*parts, stop.trained])) from stop
        except CannotRun as error:
            blame = BLAME if parts or len(flips_ahead) < len(flips) or learner.flipped_bits else ""
            raise CannotRun(f"{error}{blame}") from error
        weights = with_flipped_bit(learner.shape, part.weights, corruption_place, flip, faults.seed) if flip else part.weights
        trained_learner = replace(trained_learner, weights=weights, batch=stop_batch, stopped_stretch=None)
        parts.append(part)
    return join_stretches(parts)


def _flipped_bit(shape: Shape, blocks: Sequence[RowBlock], flip: Flip, seed: int) -> tuple[int, Bit]:
    """Return the block and the bit that flips: the row in the block, the byte of the stored row, and the bit.

    All elements of all rows are equally likely.
    """
    rng, ends = random_generator(seed, f"bit of {flip.seconds!r}"), np.cumsum([block.vectors.size for block in blocks])
    element_index = int(rng.integers(ends[-1]))
    k = int(np.searchsorted(ends, element_index, side="right"))
    nbytes = ELEMENT_BYTES[shape.spans[k].precision]
    bit = int(rng.integers(8 * nbytes))
    row, column = divmod(element_index - int(ends[k]) + blocks[k].vectors.size, shape.spans[k].dim)
    return k, (row, column * nbytes + bit // 8, 1 << bit % 8)


def with_flipped_bit(shape: Shape, weights: Weights, corruption_place: str, flip: Flip, seed: int) -> Weights:
    """Return a copy of the weights with one random bit inverted.

    The bit is in the rows' vectors or in the MLPs, as `corruption_place` says.
    """
    if corruption_place != "table":
        mlp, rng = weights.mlp.copy(), random_generator(seed, f"bit of {flip.seconds!r}")
        word, index = int(rng.integers(mlp.size)), int(rng.integers(32))
        mlp.view(np.uint32)[word] ^= np.uint32(1 << index)
        return replace(weights, mlp=mlp)
    k, (row, byte, bit) = _flipped_bit(shape, weights.blocks, flip, seed)
    span, (vectors, states) = shape.spans[k], weights.blocks[k]
    vectors, row_bytes = vectors.copy(), pack_rows(span.precision, vectors[[row]], states[[row]])
    row_bytes[0, byte] ^= np.uint8(bit)
    vectors[row] = unpack_rows(span.precision, span.dim, row_bytes)[0]
    return replace(weights, blocks=(*weights.blocks[:k], RowBlock(vectors, states), *weights.blocks[k + 1 :]))


def with_noted_flips(learner: Learner, m: Machine, flips: tuple[Flip, ...]) -> Learner:
    """Return the learner with the table bits that `flips` invert added to `flipped_bits`."""
    if m.scenario.faults.silent_corruption_where != "table":
        return learner
    shape, blocks, first_rows = learner.shape, learner.weights.blocks, first_places(learner.weights.blocks)
    struck_bits = (_flipped_bit(shape, blocks, flip, m.scenario.faults.seed) for flip in flips)
    return replace(
        learner, flipped_bits=(*learner.flipped_bits, *((first_rows[k] + row, byte, bit) for k, (row, byte, bit) in struck_bits))
    )


def row_spans(shape: Shape, blocks: Sequence[RowBlock]) -> tuple[tuple[int, int], ...]:
    """Return (number of rows, stored bytes of a row) for each block."""
    return tuple((len(block.vectors), span.row_bytes) for span, block in zip(shape.spans, blocks, strict=True))


def stored_rows(shape: Shape, blocks: Sequence[RowBlock]) -> Bytes:
    """Return rows as they are stored, (R, row bytes).

    The bytes are flat, row after row, if the rows of the tables differ in size.
    """
    parts = [pack_rows(span.precision, *block) for span, block in zip(shape.spans, blocks, strict=True)]
    return parts[0] if len(parts) == 1 else np.concatenate([part.reshape(-1) for part in parts])


def rows_from(shape: Shape, template: Sequence[RowBlock], table_bytes: Bytes) -> tuple[RowBlock, ...]:
    """Return row blocks from stored bytes, the inverse of `stored_rows`.

    The blocks of `template` have as many rows as the returned blocks.
    """
    parts = zip(shape.spans, _by_block(shape, template, table_bytes), strict=True)
    rows = (unpack_rows(span.precision, span.dim, part) for span, part in parts)
    return tuple(RowBlock(aligned_copy(vectors), aligned_copy(states)) for vectors, states in rows)


def _by_block(shape: Shape, template: Sequence[RowBlock], table_bytes: Bytes) -> list[Bytes]:
    """Return the stored rows of each block, (R, row bytes), as views if the bytes are contiguous."""
    sizes, flat = row_spans(shape, template), np.ascontiguousarray(table_bytes).reshape(-1)
    parts = np.split(flat, np.cumsum([rows * nbytes for rows, nbytes in sizes])[:-1])
    return [part.reshape(size) for part, size in zip(parts, sizes, strict=True)]


def crash_and_recover(
    learner: Learner, m: Machine, segment: Segment, outage: Outage, on_batch: OnBatch
) -> tuple[Learner, Resumption, TrainedStretch]:
    """Train the batches of a segment that had begun, then apply the fault and recover.

    Return (the learner that resumes, the resumption, the results of the trained batches).
    """
    cut = segment.cut
    if cut is None or m.log_policy.log == "":
        end_batch = segment.first_batch + (cut.batches_begun if cut else 0)
        _, stretch = advance(learner, m, end_batch, on_batch, segment.flips)
        return (
            replace(learner, weights=learner.initial_weights, batch=0, flipped_bits=(), stopped_stretch=None),
            Resumption(0, 0),
            stretch,
        )
    checkpoint_batch = segment.first_batch + cut.checkpoint_batch
    cut_events = events(segment)
    end_batch = max([segment.first_batch + cut.batches_begun, checkpoint_batch, *(event.batch + 1 for event in cut_events)])
    mlps = frozenset({segment.first_batch + cut.checkpoint_mlp_batch, *(event.batch for event in cut_events)})
    recorded = frozenset(range(checkpoint_batch, end_batch))
    stretch = _train(learner, m, end_batch, on_batch, segment.flips, recorded | mlps, recorded)
    changes = {n: _change(learner, stretch, n, end_batch) for n in range(checkpoint_batch, end_batch)}
    changes |= {n: _mlp_only(stretch, n, learner) for n in mlps if n < checkpoint_batch}
    learner = with_noted_flips(learner, m, segment.flips)
    start = _start_state(learner, stretch, checkpoint_batch, segment.first_batch + cut.checkpoint_mlp_batch)
    try:
        restored_state = recovered_state(m, segment, outage, start, changes, learner.flipped_bits)
    except CannotRun as error:
        return replace(learner, weights=stretch.weights, stopped_stretch=None), Resumption(0, 0, str(error)), stretch
    weights = _from_bytes(learner, restored_state.table, restored_state.mlp)
    batch = restored_state.embedding_batch
    return (
        replace(learner, weights=weights, batch=batch, stopped_stretch=None),
        Resumption(batch, restored_state.mlp_batch),
        stretch,
    )


def _mlp_bytes(mlp: Singles, state: Singles) -> Bytes:
    return np.concatenate([mlp, state]).view(np.uint8)


def _change(learner: Learner, stretch: TrainedStretch, n: int, end_batch: int) -> BatchChange:
    rows, shape = stretch.recorded[n], learner.shape
    weights_after = stretch.kept[n + 1] if n + 1 < end_batch else stretch.weights
    return BatchChange(
        rows=_row_numbers(learner, rows),
        values_before=stored_rows(shape, rows.before),
        values_after=stored_rows(shape, rows.after),
        mlp_before=_mlp_bytes(stretch.kept[n].mlp, stretch.kept[n].mlp_state),
        mlp_after=_mlp_bytes(weights_after.mlp, weights_after.mlp_state),
    )


def _row_numbers(learner: Learner, recorded: RowChange) -> Ints:
    """Return the numbers of recorded rows among all rows of the run, rising."""
    first_rows = first_places(learner.weights.blocks)
    return np.concatenate([start + places.astype(np.int64) for start, places in zip(first_rows, recorded.places, strict=False)])


def _mlp_only(stretch: TrainedStretch, n: int, learner: Learner) -> BatchChange:
    """Return the change of an earlier batch whose MLP log is still under way.

    Its rows are already durable.
    """
    mlp = _mlp_bytes(stretch.kept[n].mlp, stretch.kept[n].mlp_state)
    no_rows = stored_rows(learner.shape, [RowBlock(*(part[:0] for part in block)) for block in learner.weights.blocks])
    return BatchChange(np.empty(0, np.int64), no_rows, no_rows, mlp, mlp)


def _start_state(learner: Learner, stretch: TrainedStretch, checkpoint_batch: int, mlp_batch: int) -> StartState:
    """Return the state at the start of `checkpoint_batch`: the trained rows with the recorded batches undone."""
    shape, blocks, mlp_weights = learner.shape, stretch.weights.blocks, stretch.kept.get(mlp_batch, learner.weights)
    table, mlp = stored_rows(shape, blocks), _mlp_bytes(mlp_weights.mlp, mlp_weights.mlp_state)
    homes = _by_block(shape, blocks, table)
    for n in sorted(stretch.recorded, reverse=True):
        rows = stretch.recorded[n]
        for home, places, span, block_before in zip(homes, rows.places, shape.spans, rows.before, strict=True):
            home[places] = pack_rows(span.precision, *block_before)
    if len(blocks) == 1:
        return StartState(table, mlp, Position(checkpoint_batch, mlp_batch))
    spans = tuple(span for span in row_spans(shape, blocks) if span[0])
    return StartState(table, mlp, Position(checkpoint_batch, mlp_batch), row_bytes=spans)


def _from_bytes(learner: Learner, table: Bytes, mlp: Bytes) -> Weights:
    template, flat = learner.weights, np.ascontiguousarray(mlp).view(np.float32)
    blocks, size = rows_from(learner.shape, template.blocks, table), template.mlp.size
    return replace(template, blocks=blocks, mlp=aligned_copy(flat[:size]), mlp_state=aligned_copy(flat[size:]))
