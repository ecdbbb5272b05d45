"""A run's training curve, and the state that each segment passes to the next."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from ..core.arithmetic import arithmetic
from ..core.arrays import Ints, Singles
from ..errors import Cancelled
from ..scenario.scenario import Scenario
from ..schedule.machine import Machine
from ..training.histories.cut import cut_ids
from ..training.lookup import LocalBatch, localise
from ..training.loop import Evaluation, Scores, TrainedStretch, TrainingStopped, auc, auc_error, evaluate
from ..training.shape import folded_shape, narrowed_shape, scale_note, trained_samples
from ..training.step import StepResult
from ..training.trained_batches import evaluation_batches
from ..training.weights import Weights, initial_weights, rows_of, trained_arrays
from ..workload.source import Source
from .crash_recovery import Bit
from .curve import AucWithError, Curve
from .learner import Learner, advance, crash_and_recover
from .outage import Outage
from .progress import Meter
from .run import Resumption
from .segment import Segment

Prediction = tuple[float, Singles, Singles]
CurvePoint = tuple[int, float, float, AucWithError | None]  # the arguments of `Curve.append`
MAX_PREDICTIONS = 10_000


@dataclass(frozen=True)
class TrainingOutcome:
    """The results of training in a run.

    curve: the training curve.
    scores: the final scores.
    note: a sentence on the difference between the trained model and the timed model, or "".
    arithmetic: the names of the BLAS kernels, NumPy and Python that trained the model.
    """

    curve: Curve = field(default_factory=Curve)
    scores: Scores = field(default_factory=Scores)
    note: str = ""
    arithmetic: str = field(default_factory=arithmetic)


@dataclass(frozen=True, eq=False)
class StoppedRun:
    """A run that was cancelled during training, with all state to resume it.

    A resumed run ends with the same bytes as an uninterrupted run.

    batch: the next batch to run.
    batches_done: the number of batches done; batches that were run again count again.
    stretch: the results in the segment that was cancelled, with the weights at the start of `batch`.
    curve: the training curve.
    predictions: the predictions in the last pass over the data, by batch.
    unfinished: the arguments of `Curve.append` and the prediction of each trained batch that had not ended when a fault cut the
        segment.
    resumptions: for each earlier segment, the batches at which the run resumed.
    flipped_bits: the bits of the table that flipped in earlier segments.
    is_shared: True for the training of a functional class, which has no faults.
    """

    batch: int
    batches_done: int
    stretch: TrainedStretch
    curve: Curve
    predictions: dict[int, Prediction]
    unfinished: tuple[tuple[CurvePoint, Prediction], ...] = ()
    resumptions: tuple[Resumption, ...] = ()
    flipped_bits: tuple[Bit, ...] = ()
    is_shared: bool = False


class RunStopped(Cancelled):
    """Raised when a run is cancelled during training; its `run` can be resumed."""

    def __init__(self, sentence: str, run: StoppedRun) -> None:
        super().__init__(sentence)
        self.run = run


@dataclass(frozen=True)
class TrainingState:
    """The state of training between two segments.

    machine: the machine.
    learner: the trained model.
    meter: the meter of progress.
    last_pass: the first batch of the last pass over the data.
    curve: the training curve, to which the next segment adds.
    predictions: the predictions in the last pass, by batch.
    resumptions: for each ended segment, the batches at which the run resumed.
    resume: a cancelled run to resume, until its cancelled segment is reached; then None.
    """

    machine: Machine
    learner: Learner
    meter: Meter
    last_pass: int
    curve: Curve = field(default_factory=Curve)
    predictions: dict[int, Prediction] = field(default_factory=dict)
    resumptions: tuple[Resumption, ...] = ()
    resume: StoppedRun | None = None


def initial_state(
    m: Machine, batch_source: Source, batches: int, meter: Meter, resume: StoppedRun | None = None
) -> TrainingState:
    """Return the state of training before the first batch, or that of a cancelled run.

    A cancelled run `resume` is used only if its weights have the same sizes.
    """
    learner = scaled_learner(m.scenario, batch_source, batches, meter, m.log_policy.relaxed_lookup)
    state = TrainingState(m, learner, meter, last_pass_batch(m.scenario, batch_source, batches))
    learner = resumed_learner(learner, resume, meter, is_shared=False)
    if resume is None or learner.stopped_stretch is None:
        return state
    return replace(state, learner=learner, curve=resume.curve.copy(), predictions=resume.predictions, resume=resume)


def resumed_learner(learner: Learner, run: StoppedRun | None, meter: Meter, is_shared: bool) -> Learner:
    """Return the learner with the weights of a cancelled run.

    Return `learner` unchanged if there is no such run, or if its weights do not fit.
    """
    if run is None or run.is_shared != is_shared or _sizes(run.stretch.weights) != _sizes(learner.weights):
        meter.resume(Curve(), 0)
        return learner
    meter.resume(run.curve, run.batches_done)
    stopped_weights = run.stretch.weights
    weights = replace(
        learner.weights, blocks=stopped_weights.blocks, mlp=stopped_weights.mlp, mlp_state=stopped_weights.mlp_state
    )
    return replace(learner, weights=weights, batch=run.batch, flipped_bits=run.flipped_bits, stopped_stretch=run.stretch)


def _sizes(weights: Weights) -> list[tuple[int, ...]]:
    return [array.shape for _, array in trained_arrays(weights)]


def scaled_learner(scenario: Scenario, batch_source: Source, batches: int, meter: Meter, relaxed: bool) -> Learner:
    """Return an untrained learner with each row that the run uses.

    In a sampled run, batches that are not trained use rows too, as their logs have them.

    Raises CannotRun if the weights do not fit the memory budget.
    """
    held_out, shape, batch_size = batch_source.held_out(), narrowed_shape(scenario), scenario.data.batch_size
    samples = trained_samples(shape, batch_size)

    def ids(n: int) -> Ints:
        meter.step(f"rows of batch {n}, to be trained", counts=False)
        return cut_ids(shape, batch_source.ids(n), batch_source.starts(n) if shape.hstu else None, batch_size, samples)[0]

    held_out_size = len(held_out.labels)
    held_out_ids, _ = cut_ids(shape, held_out.ids, held_out.starts, held_out_size, held_out_size)
    shape = folded_shape(shape, scenario, touched_rows := rows_of(chain(map(ids, range(batches)), [held_out_ids])))
    weights = initial_weights(shape, touched_rows, scenario.data.seed)
    every = scenario.run.train_every
    evaluations = evaluation_batches(batches, scenario.run.evaluations, every)
    return Learner(shape, batch_source, held_out, weights, weights, evaluations, relaxed, every)


def last_pass_batch(scenario: Scenario, batch_source: Source, batches: int) -> int:
    """Return the first batch of the last pass over the data.

    The predictions from this batch on are scored.
    """
    one_pass = -(-batch_source.training_samples // scenario.data.batch_size) if batch_source.training_samples else batches
    return batches - min(one_pass, batches, MAX_PREDICTIONS)


def train_segment(segment: Segment, outage: Outage | None, state: TrainingState) -> tuple[Resumption, TrainingState]:
    """Train the begun batches of a segment, and recover if a fault cut the segment.

    Return (the batches at which the run resumes, the next training state). The function is a `resolve` for `follow_run`.
    In a resumed run, segments before the cancelled segment are not trained again.
    """
    number = len(state.resumptions)
    if state.resume and number < len(state.resume.resumptions):
        resumption = state.resume.resumptions[number]
        return resumption, replace(state, resumptions=(*state.resumptions, resumption))
    record = _SegmentRecord(state, segment)
    try:
        if outage is None:
            learner, _ = advance(state.learner, state.machine, segment.end_batch, record.on_batch, segment.flips)
            resumption = Resumption(segment.end_batch, segment.end_batch)
        else:
            learner, resumption, _ = crash_and_recover(state.learner, state.machine, segment, outage, record.on_batch)
    except TrainingStopped as stop:
        raise RunStopped(str(stop), record.stopped(stop)) from stop
    return resumption, record.state_after(learner, resumption)


def training_outcome(state: TrainingState) -> TrainingOutcome:
    """Return the training's curve, with scores on held-out samples and on the last pass."""
    shape, weights = state.learner.shape, state.learner.weights
    final = evaluate(shape, weights, localise(shape, weights, state.learner.held_out))
    return TrainingOutcome(state.curve, scores(final, state.predictions), scale_note(shape))


