"""The learner, functional training beside the simulated machine: what it has learned, and what a crash takes back."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Bytes, Singles
from ..errors import CannotRun
from ..faults.fault import generator
from ..persistence.protocol import Position
from ..persistence.replay import BatchChange, Start
from ..scenario.storage import ELEMENT_BYTES
from ..schedule.machine import Machine
from ..training.loop import OnBatch, Trained, TrainingStopped, joined, train
from ..training.precision import packed, unpacked
from ..training.shape import Shape
from ..training.weights import Weights
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
        weights = flipped(part.weights, learner.shape.row_precision, where, flip, faults.seed) if flip else part.weights
        now = replace(now, weights=weights, batch=until, resume=None)
        parts.append(part)
    return joined(parts)


def _flipped_bit(values: Singles, bits: int, flip: Flip, seed: int) -> tuple[int, int]:
    """Return which of the table's or the MLPs' elements has a bit that flips, and the number of the bit, of so many."""
    rng = generator(seed, f"bit of {flip.at!r}")
    return int(rng.integers(values.size)), int(rng.integers(bits))


def _in_table(table: Singles, precision: str, flip: Flip, seed: int) -> Bit:
    """Return the bit of the table that flips: its row, the byte of the row as it is stored, and the bit as a number."""
    nbytes = ELEMENT_BYTES[precision]
    element, bit = _flipped_bit(table, 8 * nbytes, flip, seed)
    row, column = divmod(element, table.shape[1])
    return row, column * nbytes + bit // 8, 1 << bit % 8


def flipped(weights: Weights, precision: str, where: str, flip: Flip, seed: int) -> Weights:
    """Return a copy in which one random bit of the table's vectors or of the MLPs is the other way round."""
    if where != "table":
        mlp = weights.mlp.copy()
        word, index = _flipped_bit(mlp, 32, flip, seed)
        mlp.view(np.uint32)[word] ^= np.uint32(1 << index)
        return replace(weights, mlp=mlp)
    row, byte, bit = _in_table(weights.table, precision, flip, seed)
    table, stored = weights.table.copy(), packed(precision, weights.table[[row]], weights.row_state[[row]])
    stored[0, byte] ^= np.uint8(bit)
    table[row] = unpacked(precision, table.shape[1], stored)[0]
    return replace(weights, table=table)


def remember(learner: Learner, m: Machine, flips: tuple[Flip, ...]) -> Learner:
    """Return the learner that knows which bits of its table have flipped."""
    if m.scenario.faults.silent_corruption_where != "table":
        return learner
    table, precision = learner.weights.table, learner.shape.row_precision
    where = tuple(_in_table(table, precision, flip, m.scenario.faults.seed) for flip in flips)
    return replace(learner, flipped=(*learner.flipped, *where))


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
    before = _before(learner, done, since, segment.first + cut.since_mlp, changes)
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
    rows, precision = done.recorded[n], learner.shape.row_precision
    after = done.kept[n + 1] if n + 1 < last else done.weights
    return BatchChange(
        rows=rows.places.astype(np.int64),
        before=packed(precision, rows.vectors_before, rows.states_before),
        after=packed(precision, rows.vectors_after, rows.states_after),
        mlp_before=_mlp_bytes(done.kept[n].mlp, done.kept[n].mlp_state),
        mlp_after=_mlp_bytes(after.mlp, after.mlp_state),
    )


def _mlp_only(done: Trained, n: int, learner: Learner) -> BatchChange:
    """Return the change of an earlier batch whose MLP log is still under way; its rows are settled."""
    mlp = _mlp_bytes(done.kept[n].mlp, done.kept[n].mlp_state)
    none = packed(learner.shape.row_precision, learner.weights.table[:0], learner.weights.row_state[:0])
    return BatchChange(np.empty(0, np.int64), none, none, mlp, mlp)


def _before(learner: Learner, done: Trained, since: int, flagged: int, changes: Mapping[int, BatchChange]) -> Start:
    """Return the state at the start of batch `since`: the trained table with the recorded batches taken back."""
    table = packed(learner.shape.row_precision, done.weights.table, done.weights.row_state)
    for n in sorted((n for n in changes if n >= since), reverse=True):
        table[changes[n].rows] = changes[n].before
    kept = done.kept.get(flagged, learner.weights)
    return Start(table, _mlp_bytes(kept.mlp, kept.mlp_state), Position(since, flagged))


def _from_bytes(learner: Learner, table: Bytes, mlp: Bytes) -> Weights:
    like, flat = learner.weights, np.ascontiguousarray(mlp).view(np.float32)
    vectors, state = unpacked(learner.shape.row_precision, learner.shape.dim, table)
    size = like.mlp.size
    return replace(like, table=vectors, row_state=state.copy(), mlp=flat[:size].copy(), mlp_state=flat[size:].copy())
