"""Training along a run: the learner's state between segments, and the curve it leaves behind."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Ints, Row
from ..scenario.scenario import Scenario
from ..schedule.machine import Machine
from ..training import Evaluation, StepResult, auc, boundaries, rows_of, scale_note, scaled
from ..training.lookup import LocalBatch
from ..training.loop import Scores
from ..workload.source import Source
from .learner import Learner, advance, crash, learner, score
from .outage import Outage
from .progress import Meter
from .run import Resumption
from .segment import Segment

Prediction = tuple[float, NDArray[np.float32], NDArray[np.float32]]
MOST_PREDICTIONS = 10_000


@dataclass(frozen=True)
class Learned:
    """What a run has learned: its training curve, the final scores, and how what was trained differs from what is timed."""

    rows: tuple[Row, ...] = ()
    scores: Scores = field(default_factory=Scores)
    note: str = ""


@dataclass(frozen=True)
class Lessons:
    """A learner on its way: `rows` is the training curve, `predictions` of the last pass are by batch.

    `evaluations` are the numbers of batches after which to evaluate; the last pass starts at `last_pass`.
    """

    machine: Machine
    pupil: Learner
    meter: Meter
    evaluations: frozenset[int]
    last_pass: int
    rows: tuple[Row, ...] = ()
    predictions: dict[int, Prediction] = field(default_factory=dict)


def first_lesson(m: Machine, given: Source, batches: int, meter: Meter) -> Lessons:
    """Return a learner before its first batch, who has heard nothing yet."""
    evaluations = boundaries(batches, m.scenario.run.evaluations)
    return Lessons(m, pupil(m.scenario, given, batches, meter), meter, evaluations, last_pass(m.scenario, given, batches))


def pupil(scenario: Scenario, given: Source, batches: int, meter: Meter) -> Learner:
    """Return an untrained twin of a scenario's model that has every row that the run touches; raises CannotRun without room."""
    held_out = given.held_out()

    def ids(n: int) -> Ints:
        meter.step(f"rows of batch {n}, to be trained", counts=False)
        return given.ids(n)

    touched = rows_of(chain(map(ids, range(batches)), [held_out.ids]))
    return learner(scaled(scenario, touched), given, held_out, touched, scenario)


def last_pass(scenario: Scenario, given: Source, batches: int) -> int:
    """Return the batch with which the last pass over the data begins, whose predictions are scored."""
    one_pass = -(-given.training_samples // scenario.data.batch_size) if given.training_samples else batches
    return batches - min(one_pass, batches, MOST_PREDICTIONS)


def follow(segment: Segment, down: Outage | None, lessons: Lessons) -> tuple[Resumption, Lessons]:
    """Train what the segment had begun, and recover if a fault cut it: engine.run's Resolve."""
    listener = _Listener(lessons, segment)
    if down is None:
        pupil, _ = advance(lessons.pupil, lessons.machine, segment.last, lessons.evaluations, listener.hear, segment.flips)
        return Resumption(segment.last, segment.last), listener.after(pupil)
    pupil, found, _ = crash(lessons.pupil, lessons.machine, segment, down, lessons.evaluations, listener.hear)
    return found, listener.after(pupil)


def learned(lessons: Lessons) -> Learned:
    """Return what the model reached, on held-out samples and on the last pass of training."""
    final, note = score(lessons.pupil), scale_note(lessons.pupil.shape)
    return Learned(lessons.rows, scores(final, lessons.predictions), note)


def scores(final: Evaluation, predictions: Mapping[int, Prediction]) -> Scores:
    """Return the scores of a model as evaluated, and of the predictions of the last pass, by batch."""
    heard = [predictions[n] for n in sorted(predictions)]
    losses = [loss for loss, _, _ in heard]
    labels, logits = (np.concatenate([item[i] for item in heard]) if heard else np.zeros(0, np.float32) for i in (1, 2))
    return Scores(final.loss, final.auc, final.accuracy, float(np.mean(losses)) if losses else None, auc(labels, logits))


class _Listener:
    """Hears every batch of one segment: curve, predictions, progress."""

    def __init__(self, lessons: Lessons, segment: Segment) -> None:
        self.lessons, self.segment = lessons, segment
        self.ends = segment.timeline.batch_ends
        self.finished = segment.cut.finished if segment.cut else len(self.ends)
        self.rows: list[Row] = list(lessons.rows)
        self.predictions = dict(lessons.predictions)
        self.unfinished: list[tuple[Row, Prediction]] = []

    def hear(self, n: int, step: StepResult, batch: LocalBatch, evaluation: Evaluation | None) -> bool:
        """Note one trained batch, or put it aside if it had not ended before the cut; training's OnBatch."""
        index = n - self.segment.first
        elapsed = self.segment.begin + min(float(self.ends[index]), self.segment.length)
        row = {"Batch": n, "Elapsed [s]": elapsed, "Loss": step.loss, "AUC": evaluation.auc if evaluation else None}
        heard = row, (step.loss, batch.labels, step.logits)
        if index < self.finished:
            self._note(*heard)
        else:
            self.unfinished.append(heard)
        self.lessons.meter.rows = self.rows
        self.lessons.meter.step(f"training batch {n}")
        return False

    def _note(self, row: Row, prediction: Prediction) -> None:
        self.rows.append(row)
        if row["Batch"] >= self.lessons.last_pass:
            self.predictions[row["Batch"]] = prediction

    def after(self, pupil: Learner) -> Lessons:
        """Return the lessons with the learner and the curve as they are now.

        A batch whose flags became durable just before the power loss counts, though it had not ended.
        """
        for row, prediction in self.unfinished:
            if row["Batch"] < pupil.batch:
                self._note(row, prediction)
        return replace(self.lessons, pupil=pupil, rows=tuple(self.rows), predictions=self.predictions)
