"""The learner, functional training beside the simulated machine: what it has learned, and what a crash takes back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Bytes, Ints, Singles
from ..errors import CannotRun
from ..faults.fault import generator
from ..persistence.protocol import Position
from ..persistence.replay import BatchChange, Start
from ..scenario.storage import ELEMENT_BYTES
from ..schedule.machine import Machine
from ..training.loop import OnBatch, Recorded, Trained, TrainingStopped, joined, train
from ..training.precision import packed, unpacked
from ..training.shape import Shape
from ..training.weights import RowBlock, Weights, first_places
from ..workload.batch import Batch
from ..workload.source import Source
from .corruption import Bit
from .crash_recovery import events, recovered_state
from .outage import Outage
from .run import Resumption
from .segment import Flip, Segment

Numbers = frozenset[int]  # of batches
NONE: Numbers = frozenset()
BLAME = " Before it, a bit had flipped that no checksum covers: see faults.silent_corruption_where."


@dataclass(frozen=True, eq=False)
class Learner:
    """The trained model at the start of batch `batch`; `first` are the weights before any training.

    It is evaluated after these numbers of batches, on `held_out`; `flipped` are the bits of the table that have flipped so far.
    `resume` is the part of a segment that a cancelled run had trained.
    """

    shape: Shape
    source: Source
    held_out: Batch
    weights: Weights
    first: Weights
    evaluations: Numbers
    relaxed: bool
    batch: int = 0
    flipped: tuple[Bit, ...] = ()
    resume: Trained | None = None


def advance(learner: Learner, m: Machine, last: int, on_batch: OnBatch, flips: tuple[Flip, ...]) -> tuple[Learner, Trained]:
    """Train up to the start of batch `last`; bits flip on the way."""
    done = _train(learner, m, last, on_batch, flips)
    return replace(remember(learner, m, flips), weights=done.weights, batch=last, resume=None), done


def straight(learner: Learner, last: int, on_batch: OnBatch, keep: Numbers = NONE, record: Numbers = NONE) -> Trained:
    """Train up to the start of batch `last` without a flip; what is kept and recorded of which batches, `train` says."""
    return train(
        learner.shape,
        learner.weights,
        learner.source.batch,
        learner.batch,
        last,
        keep=keep,
        record=record,
        held_out=learner.held_out,
        evaluations=learner.evaluations,
        relaxed=learner.relaxed,
        resume=learner.resume,
        on_batch=on_batch,
    )


def _train(
    learner: Learner,
    m: Machine,
    last: int,
    on_batch: OnBatch,
    flips: tuple[Flip, ...],
    keep: Numbers = NONE,
    record: Numbers = NONE,
) -> Trained:
    """Train up to the start of batch `last` in stretches between flipping bits, and put the stretches together."""
    faults, now, parts = m.scenario.faults, learner, list[Trained]()
    where = faults.silent_corruption_where
    flips = tuple(flip for flip in flips if flip.batch <= last and where != "log")
    ahead = tuple(flip for flip in flips if flip.batch >= learner.batch)  # a resumed segment has the others in its weights
    for flip in (*ahead, None):
        until = max(flip.batch, now.batch) if flip else last
        try:
            part = straight(now, until, on_batch, keep, record)
        except TrainingStopped as stop:
            raise TrainingStopped(str(stop), stop.batch, joined([*parts, stop.trained])) from stop
        except CannotRun as error:
            blame = BLAME if parts or len(ahead) < len(flips) or learner.flipped else ""
            raise CannotRun(f"{error}{blame}") from error
        weights = flipped(learner.shape, part.weights, where, flip, faults.seed) if flip else part.weights
        now = replace(now, weights=weights, batch=until, resume=None)
        parts.append(part)
    return joined(parts)


def _struck(shape: Shape, blocks: Sequence[RowBlock], flip: Flip, seed: int) -> tuple[int, Bit]:
    """Return the block and the bit of it that flips: a row of the block, the byte of the row as it is stored, and the bit.

    Each element of each row is as likely.
    """
    rng, ends = generator(seed, f"bit of {flip.at!r}"), np.cumsum([block.vectors.size for block in blocks])
    element = int(rng.integers(ends[-1]))
    k = int(np.searchsorted(ends, element, side="right"))
    nbytes = ELEMENT_BYTES[shape.spans[k].precision]
    bit = int(rng.integers(8 * nbytes))
    row, column = divmod(element - int(ends[k]) + blocks[k].vectors.size, shape.spans[k].dim)
    return k, (row, column * nbytes + bit // 8, 1 << bit % 8)


def flipped(shape: Shape, weights: Weights, where: str, flip: Flip, seed: int) -> Weights:
    """Return a copy in which one random bit of the rows' vectors or of the MLPs is the other way round."""
    if where != "table":
        mlp, rng = weights.mlp.copy(), generator(seed, f"bit of {flip.at!r}")
        word, index = int(rng.integers(mlp.size)), int(rng.integers(32))
        mlp.view(np.uint32)[word] ^= np.uint32(1 << index)
        return replace(weights, mlp=mlp)
    k, (row, byte, bit) = _struck(shape, weights.blocks, flip, seed)
    span, (vectors, states) = shape.spans[k], weights.blocks[k]
    vectors, stored = vectors.copy(), packed(span.precision, vectors[[row]], states[[row]])
    stored[0, byte] ^= np.uint8(bit)
    vectors[row] = unpacked(span.precision, span.dim, stored)[0]
    return replace(weights, blocks=(*weights.blocks[:k], RowBlock(vectors, states), *weights.blocks[k + 1 :]))


