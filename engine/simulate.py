"""The main idea on one screen: scenario, accesses, task graph, timeline, run with faults, result.

Timing never depends on weights, so each segment is scheduled first and trained after; at a fault both meet in
the log protocol, which decides where training resumes.
"""

from pathlib import Path

from .amounts.counted import counted
from .core import blas
from .core.threads import single_thread
from .errors import CannotRun
from .results.explanation import infeasible_result, run_result
from .results.report import report
from .results.result import Result
from .results.undisturbed import is_undisturbed, planned, undisturbed_result
from .run.crash_recovery import recovered_batches
from .run.outage import Outage
from .run.progress import Meter, Watcher
from .run.run import Resolve, Resumption, Run, run
from .run.segment import Segment
from .run.shared_training import TrainingShelf, functional_class, shared_outcome, strikes_matter
from .run.training_curve import TrainingOutcome, follow, initial_state, training_outcome
from .scenario.scenario import Scenario, with_values
from .schedule.evaluate import TIMELINES, DesignPoint, alone
from .schedule.machine import Machine, machine_of
from .schedule.settle import settle
from .schedule.steady_state import steady
from .systems.traffic import Traffic
from .workload.readers.criteo import CriteoFile, read
from .workload.source import Source, num_batches, source

blas.spare()


def simulate(
    scenario: Scenario, data: Path | None = None, progress: Watcher | None = None, shelf: TrainingShelf | None = None
) -> Result:
    """Run a scenario in full: every batch's real ids, the schedule, faults, and training unless it is off.

    `data` is a Criteo file. `progress` is told now and then, and stops the run by answering True (Cancelled). With a
    `shelf` a run takes the training of its functional class from there, or leaves it there; its result is the same.
    What cannot run comes back as a result that says why; BadInput is raised for what cannot be read.
    """
    file = read(data) if data else None
    if file and not scenario.data.digest:
        scenario = with_values(scenario, {"data.digest": file.digest})
    settled = settle(scenario)
    ready = machine_of(settled.scenario)
    if settled.problems:
        return infeasible_result(scenario, settled.problems)
    try:
        with single_thread():
            return _simulate(scenario, ready, file, progress, shelf)
    except CannotRun as error:
        return infeasible_result(scenario, (str(error),))


def _simulate(
    asked: Scenario, m: Machine, file: CriteoFile | None, progress: Watcher | None, shelf: TrainingShelf | None
) -> Result:
    given, batches = source(m.scenario, file), num_batches(m.scenario, file)
    meter, one = Meter(progress, batches), functional_class(m.scenario)
    known = bool(shelf is not None and one and shelf.get(one.name))
    trains = m.scenario.run.training and not known

    def hear(note: str, finishes: bool) -> None:
        meter.step(note, counts=finishes and not trains)

    if not m.scenario.run.training:
        point = DesignPoint(asked, m, planned(m.scenario, asked.system, file, hear))
        seen = alone(point, TIMELINES)
        if is_undisturbed(point, seen):
            return undisturbed_result(point, seen, _notes(asked, given))
    amounts = counted(m.scenario, asked.system, file, hear)
    near = (amounts.hit_rate if m.system.cache else None, amounts.drives_share if m.system.caches else None)
    done = _untrained_to_its_end(m, amounts) if shelf is not None and one else None
    if done and one and shelf is not None:
        learns = shared_outcome(one, done, file, meter, shelf)
    elif m.scenario.run.training:
        done, lessons = run(m, amounts, initial_state(m, given, batches, meter), follow)
        learns = training_outcome(lessons)
    else:
        (done, _), learns = run(m, amounts, None, untrained(m)), TrainingOutcome()
    accounts = report(done, steady(done.planned, m.devices), batches, learns.scores, *near)
    return run_result(asked, done, accounts, learns.rows, _notes(asked, given, learns.note))


def _untrained_to_its_end(m: Machine, amounts: Traffic) -> Run | None:
    """Return the run without training; None where it comes to no end, or what struck it may change what is trained."""
    try:
        done, _ = run(m, amounts, None, untrained(m))
    except CannotRun:
        return None  # training may fail before
    other = (done.crashes or done.strikes) and strikes_matter(m.scenario, m.log_policy)
    return done if done.completed and not other else None


def _notes(asked: Scenario, given: Source, *others: str) -> tuple[str, ...]:
    """Return what a reader must know of this run, among it that a batch larger than its file holds samples several times."""
    size, samples = asked.data.batch_size, given.training_samples or asked.data.batch_size
    short = f"Each batch of {size:,} samples repeats the file's {samples:,}; lower data.batch_size to see its own rows."
    return tuple(filter(None, (*others, short if size > samples else "")))


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
