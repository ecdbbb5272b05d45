"""Is the file of a cancelled run whole or ignored, bounded, private, and never in the way of the cancel itself?"""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine import version
from engine.run import progress
from engine.run.progress import Progress
from engine.run.training_curve import RunStopped, StoppedRun
from engine.scenario.keys import key
from engine.scenario.scenario import Scenario, with_values
from engine.service import computations, history, stopped_runs
from engine.service.queue import live_requests, open_points
from engine.service.stopped_runs import StoppedRunFile
from engine.service.worker import COMPUTE, Chunk, compute_chunk
from engine.simulate import simulate
from engine.store import requests, status
from engine.store.database import open_store
from engine.store.result_rows import result_text, stored_results
from tests import HANG_SECONDS, ROOT
from tests.machines import scenario
from tests.training.training_models import state_bytes

KEY, OTHER = "0" * 32, "1" * 32
ASKED = scenario("tiny", "cxl-b", **{"run.batches": 8, "run.evaluations": 2})
NAME = key(ASKED, "full")
DIES = """
import os, signal, sys
from pathlib import Path
from engine.service import stopped_runs
from tests.service.test_stopped_runs import stopped_at
run, write = stopped_at(3), stopped_runs._Timely.write
def dying(self, data):
    write(self, bytes(data)[: len(data) // 2])
    os.kill(os.getpid(), signal.SIGKILL)
stopped_runs._Timely.write = dying
stopped_runs.StoppedRunFile(Path(sys.argv[1]), sys.argv[2]).save(run)
"""


def stopped_at(batch: int, asked: Scenario = ASKED) -> StoppedRun:
    """Return a run that is cancelled after so many batches."""
    interval, progress.INTERVAL = progress.INTERVAL, 0.0
    try:
        simulate(asked, progress=lambda now: now.note == f"training batch {batch - 1}")
    except RunStopped as stop:
        return stop.run
    finally:
        progress.INTERVAL = interval
    raise AssertionError("it was not cancelled")


@pytest.fixture(scope="module")
def run() -> StoppedRun:
    return stopped_at(3)


@pytest.fixture
def file(tmp_path: Path) -> StoppedRunFile:
    return StoppedRunFile(tmp_path / "store.sqlite", KEY)


def test_a_file_is_its_owners_alone_and_another_point_or_code_does_not_read_it(file, run, monkeypatch):
    assert file.batch() is None and file.load() is None
    assert file.save(run) == "" and file.batch() == 3
    assert file.path.stat().st_mode & 0o777 == 0o600 and file.folder.stat().st_mode & 0o777 == 0o700
    other = StoppedRunFile(file.store, OTHER)
    os.link(file.path, other.path)
    assert other.batch() is None and other.load() is None
    with monkeypatch.context() as patched:
        patched.setattr(version, "CODE", "other")
        assert file.batch() is None and file.load() is None
    file.remove()
    assert file.batch() is None


