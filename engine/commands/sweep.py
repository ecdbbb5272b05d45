"""`sweep`: many scenarios through the store, by this process or by the one that already owns the store."""

import argparse
import os
import shlex
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from engine import axes, effort, kept, service
from engine.commands import bar, choosing, output
from engine.commands.parser import Subparsers, add_outputs, add_store, points
from engine.errors import CannotRun, EmberpoolError
from engine.keys import How
from engine.owner import AlreadyOwned
from engine.result import Result
from engine.scenario import Scenario
from engine.table import csv_text

TICK_SECONDS = 0.5
A_BUG, BAD_INPUT, CANNOT_RUN = 1, 2, 3
MOST_ROUNDS = 3


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = commands.add_parser("sweep", help="run every combination of some knobs' values")
    choosing.add(parser)
    parser.add_argument(
        "--axis", action="append", default=[], metavar="AXIS", help="KNOB=V1,V2,... or KNOB=LOW:HIGH:COUNT[:log]; repeatable"
    )
    parser.add_argument("--sample", type=points, metavar="N", help="only N points of the grid, drawn by the data seed")
    parser.add_argument("--no-sharing", action="store_true", help="train every point by itself: slower, same table, for checks")
    add_store(parser)
    add_outputs(parser, csv_required=True)
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Compute what is missing and write the table; returns the exit status."""
    output.check(arguments.csv)
    chosen = choosing.chosen(arguments)
    asked = [axes.parse(text) for text in (*chosen.axes, *arguments.axis)]
    scenarios = axes.grid(chosen.base, asked, chosen.settings, arguments.sample)
    how: How = "estimate" if arguments.estimate else "full"
    if how == "full" and not arguments.no_sharing and (told := effort.sharing(scenarios)):
        print(told, file=sys.stderr)
    request, results = _computed(arguments, scenarios, how, chosen.data)
    output.write(arguments.csv, csv_text(results, how))
    return _exit_status(arguments.store, request, results)


def _computed(
    arguments: argparse.Namespace, scenarios: Sequence[Scenario], how: How, data: Path | None
) -> tuple[int, list[Result]]:
    """Ask until every point has an outcome: a row found damaged on reading is computed anew."""
    for _ in range(MOST_ROUNDS):
        request = service.submit(
            arguments.store, scenarios, how, data, session=f"command {os.getpid()}", sharing=not arguments.no_sharing
        )
        try:
            _until_ended(arguments.store, request, arguments.jobs, arguments.cluster)
        except KeyboardInterrupt:
            service.cancel(arguments.store, request)
            _say_how_to_resume(service.status(arguments.store, request), arguments.store)
            raise
        found = [result for _, result in kept.outcomes(arguments.store, scenarios, how)]
        results = [result for result in found if result is not None]
        if len(results) == len(found):
            return request, results
    raise CannotRun(service.status(arguments.store, request).note or "The store keeps losing points; check its disk.")


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


def _exit_status(store: Path, request: int, results: Sequence[Result]) -> int:
    """0 if every point has a result and any could run; the table says for each point how it ended."""
    failures = service.failures(store, request)
    if failures:
        print(f"{len(failures)} of {len(results)} points failed; the first: {failures[0].sentence}", file=sys.stderr)
        return A_BUG if any(failure.bug for failure in failures) else BAD_INPUT
    return 0 if any(result.ran for result in results) else CANNOT_RUN