def remember(learner: Learner, m: Machine, flips: tuple[Flip, ...]) -> Learner:
    """Return the learner that knows which bits of its rows have flipped."""
    if m.scenario.faults.silent_corruption_where != "table":
        return learner
    shape, blocks, first = learner.shape, learner.weights.blocks, first_places(learner.weights.blocks)
    struck = (_struck(shape, blocks, flip, m.scenario.faults.seed) for flip in flips)
    return replace(learner, flipped=(*learner.flipped, *((first[k] + row, byte, bit) for k, (row, byte, bit) in struck)))


def row_spans(shape: Shape, blocks: Sequence[RowBlock]) -> tuple[tuple[int, int], ...]:
    """Return how many neighbouring rows take how many bytes each as they are stored, for each block."""
    return tuple((len(block.vectors), span.row_bytes) for span, block in zip(shape.spans, blocks, strict=True))


def stored_rows(shape: Shape, blocks: Sequence[RowBlock]) -> Bytes:
    """Return rows as they are stored, (R, row bytes); flat, one row after the other, where tables are not all alike."""
    parts = [packed(span.precision, *block) for span, block in zip(shape.spans, blocks, strict=True)]
    return parts[0] if len(parts) == 1 else np.concatenate([part.reshape(-1) for part in parts])


def rows_from(shape: Shape, like: Sequence[RowBlock], stored: Bytes) -> tuple[RowBlock, ...]:
    """Return the rows that `stored_rows` was given, as many in each block as in blocks `like` them."""
    parts = zip(shape.spans, _by_block(shape, like, stored), strict=True)
    rows = (unpacked(span.precision, span.dim, part) for span, part in parts)
    return tuple(RowBlock(vectors, states.copy()) for vectors, states in rows)


def _by_block(shape: Shape, like: Sequence[RowBlock], stored: Bytes) -> list[Bytes]:
    """Return the stored rows of each block, (R, row bytes), as views if these are in one piece."""
    sizes, flat = row_spans(shape, like), np.ascontiguousarray(stored).reshape(-1)
    parts = np.split(flat, np.cumsum([rows * nbytes for rows, nbytes in sizes])[:-1])
    return [part.reshape(size) for part, size in zip(parts, sizes, strict=True)]