def test_damage_is_found_or_changes_nothing(file, run):
    file.save(run)
    whole, weights = file.path.read_bytes(), run.stretch.weights
    chance = random.Random(5)
    ignored = 0
    for _ in range(400):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        file.path.write_bytes(damaged)
        found = file.load()
        ignored += found is None
        if found:
            assert found.batch == 3 and found.curve == run.curve and found.stretch.losses == run.stretch.losses
            assert state_bytes(found.stretch.weights) == state_bytes(weights)
    assert ignored > 300
    for content in (b"", whole[: len(whole) // 2], b"no archive", os.urandom(999)):
        file.path.write_bytes(content)
        assert file.batch() is None and file.load() is None
    np.savez(file.path, content=np.array([object()], dtype=object))
    assert file.load() is None, "nothing is unpickled"


def test_the_oldest_files_go_and_a_large_run_is_not_kept(file, run, monkeypatch):
    files = [StoppedRunFile(file.store, f"{number:032x}") for number in range(stopped_runs.MOST_FILES + 2)]
    for number, each in enumerate(files):
        assert each.save(run) == ""
        os.utime(each.path, (number, number))
    assert [each.batch() for each in files] == [None, None, *[3] * stopped_runs.MOST_FILES]
    assert len(list(file.folder.iterdir())) == stopped_runs.MOST_FILES
    monkeypatch.setattr(stopped_runs, "MOST_BYTES", 1000)
    assert files[-1].save(run) == stopped_runs.TOO_LARGE and files[-1].batch() is None


def test_after_a_clock_was_set_back_the_newest_files_stay_and_the_oldest_go(file, run):
    files = [StoppedRunFile(file.store, f"{number:032x}") for number in range(2 * stopped_runs.MOST_FILES)]
    for number, each in enumerate(files):
        assert each.save(run) == ""
        if number < stopped_runs.MOST_FILES:
            later = time.time() + 3000 + number
            os.utime(each.path, (later, later))
        assert each.batch() == 3, "just written"
        time.sleep(0.01)
    assert [each.batch() for each in files[-3:]] == [3] * 3


def test_a_file_that_a_living_worker_writes_stays_whatever_the_clock_says(file, run):
    file.folder.mkdir(parents=True)
    writing, abandoned = file.folder / "living.1.part", file.folder / "dead.2.part"
    with stopped_runs._Timely(writing):
        abandoned.write_bytes(b"half")
        for seconds in (time.time() - 3600, time.time() + 3600):
            os.utime(writing, (seconds, seconds))
            assert file.save(run) == ""
            assert writing.exists() and not abandoned.exists()


@pytest.mark.parametrize("trouble", ["full", "slow", "no folder"])
def test_a_disk_that_is_full_or_slow_leaves_the_earlier_file(trouble, file, run, monkeypatch):
    assert file.save(stopped_at(2)) == "" and file.batch() == 2

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    if trouble == "full":
        monkeypatch.setattr(stopped_runs._Timely, "write", full)
    elif trouble == "slow":
        monkeypatch.setattr(stopped_runs, "MOST_SECONDS", -1.0)
    else:
        monkeypatch.setattr(stopped_runs, "make_private_folder", full)
    assert file.save(run) == stopped_runs.NO_ROOM
    assert file.batch() == 2 and [path.suffix for path in file.folder.iterdir()] == [".npz"]


def test_a_worker_killed_while_it_writes_leaves_the_earlier_file(file, run):
    file.save(run)
    died = subprocess.run([sys.executable, "-c", DIES, str(file.store), KEY], cwd=ROOT, timeout=HANG_SECONDS, check=False)
    assert died.returncode == -signal.SIGKILL and file.batch() == 3 and file.load() is not None
    (part,) = file.folder.glob("*.part")
    os.utime(part, (1, 1))
    assert file.save(run) == "" and not list(file.folder.glob("*.part"))


@pytest.fixture
def cancelling(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Let whoever waits for a point cancel it once it has trained as many batches as the list says."""
    at: list[int] = []
    report = computations.report_progress

    def watched(store: sqlite3.Connection, name: str, now: Progress) -> None:
        report(store, name, now)
        if at and now.training and now.batches_done >= at[0]:
            store.execute("UPDATE requests SET state = 'cancelled'")

    monkeypatch.setattr(computations, "report_progress", watched)
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    return at


def computed(store: Path, asked: Scenario = ASKED) -> int:
    """Ask for a scenario and compute it here; return its request."""
    request = requests.submit(store, [asked], "full")
    with open_store(store) as connection:
        (turn,) = live_requests(connection, {})
        chunk = Chunk(str(store), turn, tuple(open_points(connection, request, -1, 9)), COMPUTE)
    assert not compute_chunk(chunk).trouble
    return request


def test_the_service_goes_on_to_the_same_row_and_deletes_the_file(tmp_path, cancelling):
    store, whole = tmp_path / "store.sqlite", result_text(simulate(ASKED))
    for batch in (3, 5):
        cancelling[:] = [batch]
        request = computed(store)
        told = status.stopped_progress(store, NAME)
        assert status.status(store, request).state == "cancelled" and StoppedRunFile(store, NAME).batch() == batch
        assert told and told.note == "" and [row["Batch"] for row in told.training] == list(range(batch))
    with open_store(store) as connection:
        computations.close_open_claims(connection, "abandoned")  # as the next owner does
    assert status.stopped_progress(store, NAME) == told
    cancelling.clear()
    computed(store)
    ((_, result),) = stored_results(store, [ASKED], "full")
    assert result and result_text(result) == whole
    assert StoppedRunFile(store, NAME).batch() is None and status.stopped_progress(store, NAME) is None


def test_a_full_disk_does_not_lose_the_cancel_nor_the_curves(tmp_path, cancelling, monkeypatch):
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    store = tmp_path / "store.sqlite"
    monkeypatch.setattr(stopped_runs._Timely, "write", full)
    cancelling[:] = [3]
    request = computed(store)
    told = status.stopped_progress(store, NAME)
    assert status.status(store, request).state == "cancelled" and StoppedRunFile(store, NAME).batch() is None
    assert told and told.note == stopped_runs.NO_ROOM and len(told.training) == 3
    cancelling.clear()
    computed(store)
    assert next(iter(stored_results(store, [ASKED], "full")))[1]


def test_a_request_is_deleted_with_its_file(tmp_path, cancelling):
    store = tmp_path / "store.sqlite"
    cancelling[:] = [3]
    request = computed(store)
    assert StoppedRunFile(store, NAME).path.exists()
    history.delete(store, [request], requests.COMMAND)
    assert not StoppedRunFile(store, NAME).path.exists() and status.stopped_progress(store, NAME) is None


def test_a_worker_that_does_not_stop_in_time_leaves_the_curves(tmp_path):
    store = tmp_path / "store.sqlite"
    request = requests.submit(store, [ASKED], "full")
    row = {"Batch": 0, "Elapsed [s]": 0.1, "Loss": 0.5, "AUC": None}
    with open_store(store) as connection:
        computations.claim_points(connection, request, [NAME])
        computations.report_progress(connection, NAME, Progress(1, 8, (row,), 0.1, "training batch 0"))
        assert status.stopped_progress(store, NAME) is None, "it still runs"
        requests.cancel(store, request, requests.COMMAND)
        computations.close_open_claims(connection, "stopped")
    told = status.stopped_progress(store, NAME)
    assert told and told.training == (row,) and told.note == computations.TOO_LATE


def test_only_so_many_cancelled_points_keep_their_curves(tmp_path):
    asked = [with_values(ASKED, {"data.seed": seed}) for seed in range(computations.MOST_STOPPED + 3)]
    names, store = [key(one, "full") for one in asked], tmp_path / "store.sqlite"
    request = requests.submit(store, asked, "full")
    with open_store(store) as connection:
        computations.claim_points(connection, request, names)
        for name in names:
            computations.report_progress(connection, name, Progress(1, 8))
        assert connection.execute("SELECT count(*) FROM progress").fetchone() == (len(names),)
        computations.close_claims(connection, [(name, "cancelled", "") for name in names])
        assert connection.execute("SELECT count(*) FROM progress").fetchone() == (computations.MOST_STOPPED,)
