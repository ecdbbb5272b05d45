"""`sweep`: compute many scenarios and keep their results in a store.

This process computes the results, unless another process already serves the store.
"""

import argparse
import os
import shlex
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Connection

from ..core import arithmetic
from ..core.figures import count
from ..errors import BadInput, CannotRun, EmberpoolError
from ..results import csv_table
from ..results.result import Result
from ..run import forecast
from ..scenario.keys import Fidelity
from ..scenario.scenario import Scenario
from ..service import history, service
from ..store import requests, result_rows, status
from ..store.database import DEFAULT
from ..store.owner import AlreadyOwned
from ..sweep.sweep import Sweep
from ..version import PROGRAM
from . import output, progress_bar, scenario_arguments, sweep_arguments, sweep_tables
from .parser import BAD_INPUT, BUG, FAILED, Subparsers, add_outputs, add_store

TICK_SECONDS = 0.5
MOST_ROUNDS = 3
LOST = (
    "The store loses points again and again: check its disk, and give each version of Emberpool that computes in it a store of "
    "its own with --store FILE."
)
KEPT_SECONDS = 10.0  # a sweep of estimates that is likely to take longer is kept, so that it can be interrupted


@dataclass(frozen=True)
class SweepEnd:
    """A finished sweep.

    survey: the survey of its table.
    outcomes: the function that reads its points.
    failed: sentences of failed points.
    has_bug: whether a point failed by a bug.
    """

    survey: sweep_tables.Survey
    outcomes: sweep_tables.Outcomes
    failed: tuple[str, ...] = ()
    has_bug: bool = False


def add(commands: Subparsers) -> None:
    """Add this command and its arguments to the command line's parser."""
    parser = commands.add_parser("sweep", help="run every combination of some knobs' values, or points drawn from their ranges")
    scenario_arguments.add(parser)
    sweep_arguments.add(parser)
    parser.add_argument("--no-sharing", action="store_true", help="train every point by itself: slower, same table, for checks")
    add_store(parser)
    add_outputs(parser, csv_required=True)
    parser.set_defaults(call=call, store=None)  # a few estimates are kept only where a store is named


def call(arguments: argparse.Namespace) -> int:
    """Compute the missing points, write the table and print its answers; returns the exit status."""
    selection = scenario_arguments.selected_scenario(arguments)
    questions, sampling = sweep_arguments.questions(arguments, selection.start.questions)
    fidelity: Fidelity = "estimate" if arguments.estimate else "full"
    points = Sweep(
        selection.start.scenario, sweep_arguments.axes(arguments, selection), tuple(selection.settings.items()), sampling
    )
    if fidelity == "full" and not (arguments.axis or selection.start.axes):
        raise BadInput(
            f"Without --axis there are {count(len(points), 'point')}, too many for full runs; add --estimate, or give --axis."
        )
    if fidelity == "full" and not arguments.no_sharing and (note := forecast.shared_training_note(points)):
        output.tell(note)
    unkept = fidelity == "estimate" and arguments.store is None and arguments.cluster is None
    if unkept and forecast.sweep_seconds(points, "estimate") < KEPT_SECONDS:
        return _write(arguments, questions, points, fidelity, _estimated_sweep(points, questions))
    with ExitStack() as snapshots:
        sweep_end = _stored_sweep(arguments, points, fidelity, selection.data_file, questions, snapshots)
        return _write(arguments, questions, points, fidelity, sweep_end)


def _write(
    arguments: argparse.Namespace,
    questions: sweep_arguments.SweepQuestions,
    points: Sweep,
    fidelity: Fidelity,
    sweep_end: SweepEnd,
) -> int:
    """Write the table and print its answers; returns the exit status."""
    columns = sweep_end.survey.columns
    order, rank = sweep_arguments.selected_rows(questions, columns)
    rows = sweep_tables.ordered_rows(
        points,
        fidelity,
        sweep_end.survey,
        sweep_end.outcomes,
        order.tolist(),
        lambda place: questions.row(columns, int(rank[place]), place),
    )
    output.write(arguments.csv, csv_table.csv_lines(sweep_end.survey.header, rows))
    sweep_arguments.print_answers(questions, points, columns, rank, points.is_possible)
    output.note(points.sequence_note)
    if note := arithmetic.mixed_kernels_note(sweep_end.survey.kernels):
        output.tell(note)
    return _exit_status(sweep_end, points)


def _estimated_sweep(points: Sweep, questions: sweep_arguments.SweepQuestions) -> SweepEnd:
    """Estimate all points here, and hold their rows; KEPT_SECONDS limits their number."""
    failed: list[str] = []

    def outcomes(scenarios: Iterator[Scenario]) -> Iterator[Result]:
        for position, result in enumerate(sweep_tables.estimate_in_groups(scenarios, failed)):
            if position % sweep_tables.GROUP_SIZE == 0:
                progress_bar.draw(position / len(points), f"{count(position)} of {count(len(points), 'point')}")
            yield result

    with progress_bar.visible_bar():
        survey = sweep_tables.survey(points, "estimate", outcomes, questions, hold_rows=True)
    return SweepEnd(survey, outcomes, tuple(failed))


