"""`sweep`: many scenarios through the store, by this process or by the one that already owns the store."""

import argparse
import os
import shlex
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..core import arithmetic
from ..core.figures import count
from ..errors import BadInput, CannotRun, EmberpoolError
from ..results import csv_table
from ..results.result import Result
from ..run import forecast
from ..scenario.keys import How
from ..scenario.scenario import Scenario
from ..service import history, service
from ..store import kept, requests, status
from ..store.database import DEFAULT
from ..store.owner import AlreadyOwned
from ..sweep.sweep import Sweep
from ..version import PROGRAM
from . import output, progress_bar, scenario_arguments, sweep_arguments, sweep_tables
from .parser import A_BUG, BAD_INPUT, FAILED, Subparsers, add_outputs, add_store

TICK_SECONDS = 0.5
MOST_ROUNDS = 3
KEPT_SECONDS = 10.0  # a sweep of estimates that is likely to take longer is kept, so that it can be interrupted
MOST_HELD = 5000  # estimates that are remembered from the first look to the table; more are made again


@dataclass(frozen=True)
class SweepEnd:
    """A sweep whose points all have an outcome: what a look at them found, how to look again, and who gave no result."""

    survey: sweep_tables.Survey
    outcomes: sweep_tables.Outcomes
    failed: tuple[str, ...] = ()
    bug: bool = False


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = commands.add_parser("sweep", help="run every combination of some knobs' values, or points drawn from their ranges")
    scenario_arguments.add(parser)
    sweep_arguments.add(parser)
    parser.add_argument("--no-sharing", action="store_true", help="train every point by itself: slower, same table, for checks")
    add_store(parser)
    add_outputs(parser, csv_required=True)
    parser.set_defaults(call=call, store=None)  # a few estimates are kept only where a store is named


def call(arguments: argparse.Namespace) -> int:
    """Compute what is missing, write the table and say what it answers; returns the exit status."""
    chosen = scenario_arguments.chosen(arguments)
    asked, sampling = sweep_arguments.questions(arguments, chosen.start.questions)
    how: How = "estimate" if arguments.estimate else "full"
    points = Sweep(chosen.start.scenario, sweep_arguments.axes(arguments, chosen), tuple(chosen.settings.items()), sampling)
    if how == "full" and not (arguments.axis or chosen.start.axes):
        raise BadInput(
            f"Without --axis there are {count(len(points), 'point')}, too many for full runs; add --estimate, or name axes."
        )
    if how == "full" and not arguments.no_sharing and (told := forecast.sharing(points)):
        print(told, file=sys.stderr)
    unkept = how == "estimate" and arguments.store is None and arguments.cluster is None
    if unkept and forecast.sweep_seconds(points, "estimate") < KEPT_SECONDS:
        ended = _estimated(points, asked)
    else:
        ended = _kept(arguments, points, how, chosen.data, asked)
    columns = ended.survey.columns
    order, rank = sweep_arguments.selected_rows(asked, columns)
    rows = sweep_tables.rows(
        points, how, ended.outcomes, order.tolist(), lambda place: asked.row(columns, int(rank[place]), place)
    )
    output.write(arguments.csv, csv_table.csv_lines(ended.survey.header, (row for row, _ in rows)))
    sweep_arguments.print_answers(asked, points, columns, rank, points.fine)
    output.note(points.sequence_note)
    if told := arithmetic.mixed(ended.survey.kernels):
        print(told, file=sys.stderr)
    return _exit_status(ended, points)