def scores(final: Evaluation, predictions: Mapping[int, Prediction]) -> Scores:
    """Return the scores of a training, from its final evaluation and its predictions.

    `predictions` are those of the last pass over the data, by batch.
    """
    last_predictions = [predictions[n] for n in sorted(predictions)]
    losses = [loss for loss, _, _ in last_predictions]
    labels, logits = (
        np.concatenate([prediction[i] for prediction in last_predictions]) if last_predictions else np.zeros(0, np.float32)
        for i in (1, 2)
    )
    area, mean = auc(labels, logits), float(np.mean(losses)) if losses else None
    return Scores(final.loss, final.auc, final.accuracy, mean, area, final.auc_error, auc_error(area, labels))


class _SegmentRecord:
    """The record of one segment's batches: curve, predictions, progress."""

    def __init__(self, state: TrainingState, segment: Segment) -> None:
        self.state, self.segment = state, segment
        self.ends = segment.timeline.batch_ends
        self.batches_ended = segment.cut.batches_ended if segment.cut else len(self.ends)
        self.curve = state.curve
        self.predictions = dict(state.predictions)
        self.unfinished: list[tuple[CurvePoint, Prediction]] = list(state.resume.unfinished) if state.resume else []

    def on_batch(self, n: int, step: StepResult, batch: LocalBatch, evaluation: Evaluation | None) -> None:
        """Note one trained batch, or keep it apart if it had not ended before the cut; an OnBatch of training."""
        index = n - self.segment.first_batch
        elapsed = self.segment.begin_seconds + min(float(self.ends[index]), self.segment.length_seconds)
        point = n, elapsed, step.loss, evaluation.auc_with_error if evaluation else None
        prediction = step.loss, batch.labels, step.logits
        if index < self.batches_ended:
            self._note(point, prediction)
        else:
            self.unfinished.append((point, prediction))
        self.state.meter.curve = self.curve
        self.state.meter.trained_step(n, self.state.learner.train_every)

    def _note(self, point: CurvePoint, prediction: Prediction) -> None:
        self.curve.append(*point)
        if point[0] >= self.state.last_pass:
            self.predictions[point[0]] = prediction

    def stopped(self, stop: TrainingStopped) -> StoppedRun:
        """Return the cancelled run, with the part of this segment that was trained."""
        return StoppedRun(
            stop.batch,
            self.state.meter.batches_done,
            stop.trained,
            self.curve,
            self.predictions,
            tuple(self.unfinished),
            self.state.resumptions,
            self.state.learner.flipped_bits,
        )

    def state_after(self, learner: Learner, resumption: Resumption) -> TrainingState:
        """Return the state after the segment, with its learner.

        A batch whose flags became durable just before the power loss counts, although the batch had not ended.
        """
        for point, prediction in self.unfinished:
            if point[0] < learner.batch:
                self._note(point, prediction)
        return replace(
            self.state,
            learner=learner,
            predictions=self.predictions,
            resumptions=(*self.state.resumptions, resumption),
            resume=None,
        )
