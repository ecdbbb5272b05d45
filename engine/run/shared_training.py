"""A run and what is learned in it: trained along, or one training shared by all points of a functional class.

A functional class is all that a training reads: model, data, run, the lookup's order and the products' precision, nothing else
of a machine. What a recovery gives back is that of the run without a fault, to the bit, where it is strict and only volatile
state was lost; then faults do not part a class either. Where they can, a run belongs to its class as long as nothing strikes
it, which its timing says before anything is trained.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from .. import version
from ..core.arithmetic import arithmetic
from ..errors import BadKnob, CannotRun
from ..faults.fault import active, strikes
from ..persistence.models import by_word, domain
from ..registry import every, load
from ..scenario.data import Data
from ..scenario.fault_knobs import Faults
from ..scenario.groups import Model, RunKnobs
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
from ..workload.source import Source, num_batches, source
from .crash_recovery import recovered_batches
from .learner import straight
from .outage import Outage
from .progress import Meter
from .run import Resolve, Resumption, Run, run
from .segment import Segment
from .training_curve import (
    Prediction,
    RunStopped,
    StoppedRun,
    TrainingOutcome,
    curve_row,
    follow,
    initial_state,
    last_pass,
    resumed,
    scaled_learner,
    scores,
    training_outcome,
)

READ = ("model", "data", "run")  # the groups of knobs that training reads
VOLATILE = frozenset({"gpu", "host", "device", "link"})
NO_FAULTS = Faults()
FEW_RUN_SO_LONG = 3600.0  # simulated seconds; only says whether it is worth a try: the run itself looks what struck it


@dataclass(frozen=True, slots=True)
class FunctionalClass:
    """All that training reads: equal ones train the same weights, to the bit, on any machine."""

    model: Model
    data: Data
    run: RunKnobs
    relaxed_lookup: bool
    matrix_precision: str = "fp32"

    @property
    def scenario(self) -> Scenario:
        """A scenario of the class that nothing else is known of: who trains it cannot read more than the class says."""
        machine = MachineKnobs(matrix_precision=self.matrix_precision)
        return Scenario(model=self.model, data=self.data, run=self.run, machine=machine)

    @property
    def name(self) -> str:
        """Its address, 32 hex digits: the same on every computer, another for another model version."""
        return _name(self, version.MODEL)


def functional_class(scenario: Scenario) -> FunctionalClass | None:
    """Return the class of a scenario's full run; None where it trains nothing, or where faults may well decide that."""
    if not scenario.run.training:
        return None
    try:
        chosen = log_policy(scenario, load("systems", scenario.system))
    except BadKnob:
        return None  # the run itself will say so
    if strikes_matter(scenario, chosen) and next(strikes(scenario)).at < FEW_RUN_SO_LONG:
        return None
    precision = scenario.machine.matrix_precision
    return FunctionalClass(scenario.model, scenario.data, scenario.run, chosen.relaxed_lookup, precision)


def strikes_matter(scenario: Scenario, chosen: LogPolicy) -> bool:
    """Tell whether faults can leave other weights than a run without them, or when is decided by the weights' own bytes."""
    struck = () if scenario.faults == NO_FAULTS else active(scenario)
    if not struck:
        return False
    model = domain(scenario.machine.persistence_model)
    exact = (chosen.strict or not chosen.log) and not model.buffered_lines and model.stream is not by_word
    return not exact or any(every("faults")[name].destroys - VOLATILE for name in struck)


@lru_cache(maxsize=256)
def _name(one: FunctionalClass, model_version: str) -> str:
    read = [f"{path}={text}" for path, text in texts(one.scenario).items() if path.partition(".")[0] in READ]
    other = (f"relaxed_lookup={one.relaxed_lookup}", f"matrix_precision={one.matrix_precision}")
    return digest(["training", model_version, *other, *read])


