"""A run and its training; runs of one functional class share one training.

A functional class has all that a training reads: the knobs of model, data and run, the order of lookup and update, and the
precision of matrix products, but nothing else of a machine. If a strict log protects a run, recovery from a loss of volatile
state restores exactly the weights of a run without faults; then runs with faults belong to the class too. Where faults can change
the weights, a run belongs to its class only if no fault strikes it. The timing shows this before any training.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np

from .. import version
from ..core.arithmetic import arithmetic
from ..core.arrays import Floats, Ints
from ..errors import BadKnob, CannotRun
from ..faults.fault import active_faults, strikes
from ..persistence.models import by_word, domain
from ..registry import all_variants, load_variant
from ..scenario.data import DataKnobs, RunKnobs
from ..scenario.fault_knobs import Faults
from ..scenario.groups import Model
from ..scenario.keys import digest, texts
from ..scenario.machine import MachineKnobs
from ..scenario.scenario import Scenario
from ..schedule.machine import Machine
from ..systems.system import LogPolicy, log_policy
from ..systems.traffic import Traffic
from ..training.lookup import LocalBatch
from ..training.loop import Evaluation, Scores, TrainingStopped
from ..training.shape import scale_note
from ..training.step import StepResult
from ..workload.readers.recording import Recording
from ..workload.source import Source, num_batches, shared_source
from .crash_recovery import recovered_batches
from .curve import Curve
from .learner import train_without_flips
from .outage import Outage
from .progress import Meter
from .run import Resolve, Resumption, Run, follow_run
from .segment import Segment
from .training_curve import (
    Prediction,
    RunStopped,
    StoppedRun,
    TrainingOutcome,
    initial_state,
    last_pass_batch,
    resumed_learner,
    scaled_learner,
    scores,
    train_segment,
    training_outcome,
)

READ_GROUPS = ("model", "data", "run")  # the groups of knobs that training reads
VOLATILE = frozenset({"gpu", "host", "device", "link"})
NO_FAULTS = Faults()
LONG_RUN_SECONDS = 3600.0  # simulated seconds; an early filter only: the run itself checks which faults struck it


@dataclass(frozen=True, slots=True)
class FunctionalClass:
    """The knobs that a training reads.

    Equal classes train the same weights, to the bit, on any machine.

    model, data, run: the knobs of these groups.
    relaxed_lookup: True if rows are read before the previous batch's update and corrected after it.
    matrix_precision: the precision of matrix products.
    """

    model: Model
    data: DataKnobs
    run: RunKnobs
    relaxed_lookup: bool
    matrix_precision: str = "fp32"

    @property
    def scenario(self) -> Scenario:
        """A scenario with the knobs of the class, and defaults for all other knobs.

        A training reads this scenario, so it cannot depend on other knobs.
        """
        machine = MachineKnobs(matrix_precision=self.matrix_precision)
        return Scenario(model=self.model, data=self.data, run=self.run, machine=machine)

    @property
    def name(self) -> str:
        """The digest of the class: 32 hex digits.

        The digest is the same on each computer; it changes with the model version.
        """
        return _name(self, version.MODEL)


def functional_class(scenario: Scenario) -> FunctionalClass | None:
    """Return the functional class of a scenario's full run.

    Return None if training is off, or if a fault may change the weights.
    """
    if not scenario.run.training:
        return None
    try:
        policy = log_policy(scenario, load_variant("systems", scenario.system))
    except BadKnob:
        return None  # the run itself will say so
    if strikes_matter(scenario, policy) and next(strikes(scenario)).seconds < LONG_RUN_SECONDS:
        return None
    precision = scenario.machine.matrix_precision
    return FunctionalClass(scenario.model, scenario.data, scenario.run, policy.relaxed_lookup, precision)


def strikes_matter(scenario: Scenario, policy: LogPolicy) -> bool:
    """Return whether the scenario's faults can change the weights of a run.

    True also if the time of a recovery depends on the bytes of the weights.
    """
    struck = () if scenario.faults == NO_FAULTS else active_faults(scenario)
    if not struck:
        return False
    model = domain(scenario.machine.persistence_model)
    exact = (policy.strict or not policy.log) and not model.buffered_lines and model.stream is not by_word
    return not exact or any(all_variants("faults")[name].destroys - VOLATILE for name in struck)


@lru_cache(maxsize=256)
def _name(training_class: FunctionalClass, model_version: str) -> str:
    class_texts = texts(training_class.scenario)
    if class_texts["run.train_every"] == "1":  # the knob came within a model version: stored trainings keep their names
        del class_texts["run.train_every"]
    read_knobs = [f"{path}={text}" for path, text in class_texts.items() if path.partition(".")[0] in READ_GROUPS]
    machine_knobs = (f"relaxed_lookup={training_class.relaxed_lookup}", f"matrix_precision={training_class.matrix_precision}")
    return digest(["training", model_version, *machine_knobs, *read_knobs])


@dataclass(frozen=True)
class Training:
    """The results of training a functional class without a fault.

    losses: the loss of each trained batch [nats].
    aucs: {number of batches: (held-out AUC after them, its standard error)}.
    scores: the final scores.
    note: a sentence on the difference between the trained model and the timed model, or "".
    refusal: the reason why the class cannot be trained, or ""; with a reason, the other fields are empty.
    arithmetic: the names of the BLAS kernels, NumPy and Python that trained the model.
    """

    losses: tuple[float, ...] = ()
    aucs: Mapping[int, tuple[float | None, float | None]] = field(default_factory=dict)
    scores: Scores = field(default_factory=Scores)
    note: str = ""
    refusal: str = ""
    arithmetic: str = field(default_factory=arithmetic)


class TrainingShelf(Protocol):
    """A store of trainings by the names of functional classes, such as a dict."""

    def get(self, name: str, /) -> Training | None:
        """Return the stored training of a functional class, or None."""

    def __setitem__(self, name: str, training: Training, /) -> None:
        """Keep the training of a class."""


def trains_itself(scenario: Scenario, shelf: TrainingShelf | None) -> bool:
    """Return whether a run needs a training of its own.

    A run needs a training if training is on and `shelf` has no training of the run's class.
    """
    training_class = functional_class(scenario) if shelf is not None else None
    return scenario.run.training and not (shelf is not None and training_class and shelf.get(training_class.name))


def run_and_learn(
    m: Machine,
    traffic: Traffic,
    batch_source: Source,
    file: Recording | None,
    meter: Meter,
    shelf: TrainingShelf | None,
    resume: StoppedRun | None = None,
) -> tuple[Run, TrainingOutcome]:
    """Simulate a run with its faults, and train the model; return run and training.

    The model is not trained if training is off, or if `shelf` has a training of the run's class. If the run is cancelled,
    RunStopped carries the state to resume from. Passed as `resume`, the run ends with the same bytes as an uninterrupted run.
    """
    training_class = functional_class(m.scenario) if shelf is not None else None
    finished_run = _untrained_to_its_end(m, traffic) if training_class else None
    if shelf is not None and training_class and finished_run:
        return finished_run, shared_outcome(training_class, finished_run, file, meter, shelf, resume)
    if not m.scenario.run.training:
        finished_run, _ = follow_run(m, traffic, None, untrained_resolve(m))
        return finished_run, TrainingOutcome()
    finished_run, state = follow_run(m, traffic, initial_state(m, batch_source, traffic.batches, meter, resume), train_segment)
    return finished_run, training_outcome(state)


def _untrained_to_its_end(m: Machine, traffic: Traffic) -> Run | None:
    """Return the run without training.

    Return None if the run does not complete, or if its faults may change the weights.
    """
    try:
        untrained_run, _ = follow_run(m, traffic, None, untrained_resolve(m))
    except CannotRun:
        return None  # training may fail before
    may_change = (untrained_run.crashes or untrained_run.passed_strikes) and strikes_matter(m.scenario, m.log_policy)
    return untrained_run if untrained_run.completed and not may_change else None


def untrained_resolve(m: Machine) -> Resolve[None]:
    """Return a function that recovers a segment without training, for `follow_run`.

    Without a log, the run starts again at batch 0.
    """

    def resolve(segment: Segment, outage: Outage | None, state: None) -> tuple[Resumption, None]:
        if outage is None:
            return Resumption(segment.end_batch, segment.end_batch), None
        try:
            return Resumption(*recovered_batches(m, segment, outage)) if m.log_policy.log else Resumption(0, 0), None
        except CannotRun as error:
            return Resumption(0, 0, str(error)), None

    return resolve


def shared_outcome(
    training_class: FunctionalClass,
    finished_run: Run,
    file: Recording | None,
    meter: Meter,
    shelf: TrainingShelf,
    resume: StoppedRun | None = None,
) -> TrainingOutcome:
    """Return the training of a completed run, from its functional class.

    The training is read from `shelf`, or computed and stored there. Raises CannotRun if the class cannot be trained.
    """
    batches, ends = _ends(finished_run)
    training = shelf.get(training_class.name)
    if training is None:
        final_ends = np.empty(finished_run.fault_free_timeline.batches)
        final_ends[batches] = ends
        training = shelf[training_class.name] = _trained(training_class, file, meter, final_ends, resume)
    if training.refusal:
        raise CannotRun(training.refusal)
    curve, train_every = Curve(), training_class.run.train_every
    for n, end in zip(batches, ends, strict=True):
        if n % train_every == 0:
            curve.append(int(n), float(end), training.losses[n // train_every], training.aucs.get(int(n) + 1))
    return TrainingOutcome(curve, training.scores, training.note, training.arithmetic)


def _ends(finished_run: Run) -> tuple[Ints, Floats]:
    """Return the numbers of all ended batches, and the end of each [s of the run].

    A batch that is run again comes again.
    A batch whose flags became durable just before a fault counts, although the batch had not ended.
    """
    crashes, batches, ends = iter(finished_run.crashes), list[Ints](), list[Floats]()
    for segment in finished_run.segments:
        count = segment.timeline.batches
        if segment.cut:
            count = max(segment.cut.batches_ended, next(crashes).resumption.embedding_batch - segment.first_batch)
        batches.append(np.arange(segment.first_batch, segment.first_batch + count))
        ends.append(segment.begin_seconds + np.minimum(segment.timeline.batch_ends[:count], segment.length_seconds))
    return np.concatenate(batches), np.concatenate(ends)


def _trained(
    training_class: FunctionalClass, file: Recording | None, meter: Meter, ends: Floats, resume: StoppedRun | None
) -> Training:
    """Train the class without a fault.

    `ends` are the final end of each batch [s], (N,), for the progress.
    """
    class_scenario = training_class.scenario
    batch_source, batches = shared_source(class_scenario, file=file), num_batches(class_scenario, file)
    scored_from_batch, predictions = last_pass_batch(class_scenario, batch_source, batches), dict[int, Prediction]()

    def on_batch(n: int, step: StepResult, batch: LocalBatch, evaluation: Evaluation | None) -> None:
        if n >= scored_from_batch:
            predictions[n] = step.loss, batch.labels, step.logits
        meter.curve.append(n, float(ends[n]), step.loss, evaluation.auc_with_error if evaluation else None)
        meter.trained_step(n, class_scenario.run.train_every)

    try:
        start = scaled_learner(class_scenario, batch_source, batches, meter, training_class.relaxed_lookup)
        start = resumed_learner(start, resume, meter, is_shared=True)
        predictions.update(resume.predictions if resume and start.stopped_stretch else {})
        stretch = train_without_flips(start, batches, on_batch)
    except TrainingStopped as stop:
        stopped = StoppedRun(stop.batch, meter.batches_done, stop.trained, meter.curve, predictions, is_shared=True)
        raise RunStopped(str(stop), stopped) from stop
    except CannotRun as error:
        return Training(refusal=str(error))
    aucs = {n: evaluation.auc_with_error for n, evaluation in stretch.evaluations.items()}
    return Training(
        tuple(stretch.losses), aucs, scores(stretch.evaluations[max(start.evaluations)], predictions), scale_note(start.shape)
    )
