"""Computations that stand in for the simulation, and an owner process to kill: for tests of the service alone.

A computation is named by import path and runs in a worker. What it should do is written in the scenario:
`data.seed` is the answer, `faults.detect_seconds` how long it takes; its default means no time at all. Beyond the seed
`LAST_FREE` a point waits until the file exists that the environment names in `HELD_UNTIL`, if it names one.
"""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.errors import BadInput, Cancelled
from engine.results.csv_table import csv_text
from engine.results.result import Result
from engine.run.progress import Progress, Watcher
from engine.run.shared_training import Training, TrainingShelf, functional_class
from engine.scenario.fault_knobs import Faults
from engine.scenario.keys import Fidelity
from engine.scenario.scenario import Scenario, with_values
from engine.service.pool import LocalPool
from engine.service.queue import live_requests, open_points
from engine.service.worker import Chunk, ChunkAnswer, compute_chunk
from engine.store import requests
from engine.store.database import open_store
from engine.store.metric_columns import UNFINISHED, Columns
from engine.store.result_rows import stored_results
from tests import HANG_SECONDS, ROOT

if TYPE_CHECKING:  # each worker of a test imports this module, and needs no pytest
    import pytest

COMPUTE = "tests.service_fakes:compute"
KILLER, BUGGY, REFUSED, TOO_BIG, HUNGRY = 666, 667, 668, 669, 670
LAST_FREE = 4
OWNER = """
import sys; from pathlib import Path; from engine.service.service import serve
serve(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
"""
# A test run in the background hands an ignored interrupt down to its children.
COMMAND = f"""
import signal; signal.signal(signal.SIGINT, signal.default_int_handler)
import functools, sys; from engine.service import service; from engine.__main__ import main
service.serve = functools.partial(service.serve, compute="{COMPUTE}"); sys.exit(main())
"""


def compute(
    scenario: Scenario, how: Fidelity, data: Path | None, progress: Watcher, shelf: TrainingShelf | None = None
) -> Result:
    """Take `faults.detect_seconds`, telling progress; die, break, refuse or not fit where the seed says so."""
    seed = scenario.data.seed
    if seed == KILLER:
        os.kill(os.getpid(), signal.SIGKILL)
    if seed == BUGGY:
        raise ZeroDivisionError("made up")
    if seed == REFUSED:
        raise BadInput("run.batches=1 is made up to be refused; choose 2.")
    if seed == TOO_BIG:
        return Result(scenario, ran=False, outcome="It does not fit; take less.", results={})
    if seed == HUNGRY:
        np.zeros(1 << 60, dtype=np.uint8)
    while seed > LAST_FREE and "HELD_UNTIL" in os.environ and not Path(os.environ["HELD_UNTIL"]).exists():
        time.sleep(0.01)
    seconds = 0.0 if scenario.faults == Faults() else scenario.faults.detect_seconds
    steps = max(1, round(seconds / 0.05))
    for step in range(steps):
        time.sleep(seconds / steps)
        if progress(Progress(step + 1, steps, elapsed_simulated=float(step))):
            raise Cancelled("Nobody waits for it.")
    return Result(scenario, ran=True, outcome="It completed.", results={"Step time [ms]": seed / 7, "AUC": None})


def chunk(store: Path, *seeds: int) -> Chunk:
    """The open points of a new request as the feed would send them."""
    request = requests.submit(store, scenarios(seeds), "full")
    with open_store(store) as connection:
        (turn,) = live_requests(connection, {})
        return Chunk(str(store), turn, tuple(open_points(connection, request, -1, 99)), COMPUTE)


def computing_here(monkeypatch: "pytest.MonkeyPatch") -> None:
    """Workers of the service are this very process: a chunk is computed when it is sent."""

    def send(self: LocalPool, store: sqlite3.Connection, chunk: Chunk, beside_runs: bool) -> None:
        future: Future[ChunkAnswer] = Future()
        future.set_result(compute_chunk(chunk))
        self.answers.put(future)

    monkeypatch.setattr(LocalPool, "send", send)


def learning(
    scenario: Scenario, how: Fidelity, data: Path | None, progress: Watcher, shelf: TrainingShelf | None = None
) -> Result:
    """Take `faults.detect_seconds` unless the class is on the shelf; then leave it there, and note it in LEARNED_IN."""
    training_class = functional_class(scenario)
    if shelf is not None and training_class and not shelf.get(training_class.name):
        compute(scenario, how, data, progress)
        shelf[training_class.name] = Training((scenario.data.seed / 7,))
        with open(os.environ.get("LEARNED_IN", os.devnull), "a", encoding="utf-8") as log:
            log.write(f"{scenario.data.seed}\n")
    return Result(scenario, ran=True, outcome="It completed.", results={"Step time [ms]": scenario.data.seed / 7})


def scenario(seed: int, seconds: float = 0.0) -> Scenario:
    """A scenario that answers seed / 7 after some seconds."""
    return with_values(Scenario(), {"data.seed": seed, "faults.detect_seconds": seconds})


def scenarios(seeds: Sequence[int], seconds: float = 0.0) -> tuple[Scenario, ...]:
    """Scenarios for several seeds."""
    return tuple(scenario(seed, seconds) for seed in seeds)


@contextmanager
def owner(store: Path, jobs: int = 2, idle: float = 60.0, compute: str = COMPUTE) -> Iterator[subprocess.Popen[bytes]]:
    """An owner process of the store; killed at the end if it still lives."""
    process = subprocess.Popen([sys.executable, "-c", OWNER, str(store), str(jobs), str(idle), compute], cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def command(*words: str, **options: object) -> "subprocess.Popen[str]":
    """The command line in its own process group, with the fake computation."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": ROOT, "start_new_session": True}
    return subprocess.Popen([sys.executable, "-c", COMMAND, *words], **{**pipes, **options})  # type: ignore[call-overload, no-any-return]


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until the condition holds; fails after minutes, so that a hang ends."""
    deadline = time.monotonic() + HANG_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def ask(store: Path, query: str, *values: object) -> list[tuple[object, ...]]:
    """Rows of a query on the store."""
    with open_store(store) as connection:
        return connection.execute(query, values).fetchall()


def finished(store: Path) -> int:
    """How many points are finished."""
    return len(ask(store, "SELECT 1 FROM results")) if store.exists() else 0


def table(store: Path, points: Sequence[Scenario]) -> str:
    """The table of full runs, all of which must have a result."""
    results = [result for _, result in stored_results(store, points, "full")]
    assert None not in results
    return csv_text([result for result in results if result], "full")


def kept_result(store: Path, scenario: Scenario, fidelity: Fidelity) -> Result | None:
    """Return what the store knows of one scenario."""
    ((_, result),) = stored_results(store, [scenario], fidelity)
    return result


def open_pids(store: Path) -> list[int]:
    """The workers that hold open claims."""
    return [int(str(row[0])) for row in ask(store, "SELECT pid FROM claims WHERE ending IS NULL")]


def lives(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def num_finished(columns: Columns) -> int:
    """Return the number of points that are finished, with or without a result."""
    return int(np.count_nonzero(columns.state != UNFINISHED))
