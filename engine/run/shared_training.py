"""A run and what is learned in it: trained along, or one training shared by all points of a functional class.

A shared training is found on a shelf or made there, and laid over each point's own times.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ..core.arrays import Row
from ..errors import CannotRun
from ..scenario.scenario import Scenario
from ..systems.traffic import Traffic
from ..training import Evaluation, StepResult, boundaries, scale_note, train
from ..training.evaluate import Scores
from ..training.lookup import LocalBatch
from ..workload.readers.criteo import CriteoFile
from ..workload.source import Source, num_batches, source
from .crash_recovery import in_miniature
from .functional_class import FunctionalClass, functional_class, strikes_matter
from .outage import Outage
from .progress import Meter
from .run import Machine, Resolve, Resumption, Run, run
from .segment import Segment
from .training_curve import Learned, Prediction, first_lesson, follow, last_pass, learned, pupil, scores


@dataclass(frozen=True)
class Training:
    """A training without a fault: `losses` by batch, held-out `aucs` by number of batches trained, and final scores.

    `note` says how what was trained differs from the model that is timed. Where it could not be trained `refusal` says
    why, and nothing else is known.
    """

    losses: tuple[float, ...] = ()
    aucs: Mapping[int, float | None] = field(default_factory=dict)
    scores: Scores = field(default_factory=Scores)
    note: str = ""
    refusal: str = ""


class TrainingShelf(Protocol):
    """Where trainings are found under the names of their classes; a dict is one."""

    def get(self, name: str, /) -> Training | None:
        """Return the training of a class, or None."""

    def __setitem__(self, name: str, training: Training, /) -> None:
        """Keep the training of a class."""


def trains(scenario: Scenario, shelf: TrainingShelf | None) -> bool:
    """Return whether a run trains by itself: training is on, and no shelf has it."""
    one = functional_class(scenario) if shelf is not None else None
    return scenario.run.training and not (shelf is not None and one and shelf.get(one.name))


def run_and_learn(
    m: Machine, traffic: Traffic, given: Source, file: CriteoFile | None, meter: Meter, shelf: TrainingShelf | None
) -> tuple[Run, Learned]:
    """Run all batches through their faults and train along, unless training is off; a `shelf` may have the training."""
    one = functional_class(m.scenario) if shelf is not None else None
    done = _untrained_to_its_end(m, traffic) if one else None
    if shelf is not None and one and done:
        return done, shared(one, done, file, meter, shelf)
    if not m.scenario.run.training:
        done, _ = run(m, traffic, None, untrained(m))
        return done, Learned()
    done, lessons = run(m, traffic, first_lesson(m, given, traffic.batches, meter), follow)
    return done, learned(lessons)


def _untrained_to_its_end(m: Machine, traffic: Traffic) -> Run | None:
    """Return the run without training; None where it comes to no end, or what struck it may change what is trained."""
    try:
        done, _ = run(m, traffic, None, untrained(m))
    except CannotRun:
        return None  # training may fail before
    other = (done.crashes or done.strikes) and strikes_matter(m.scenario, m.log_policy)
    return done if done.completed and not other else None


def untrained(m: Machine) -> Resolve[None]:
    """Return what follows and recovers segments without training; a system without a log starts again at batch 0."""

    def resolve(segment: Segment, down: Outage | None, state: None) -> tuple[Resumption, None]:
        if down is None:
            return Resumption(segment.last, segment.last), None
        try:
            return Resumption(*in_miniature(m, segment, down)) if m.log_policy.log else Resumption(0, 0), None
        except CannotRun as error:
            return Resumption(0, 0, str(error)), None

    return resolve


def shared(one: FunctionalClass, done: Run, file: CriteoFile | None, meter: Meter, shelf: TrainingShelf) -> Learned:
    """Return what a completed run of the class has learned; raises CannotRun where the class cannot be trained."""
    ends = tuple(_ends(done))
    found = shelf.get(one.name)
    if found is None:
        found = shelf[one.name] = _trained(one, file, meter, dict(ends))
    if found.refusal:
        raise CannotRun(found.refusal)
    rows = tuple(_row(n, end, found.losses[n], found.aucs.get(n + 1)) for n, end in ends)
    return Learned(rows, found.scores, found.note)


def _ends(done: Run) -> Iterator[tuple[int, float]]:
    """Yield each batch that ended, and again those run again, with the second of the run at which it did.

    A batch whose flags became durable just before a fault counts, though it had not ended.
    """
    crashes = iter(done.crashes)
    for segment in done.segments:
        ends = segment.timeline.batch_ends
        count = len(ends)
        if segment.cut:
            count = max(segment.cut.finished, next(crashes).embedding_batch - segment.first)
        for index in range(count):
            yield segment.first + index, segment.begin + min(float(ends[index]), segment.length)


def _row(n: int, end: float, loss: float, auc: float | None) -> Row:
    return {"Batch": n, "Elapsed [s]": end, "Loss": loss, "AUC": auc}


def _trained(one: FunctionalClass, file: CriteoFile | None, meter: Meter, ends: dict[int, float]) -> Training:
    """Train the class without a fault; `ends` are when batches end for good, for those who watch."""
    alone = one.scenario
    given, batches = source(alone, file), num_batches(alone, file)
    since, predictions = last_pass(alone, given, batches), dict[int, Prediction]()

    def hear(n: int, step: StepResult, batch: LocalBatch, evaluation: Evaluation | None) -> None:
        if n >= since:
            predictions[n] = step.loss, batch.labels, step.logits
        meter.rows.append(_row(n, ends[n], step.loss, evaluation.auc if evaluation else None))
        meter.step(f"training batch {n}")

    try:
        start = pupil(alone, given, batches, meter)
        when, order = boundaries(batches, alone.run.evaluations), one.relaxed_lookup
        done = train(
            start.shape,
            start.weights,
            given.batch,
            0,
            batches,
            held_out=start.held_out,
            evaluations=when,
            relaxed=order,
            on_batch=hear,
        )
    except CannotRun as error:
        return Training(refusal=str(error))
    aucs = {n: found.auc for n, found in done.evaluations.items()}
    return Training(done.losses, aucs, scores(done.evaluations[batches], predictions), scale_note(start.shape))
