"""Does a run that this computer's memory cannot hold end with its remedy, without a result that says so for good?"""

import errno
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from engine.__main__ import main
from engine.core import memo, process
from engine.errors import CannotRun, NoRoom
from engine.scenario.scenario import per_table, with_values
from engine.service import service, worker
from engine.service.queue import LiveRequest
from engine.store import requests, result_rows, status
from engine.workload.batch import recent
from tests import HANG_SECONDS, ROOT
from tests.machines import TINY
from tests.service_fakes import COMPUTE, HUNGRY, ask, scenario, scenarios

DEAF = """
import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)
from engine.commands import run
def deaf(*words): print("computing", flush=True); return sum(range(10**11))
run.compute_point = deaf
from engine.__main__ import main; sys.exit(main(["run", "--preset", "tiny"]))
"""


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    """What another test has counted needs no memory any more."""
    memo.clear_memos()


@pytest.mark.slow
def test_counting_is_refused_where_it_takes_more_than_the_computer_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    need = recent(TINY.model, TINY.data.batch_size)
    least = need.rows.nbytes + need.in_both.nbytes
    monkeypatch.setattr(process, "physical_memory", lambda: least)
    assert main(["run", "--preset", "tiny"]) == 3
    said = capsys.readouterr().err
    assert said.startswith("Counting the rows of batches of 16 samples") and said.endswith("KiB; lower data.batch_size.\n")
    monkeypatch.setattr(process, "physical_memory", lambda: 2 * least)
    assert main(["run", "--preset", "tiny"]) == 0


def test_the_ids_of_two_batches_count_as_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    small = with_values(TINY, {"model.num_embeddings": (8,), "data.batch_size": 4096})
    lookups = small.data.batch_size * sum(per_table(small.model, "pooling"))
    rows = recent(small.model, small.data.batch_size)
    least = rows.rows.nbytes + rows.in_both.nbytes + 2 * lookups * 8
    monkeypatch.setattr(process, "physical_memory", lambda: least - 1)
    with pytest.raises(NoRoom):
        recent(small.model, small.data.batch_size)
    monkeypatch.setattr(process, "physical_memory", lambda: least)
    recent(small.model, small.data.batch_size)


def test_the_memory_of_a_container_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit, boundless, missing = tmp_path / "limit", tmp_path / "boundless", tmp_path / "missing"
    limit.write_text("4096\n")
    boundless.write_text("max\n")
    for limits, expected in (((limit,), 4096), ((boundless, missing), whole), ((missing, limit), 4096)):
        monkeypatch.setattr(process, "CONTAINER_LIMITS", limits)
        assert process.physical_memory() == expected


@pytest.mark.usefixtures("computed_here")
def test_a_point_that_asks_for_too_much_fails_with_the_remedy_and_no_result_is_kept(store: Path) -> None:
    points = [scenario(1), scenario(HUNGRY), scenario(2)]
    request = requests.submit(store, points, "estimate", keeps_on=True)
    service.serve(store, 1, 0.0, COMPUTE)
    (failure,) = status.failures(store, request)
    assert failure.sentence == process.TOO_LARGE and "data.batch_size" in failure.sentence and not failure.bug
    assert [found.ran for _, found in result_rows.stored_results(store, points, "estimate") if found] == [True, False, True]
    assert ask(store, "SELECT count(*) FROM results") == [(2,)]


def test_what_this_computer_lacks_the_memory_for_is_a_failure_of_the_point_and_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "physical_memory", lambda: 1)
    small = with_values(TINY, {"run.training": False})
    with pytest.raises(NoRoom):
        worker.compute_point(small, "full", None, lambda _: False)
    ending, text = worker._ending(
        worker.Chunk("", LiveRequest(1, "", "full", None, "{}"), ()), '{"run.training":"off"}', lambda _: False, None
    )
    assert ending == "failed" and "this computer has" in text


def test_memory_that_runs_out_anywhere_is_a_sentence_of_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def hungry(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("engine.commands.run.compute_point", hungry)
    assert main(["run", "--preset", "tiny"]) == 3 and capsys.readouterr().err == f"{process.TOO_LARGE}\n"


@pytest.mark.slow
def test_ctrl_c_ends_a_run_in_the_middle_of_a_kernel() -> None:
    process = subprocess.Popen([sys.executable, "-c", DEAF], cwd=ROOT, stdout=subprocess.PIPE)
    try:
        assert process.stdout and process.stdout.readline() == b"computing\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG_SECONDS) == -signal.SIGINT
    finally:
        process.kill()
        process.communicate()


def no_room(*_: object, **more: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_workers_that_cannot_start_are_a_sentence_and_nothing_is_lost(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = requests.submit(store, scenarios([1, 2, 3]), "full", keeps_on=True)
    with monkeypatch.context() as full:
        full.setattr(import_module("loky.backend.synchronize"), "_SemLock", no_room)
        with pytest.raises(CannotRun, match=r"Worker processes cannot be started: .*; free some space in /dev/shm and"):
            service.serve(store, 1, 0.0, COMPUTE)
    assert not ask(store, "SELECT 1 FROM claims") and status.status(store, request).state == "queued"
    service.serve(store, 1, 0.0, COMPUTE)
    assert status.status(store, request).finished_points == 3


@pytest.mark.parametrize("call", ["subprocess.run", "pathlib.Path.open"])
def test_a_service_that_the_system_cannot_start_is_a_sentence(store: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    requests.submit(store, scenarios([1]), "full")
    monkeypatch.setattr(call, no_room)
    said = service.ensure_service(store)
    assert said.startswith("The background service cannot be started: No space left on device; free some memory, and")