def crash(learner: Learner, m: Machine, segment: Segment, down: Outage, on_batch: OnBatch) -> tuple[Learner, Resumption, Trained]:
    """Train what the segment had begun, let the fault strike at its cut, recover.

    Returns the model to resume with, what was found, and what was trained.
    """
    cut = segment.cut
    if cut is None or m.log_policy.log == "":
        last = segment.first + (cut.started if cut else 0)
        _, done = advance(learner, m, last, on_batch, segment.flips)
        return replace(learner, weights=learner.first, batch=0, flipped=(), resume=None), Resumption(0, 0), done
    since = segment.first + cut.since
    played = events(segment)
    last = max([segment.first + cut.started, since, *(event.batch + 1 for event in played)])
    mlps = frozenset({segment.first + cut.since_mlp, *(event.batch for event in played)})
    recorded = frozenset(range(since, last))
    done = _train(learner, m, last, on_batch, segment.flips, recorded | mlps, recorded)
    changes = {n: _change(learner, done, n, last) for n in range(since, last)}
    changes |= {n: _mlp_only(done, n, learner) for n in mlps if n < since}
    learner = remember(learner, m, segment.flips)
    before = _before(learner, done, since, segment.first + cut.since_mlp)
    try:
        found = recovered_state(m, segment, down, before, changes, learner.flipped)
    except CannotRun as error:
        return replace(learner, weights=done.weights, resume=None), Resumption(0, 0, str(error)), done
    weights = _from_bytes(learner, found.table, found.mlp)
    batch = found.embedding_batch
    return replace(learner, weights=weights, batch=batch, resume=None), Resumption(batch, found.mlp_batch), done


def _mlp_bytes(mlp: Singles, state: Singles) -> Bytes:
    return np.concatenate([mlp, state]).view(np.uint8)


def _change(learner: Learner, done: Trained, n: int, last: int) -> BatchChange:
    rows, shape = done.recorded[n], learner.shape
    after = done.kept[n + 1] if n + 1 < last else done.weights
    return BatchChange(
        rows=_row_numbers(learner, rows),
        before=stored_rows(shape, rows.before),
        after=stored_rows(shape, rows.after),
        mlp_before=_mlp_bytes(done.kept[n].mlp, done.kept[n].mlp_state),
        mlp_after=_mlp_bytes(after.mlp, after.mlp_state),
    )


def _row_numbers(learner: Learner, recorded: Recorded) -> Ints:
    """Return the numbers of recorded rows among all rows of the run, rising."""
    first = first_places(learner.weights.blocks)
    return np.concatenate([start + places.astype(np.int64) for start, places in zip(first, recorded.places, strict=False)])


def _mlp_only(done: Trained, n: int, learner: Learner) -> BatchChange:
    """Return the change of an earlier batch whose MLP log is still under way; its rows are settled."""
    mlp = _mlp_bytes(done.kept[n].mlp, done.kept[n].mlp_state)
    none = stored_rows(learner.shape, [RowBlock(*(part[:0] for part in block)) for block in learner.weights.blocks])
    return BatchChange(np.empty(0, np.int64), none, none, mlp, mlp)


def _before(learner: Learner, done: Trained, since: int, flagged: int) -> Start:
    """Return the state at the start of batch `since`: the trained rows with the recorded batches taken back."""
    shape, blocks, kept = learner.shape, done.weights.blocks, done.kept.get(flagged, learner.weights)
    table, mlp = stored_rows(shape, blocks), _mlp_bytes(kept.mlp, kept.mlp_state)
    homes = _by_block(shape, blocks, table)
    for n in sorted(done.recorded, reverse=True):
        rows = done.recorded[n]
        for home, places, span, before in zip(homes, rows.places, shape.spans, rows.before, strict=True):
            home[places] = packed(span.precision, *before)
    if len(blocks) == 1:
        return Start(table, mlp, Position(since, flagged))
    spans = tuple(span for span in row_spans(shape, blocks) if span[0])
    return Start(table, mlp, Position(since, flagged), row_bytes=spans)


def _from_bytes(learner: Learner, table: Bytes, mlp: Bytes) -> Weights:
    like, flat = learner.weights, np.ascontiguousarray(mlp).view(np.float32)
    blocks, size = rows_from(learner.shape, like.blocks, table), like.mlp.size
    return replace(like, blocks=blocks, mlp=flat[:size].copy(), mlp_state=flat[size:].copy())
