"""The full run on one screen: scenario, accesses, task graph, timeline, faults, training, result.

Timing never depends on weights. So each segment between faults is scheduled first and trained afterwards. At a fault the log
protocol uses both, and decides in which batch training resumes.
"""

from pathlib import Path

from .amounts.counted import counted_traffic
from .core.process import single_thread
from .errors import CannotRun
from .results.explanation import infeasible_result, run_result
from .results.report import run_report
from .results.result import Result
from .results.undisturbed import planned_batches, undisturbed_results
from .run.progress import Meter, Watcher, reading_watcher
from .run.shared_training import TrainingShelf, run_and_learn, trains_itself
from .run.training_curve import StoppedRun
from .scenario.scenario import Scenario, with_values
from .schedule.evaluate import TIMELINES, DesignPoint, evaluate
from .schedule.machine import Machine, machine_of, settle
from .training.trained_batches import sampled_run_note
from .workload.readers.file_tables import numbering_note
from .workload.readers.formats import read_file
from .workload.readers.recording import Recording, copies_note
from .workload.source import num_batches, repeats_warning, shared_source


def simulate(
    scenario: Scenario,
    data: Path | None = None,
    progress: Watcher | None = None,
    shelf: TrainingShelf | None = None,
    resume: StoppedRun | None = None,
) -> Result:
    """Run a scenario in full: real ids, the schedule, faults, and training unless off.

    data: a data file.
    progress: a function that is called with the progress now and then; the run stops with Cancelled if it returns True.
    shelf: a store of training results. Runs of one functional class train once and share their result.
    resume: the run that an earlier RunStopped has as `run`. It continues with the same result, to the byte.

    A run that is stopped while it trains raises RunStopped. For a scenario that cannot run, the result says why. BadInput is
    raised for input that cannot be read.
    """
    file = read_file(data, reading_watcher(progress)) if data else None
    if file and not scenario.data.digest:
        scenario = with_values(scenario, {"data.digest": file.digest})
    settled = settle(scenario)  # its system, policies and placement of tables; automatic knobs are chosen
    machine = machine_of(settled)  # its devices
    if settled.problems:
        return infeasible_result(scenario, settled.problems)
    try:
        with single_thread():
            return _simulate(scenario, machine, file, progress, shelf, resume)
    except CannotRun as error:
        return infeasible_result(scenario, (str(error),))


def _simulate(
    scenario: Scenario,
    machine: Machine,
    file: Recording | None,
    progress: Watcher | None,
    shelf: TrainingShelf | None,
    resume: StoppedRun | None,
) -> Result:
    settled, s = machine.settled, machine.scenario
    batches, origin, training = num_batches(s, file), shared_source(s, file=file), trains_itself(s, shelf)
    meter = Meter(progress, batches)
    if resume and training:
        meter.resume(resume.curve, resume.batches_done)  # the progress until training goes on
    notes = tuple(
        filter(
            None,
            (
                sampled_run_note(s, batches),
                repeats_warning(s, origin),
                numbering_note(s, file) if file else "",
                copies_note(file.name, file.label_copies) if file else "",
            ),
        )
    )
    lengths = file.mean_lengths * s.model.field_copies if file else ()

    def on_progress(step_name: str, finishes: bool) -> None:
        meter.step(step_name, counts=finishes and not training)

    if not s.run.training:  # without a fault either, arrays of times are enough
        plan = planned_batches(settled, file=file, on_progress=on_progress)
        points = [DesignPoint(scenario, machine, plan)]
        (outcome,) = evaluate(points, lambda points, observed: undisturbed_results(points, observed, notes, lengths), TIMELINES)
        if isinstance(outcome, Result):
            return outcome
    traffic = counted_traffic(settled, file=file, on_progress=on_progress)  # rows and bytes by batch
    run, learned = run_and_learn(machine, traffic, origin, file, meter, shelf, resume)  # tasks on a timeline, cut by faults
    all_notes = tuple(filter(None, (learned.note, *notes)))
    return run_result(scenario, run, run_report(run, traffic, learned.scores), learned, all_notes, lengths)