def _stored_sweep(
    arguments: argparse.Namespace,
    points: Sweep,
    fidelity: Fidelity,
    data_file: Path | None,
    questions: sweep_arguments.SweepQuestions,
    snapshots: ExitStack,
) -> SweepEnd:
    """Complete every point in the store; a row that is damaged is computed again.

    The points are read from a snapshot, which `snapshots` closes: other code may replace their rows at once.
    """
    store = arguments.store = arguments.store or DEFAULT
    snapshot: Connection

    def outcomes(scenarios: Iterator[Scenario]) -> Iterator[Result | None]:
        return (result for _, result in result_rows.stored_results(store, scenarios, fidelity, snapshot))

    for _ in range(MOST_ROUNDS):
        request = compute_points(arguments, points, fidelity, data_file, sharing=not arguments.no_sharing)
        snapshot = snapshots.enter_context(result_rows.snapshot_of(store))
        with suppress(LookupError):
            survey, failures = sweep_tables.survey(points, fidelity, outcomes, questions), status.failures(store, request)
            return SweepEnd(
                survey, outcomes, tuple(failure.sentence for failure in failures), any(failure.bug for failure in failures)
            )
    raise CannotRun(status.status(store, request).note or LOST)


def compute_points(
    arguments: argparse.Namespace, points: Sequence[Scenario], fidelity: Fidelity, data_file: Path | None, *, sharing: bool = True
) -> int:
    """Compute the points that the store lacks; return the number of the request.

    Ctrl-C stops the request and keeps finished points. Raises OtherWorkers where the store's owner uses another cluster.
    """
    store, session = arguments.store, f"command {os.getpid()}"
    service.check_cluster(store, arguments.cluster)
    link = history.reopening(points)
    request = requests.submit(store, points, fidelity, data_file, session=session, link=link, sharing=sharing)
    try:
        _until_ended(store, request, arguments.jobs, arguments.cluster)
    except service.OtherWorkers:
        requests.cancel(store, request, requests.COMMAND)
        raise
    except KeyboardInterrupt:
        requests.cancel(store, request, requests.COMMAND)
        progress, command_line = status.status(store, request), f"{PROGRAM} {shlex.join(sys.argv[1:])}"
        total_text = count(progress.total, "point is", "points are")
        progress_text = f"{progress.finished_points} of {total_text} finished and kept in {store}"
        output.tell(f"Stopped: {progress_text}; run the same command again to resume: {command_line}")
        raise
    return request


def _until_ended(store: Path, request: int, jobs: int | None, cluster: str | None = None) -> None:
    """Compute as the store's owner, or wait for another owner; if that one dies, take its place."""

    def has_ended() -> bool:
        return status.status(store, request).is_ended

    said: set[str] = set()
    with _ticking(store, request):
        while not has_ended():
            try:
                service.serve(store, jobs, TICK_SECONDS, request=request, cluster=cluster)
            except AlreadyOwned:
                service.check_cluster(store, cluster)
                if (note := service.owner_note(store, jobs)) not in said:
                    progress_bar.wipe()
                    output.note(note)
                    said.add(note)
            if not has_ended():  # another owns the store, or is to own it
                time.sleep(TICK_SECONDS)


@contextmanager
def _ticking(store: Path, request: int) -> Iterator[None]:
    """Renew the lease and draw the bar, while the block computes or waits."""
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(TICK_SECONDS):
            with suppress(EmberpoolError):  # a store that stays in trouble ends the sweep itself, with a sentence
                requests.renew_lease(store, request, requests.COMMAND)
                progress = status.status(store, request)
                progress_bar.draw(
                    progress.finished_points / progress.total,
                    f"{count(progress.finished_points)} of {count(progress.total, 'point')}, "
                    f"{progress_bar.duration(progress.eta_seconds)}",
                )

    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    with progress_bar.visible_bar():
        try:
            yield
        finally:
            stop.set()
            ticker.join()


def _exit_status(sweep_end: SweepEnd, points: Sweep) -> int:
    """Return 0 if every point has a result and any could run; the table says for each point how it ended."""
    sentences = [*(refusal.sentence for refusal in points.refused), *sweep_end.failed]
    if sentences:
        output.tell(f"{len(sentences)} of {count(len(points.is_possible), 'point')} failed; the first: {sentences[0]}")
        return BUG if sweep_end.has_bug else BAD_INPUT
    return 0 if sweep_end.survey.any_ran else FAILED
