"""`sweep`: many scenarios through the store, by this process or by the one that already owns the store."""

import argparse
import os
import shlex
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine import effort, history, kept, knobs, service, table
from engine.answers.evaluated import number
from engine.axes import Array
from engine.commands import asking, bar, choosing, output
from engine.commands.parser import Subparsers, add_outputs, add_store
from engine.errors import BadInput, CannotRun, EmberpoolError
from engine.keys import How, texts
from engine.owner import AlreadyOwned
from engine.result import Result
from engine.scenario import Scenario, known
from engine.sweep import Refused, Sweep

TICK_SECONDS = 0.5
A_BUG, BAD_INPUT, CANNOT_RUN = 1, 2, 3
MOST_ROUNDS = 3


@dataclass(frozen=True)
class Survey:
    """What one look at all points found: the request, the table's columns, numbers by name, and who can be at all."""

    request: int
    header: table.Header
    columns: Mapping[str, Array]
    ran: bool


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = commands.add_parser("sweep", help="run every combination of some knobs' values, or points drawn from their ranges")
    choosing.add(parser)
    asking.add(parser)
    parser.add_argument("--no-sharing", action="store_true", help="train every point by itself: slower, same table, for checks")
    add_store(parser)
    add_outputs(parser, csv_required=True)
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Compute what is missing, write the table and say what it answers; returns the exit status."""
    output.check(arguments.csv)
    chosen = choosing.chosen(arguments)
    asked, sampling = asking.asked(arguments, chosen.questions)
    how: How = "estimate" if arguments.estimate else "full"
    points = Sweep(chosen.base, asking.axes(arguments, chosen), tuple(chosen.settings.items()), sampling)
    if how == "full" and not (arguments.axis or chosen.axes):
        raise BadInput(f"Without --axis there are {len(points):,} points, too many for full runs; add --estimate, or name axes.")
    if how == "full" and not arguments.no_sharing and (told := effort.sharing(points)):
        print(told, file=sys.stderr)
    survey = _survey(arguments, points, how, chosen.data, asked)
    order, rank = asking.picked(asked, survey.columns)
    found = [asked.row(int(one)) for one in rank]
    rows = _rows(arguments.store, points, how, order.tolist(), found)
    output.write(arguments.csv, table.csv_lines(survey.header, (one for one, _ in rows)))
    asking.say(asked, points, survey.columns, rank, points.fine)
    return _exit_status(arguments.store, survey, points.refused)


def _survey(arguments: argparse.Namespace, points: Sweep, how: How, data: Path | None, asked: asking.Asked) -> Survey:
    """Ask until every point has an outcome, and look at each once: a row found damaged on reading is computed anew."""
    for _ in range(MOST_ROUNDS):
        request = computed(arguments, points, how, data, sharing=not arguments.no_sharing)
        found = _look(arguments.store, points, how, request, asked)
        if found:
            return found
    raise CannotRun(service.status(arguments.store, request).note or "The store keeps losing points; check its disk.")


def _look(store: Path, points: Sweep, how: How, request: int, asked: asking.Asked) -> Survey | None:
    """Return what the finished points hold, one at a time; None if any of them is missing."""
    size = len(points.fine)
    columns = {name: np.full(size, np.nan) for name in asked.names}
    ran = 0

    def looked() -> Iterator[table.Row]:
        nonlocal ran
        for index, (row, result) in enumerate(_rows(store, points, how, range(size), [asked.row(0)] * size)):
            if result:
                for name, column in columns.items():
                    value = number(result, name)
                    column[index] = np.nan if value is None else value
                ran += result.ran
            yield row

    try:
        return Survey(request, table.header(looked()), columns, ran > 0)
    except LookupError:
        return None


def _rows(
    store: Path, points: Sweep, how: How, order: Sequence[int], answers: Sequence[Mapping[str, table.Cell]]
) -> Iterator[tuple[table.Row, Result | None]]:
    """Yield the rows at some places of the box, read one by one; raises LookupError where a point has no outcome."""
    index = np.cumsum(points.fine) - 1
    good = (points[int(index[place])] for place in order if points.fine[place])
    found, base = kept.outcomes(store, good, how), texts(points.base)
    for place in order:
        if not points.fine[place]:
            refused = points.refused[place - int(index[place]) - 1]
            written = {path: knobs.write(known(path), value) for path, value in refused.place.items()}
            yield table.refused_row(base | written, refused.sentence), None
            continue
        result = next(found)[1]
        if result is None:
            raise LookupError(place)
        yield table.row(result, how, answers[place]), result


def computed(
    arguments: argparse.Namespace, points: Sequence[Scenario], how: How, data: Path | None, *, sharing: bool = True
) -> int:
    """Have every point computed that the store lacks, and return the request; Ctrl-C keeps what is finished."""
    store, session = arguments.store, f"command {os.getpid()}"
    link = history.reopening(points)
    request = service.submit(store, points, how, data, session=session, link=link, sharing=sharing)
    try:
        _until_ended(store, request, arguments.jobs, arguments.cluster)
    except KeyboardInterrupt:
        service.cancel(store, request)
        _say_how_to_resume(service.status(store, request), store)
        raise
    return request


def _until_ended(store: Path, request: int, jobs: int | None, cluster: str | None = None) -> None:
    """Compute as the store's owner, or follow the one there is; should it die, take its place."""

    def ended() -> bool:
        return service.has_ended(store, request)

    with _ticking(store, request):
        while not ended():
            try:
                service.serve(store, jobs, idle_exit_seconds=TICK_SECONDS, until=ended, cluster=cluster)
            except AlreadyOwned:
                time.sleep(TICK_SECONDS)


@contextmanager
def _ticking(store: Path, request: int) -> Iterator[None]:
    """Renew the lease and draw the bar, while the block computes or waits."""
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(TICK_SECONDS):
            with suppress(EmberpoolError):  # a store that stays in trouble ends the sweep itself, with a sentence
                service.renew(store, request)
                now = service.status(store, request)
                bar.draw(now.done / now.total, f"{now.done:,} of {now.total:,} points, {bar.duration(now.eta_seconds)}")

    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    try:
        yield
    finally:
        stop.set()
        ticker.join()
        bar.wipe()


def _say_how_to_resume(now: service.Status, store: Path) -> None:
    again = shlex.join(sys.argv[1:])
    print(
        f"Stopped: {now.done} of {now.total} points are finished and kept in {store}; to resume, run the same again: "
        f"python -m engine {again}",
        file=sys.stderr,
    )


def _exit_status(store: Path, survey: Survey, refused: Sequence[Refused]) -> int:
    """0 if every point has a result and any could run; the table says for each point how it ended."""
    failures = service.failures(store, survey.request)
    sentences = [*(one.sentence for one in refused), *(failure.sentence for failure in failures)]
    if sentences:
        total = len(refused) + service.status(store, survey.request).total
        print(f"{len(sentences)} of {total} points failed; the first: {sentences[0]}", file=sys.stderr)
        return A_BUG if any(failure.bug for failure in failures) else BAD_INPUT
    return 0 if survey.ran else CANNOT_RUN