def _estimated(points: Sweep, asked: sweep_arguments.SweepQuestions) -> SweepEnd:
    """Estimate all points here and forget them; rows of many are estimated again as they are written."""
    failed: list[str] = []
    held: dict[Scenario, Result] = {}

    def outcomes(scenarios: Iterator[Scenario]) -> Iterator[Result]:
        for done, result in enumerate(sweep_tables.estimated(scenarios, failed)):
            if done % sweep_tables.TOGETHER == 0:
                progress_bar.draw(done / len(points), f"{count(done)} of {count(len(points), 'point')}")
            if len(points) <= MOST_HELD:
                held[result.scenario] = result
            yield result

    def again(scenarios: Iterator[Scenario]) -> Iterator[Result]:
        return map(held.__getitem__, scenarios) if held else sweep_tables.estimated(scenarios, [])

    with progress_bar.shown():
        survey = sweep_tables.survey(points, "estimate", outcomes, asked)
    return SweepEnd(survey, again, tuple(failed))


def _kept(
    arguments: argparse.Namespace, points: Sweep, how: How, data: Path | None, asked: sweep_arguments.SweepQuestions
) -> SweepEnd:
    """Have the store complete every point: a row found damaged on reading is computed anew."""
    store = arguments.store = arguments.store or DEFAULT

    def outcomes(scenarios: Iterator[Scenario]) -> Iterator[Result | None]:
        return (result for _, result in kept.outcomes(store, scenarios, how))

    for _ in range(MOST_ROUNDS):
        request = computed(arguments, points, how, data, sharing=not arguments.no_sharing)
        with suppress(LookupError):
            survey, failures = sweep_tables.survey(points, how, outcomes, asked), status.failures(store, request)
            return SweepEnd(survey, outcomes, tuple(one.sentence for one in failures), any(one.bug for one in failures))
    raise CannotRun(status.status(store, request).note or "The store keeps losing points; check its disk.")


def computed(
    arguments: argparse.Namespace, points: Sequence[Scenario], how: How, data: Path | None, *, sharing: bool = True
) -> int:
    """Have every point computed that the store lacks, and return the request; Ctrl-C keeps what is finished."""
    store, session = arguments.store, f"command {os.getpid()}"
    link = history.reopening(points)
    request = requests.submit(store, points, how, data, session=session, link=link, sharing=sharing)
    try:
        _until_ended(store, request, arguments.jobs, arguments.cluster)
    except KeyboardInterrupt:
        requests.cancel(store, request)
        now, again = status.status(store, request), f"{PROGRAM} {shlex.join(sys.argv[1:])}"
        done = f"{now.done} of {now.total} points are finished and kept in {store}"
        print(f"Stopped: {done}; to resume, run the same again: {again}", file=sys.stderr)
        raise
    return request


def _until_ended(store: Path, request: int, jobs: int | None, cluster: str | None = None) -> None:
    """Compute as the store's owner, or follow the one there is; should it die, take its place."""

    def ended() -> bool:
        return status.status(store, request).ended

    with _ticking(store, request):
        while not ended():
            with suppress(AlreadyOwned):
                service.serve(store, jobs, TICK_SECONDS, request=request, cluster=cluster)
            if not ended():  # another owns the store, or is to own it
                time.sleep(TICK_SECONDS)


@contextmanager
def _ticking(store: Path, request: int) -> Iterator[None]:
    """Renew the lease and draw the bar, while the block computes or waits."""
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(TICK_SECONDS):
            with suppress(EmberpoolError):  # a store that stays in trouble ends the sweep itself, with a sentence
                requests.renew(store, request)
                now = status.status(store, request)
                progress_bar.draw(
                    now.done / now.total,
                    f"{count(now.done)} of {count(now.total, 'point')}, {progress_bar.duration(now.eta_seconds)}",
                )

    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    with progress_bar.shown():
        try:
            yield
        finally:
            stop.set()
            ticker.join()


def _exit_status(ended: SweepEnd, points: Sweep) -> int:
    """0 if every point has a result and any could run; the table says for each point how it ended."""
    sentences = [*(one.sentence for one in points.refused), *ended.failed]
    if sentences:
        print(f"{len(sentences)} of {len(points.fine)} points failed; the first: {sentences[0]}", file=sys.stderr)
        return A_BUG if ended.bug else BAD_INPUT
    return 0 if ended.survey.ran else FAILED