@dataclass(frozen=True)
class Training:
    """A training without a fault: `losses` by batch, held-out `aucs` by number of batches trained, and final scores.

    Each AUC has its standard error with it.

    `note` says how what was trained differs from the model that is timed. Where it could not be trained `refusal` says
    why, and nothing else is known. `arithmetic` names the kernels that it was computed with.
    """

    losses: tuple[float, ...] = ()
    aucs: Mapping[int, tuple[float | None, float | None]] = field(default_factory=dict)
    scores: Scores = field(default_factory=Scores)
    note: str = ""
    refusal: str = ""
    arithmetic: str = field(default_factory=arithmetic)


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
    m: Machine,
    traffic: Traffic,
    given: Source,
    file: Recording | None,
    meter: Meter,
    shelf: TrainingShelf | None,
    resume: StoppedRun | None = None,
) -> tuple[Run, TrainingOutcome]:
    """Run all batches through their faults and train along, unless training is off; a `shelf` may have the training.

    A cancelled run to `resume` ends with the bytes of one that was not cancelled. RunStopped brings it.
    """
    one = functional_class(m.scenario) if shelf is not None else None
    done = _untrained_to_its_end(m, traffic) if one else None
    if shelf is not None and one and done:
        return done, shared_outcome(one, done, file, meter, shelf, resume)
    if not m.scenario.run.training:
        done, _ = run(m, traffic, None, untrained(m))
        return done, TrainingOutcome()
    done, state = run(m, traffic, initial_state(m, given, traffic.batches, meter, resume), follow)
    return done, training_outcome(state)


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
            return Resumption(*recovered_batches(m, segment, down)) if m.log_policy.log else Resumption(0, 0), None
        except CannotRun as error:
            return Resumption(0, 0, str(error)), None

    return resolve


def shared_outcome(
    one: FunctionalClass,
    done: Run,
    file: Recording | None,
    meter: Meter,
    shelf: TrainingShelf,
    resume: StoppedRun | None = None,
) -> TrainingOutcome:
    """Return what a completed run of the class has learned; raises CannotRun where the class cannot be trained."""
    ends = tuple(_ends(done))
    found = shelf.get(one.name)
    if found is None:
        found = shelf[one.name] = _trained(one, file, meter, dict(ends), resume)
    if found.refusal:
        raise CannotRun(found.refusal)
    rows = tuple(curve_row(n, end, found.losses[n], found.aucs.get(n + 1)) for n, end in ends)
    return TrainingOutcome(rows, found.scores, found.note, found.arithmetic)


def _ends(done: Run) -> Iterator[tuple[int, float]]:
    """Yield each batch that ended, and again those run again, with the second of the run at which it did.

    A batch whose flags became durable just before a fault counts, though it had not ended.
    """
    crashes = iter(done.crashes)
    for segment in done.segments:
        ends = segment.timeline.batch_ends
        count = len(ends)
        if segment.cut:
            count = max(segment.cut.finished, next(crashes).resumption.embedding_batch - segment.first)
        for index in range(count):
            yield segment.first + index, segment.begin + min(float(ends[index]), segment.length)


def _trained(
    one: FunctionalClass, file: Recording | None, meter: Meter, ends: dict[int, float], resume: StoppedRun | None
) -> Training:
    """Train the class without a fault; `ends` are when batches end for good, for those who watch."""
    alone = one.scenario
    given, batches = source(alone, file), num_batches(alone, file)
    since, predictions = last_pass(alone, given, batches), dict[int, Prediction]()

    def on_batch(n: int, step: StepResult, batch: LocalBatch, evaluation: Evaluation | None) -> None:
        if n >= since:
            predictions[n] = step.loss, batch.labels, step.logits
        meter.rows.append(curve_row(n, ends[n], step.loss, evaluation.auc_with_error if evaluation else None))
        meter.step(f"training batch {n}")

    try:
        start = scaled_learner(alone, given, batches, meter, one.relaxed_lookup)
        start = resumed(start, resume, meter, shared=True)
        predictions.update(resume.predictions if resume and start.resume else {})
        done = straight(start, batches, on_batch)
    except TrainingStopped as stop:
        stopped = StoppedRun(stop.batch, meter.done, stop.trained, tuple(meter.rows), predictions, shared=True)
        raise RunStopped(str(stop), stopped) from stop
    except CannotRun as error:
        return Training(refusal=str(error))
    aucs = {n: found.auc_with_error for n, found in done.evaluations.items()}
    return Training(tuple(done.losses), aucs, scores(done.evaluations[batches], predictions), scale_note(start.shape))
