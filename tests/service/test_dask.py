"""Is a sweep on a real Dask scheduler and its workers the local one to the byte, whoever dies meanwhile?"""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

import pytest

from engine.__main__ import main
from engine.service import service
from engine.store import requests, status
from engine.store.owner import is_owned
from tests import ROOT
from tests.service_fakes import COMPUTE, KILLER, ask, finished, scenario, scenarios, table, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")]
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": ROOT}
SEEDS = range(1, 31)
LOOPBACK = ("--dashboard-address", "127.0.0.1:0")
START_SECONDS = 300.0  # a busy computer starts the processes of Dask slowly; a service waits for them some seconds only


def free_port() -> int:
    """Return a port of the loopback that no program uses."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Dask:
    """A scheduler and its workers, each a process of its own on the loopback."""

    def __init__(self) -> None:
        port = free_port()
        self.address = f"tcp://127.0.0.1:{port}"
        self.processes = [self.run("scheduler", "--host", "127.0.0.1", "--port", str(port), *LOOPBACK)]
        self.workers: list[subprocess.Popen[bytes]] = []

    def run(self, what: str, *words: str) -> "subprocess.Popen[bytes]":
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *words]
        return subprocess.Popen(command, env=environment, **QUIET)  # type: ignore[call-overload, no-any-return]

    def work(self, nanny: bool = False) -> None:
        """Start one more worker."""
        words = [self.address, "--nthreads", "1", *LOOPBACK, "--nanny" if nanny else "--no-nanny"]
        self.workers.append(self.run("worker", *words))
        self.processes.append(self.workers[-1])

    def wait(self) -> None:
        """Wait until the scheduler answers and has all workers."""
        with import_module("distributed").Client(self.address, timeout=START_SECONDS, set_as_default=False) as client:
            client.wait_for_workers(len(self.workers), timeout=START_SECONDS)


@pytest.fixture
def dask() -> Iterator[Dask]:
    pytest.importorskip("distributed", reason="Dask is not installed; `make slow` installs it")
    dask = Dask()
    yield dask
    for process in dask.processes:
        process.terminate()
    for process in dask.processes:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def later(condition: object, do: object) -> Iterator[None]:
    """Do something once a condition holds, while the block runs in this thread."""

    def wait() -> None:
        wait_until(condition)  # type: ignore[arg-type]
        do()  # type: ignore[operator]

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def test_with_a_worker_killed_in_mid_run_the_table_is_that_of_loky_and_no_finished_point_is_repeated(
    dask: Dask, store: Path, tmp_path: Path
) -> None:
    dask.work()
    dask.work()
    dask.wait()
    request = requests.submit(store, scenarios(SEEDS, 0.2), "full", keeps_on=True)
    with later(lambda: finished(store) >= 5, lambda: dask.workers[0].send_signal(signal.SIGKILL)):
        service.serve(store, 2, 0.0, COMPUTE, cluster=dask.address)
    assert dask.workers[0].poll() == -signal.SIGKILL
    assert status.status(store, request).state == "done"
    assert ask(store, "SELECT ending, count(*) FROM claims GROUP BY ending") == [("kept", len(SEEDS))]
    local = tmp_path / "local.sqlite"
    requests.submit(local, scenarios(SEEDS, 0.2), "full", keeps_on=True)
    service.serve(local, 2, 0.0, COMPUTE)
    assert table(store, scenarios(SEEDS, 0.2)) == table(local, scenarios(SEEDS, 0.2))


def test_a_point_that_kills_every_worker_ends_as_a_sentence_and_the_others_finish(dask: Dask, store: Path) -> None:
    dask.work(nanny=True)
    dask.work(nanny=True)
    dask.wait()
    request = requests.submit(store, [*scenarios(range(6), 0.2), scenario(KILLER, 0.2)], "full", keeps_on=True)
    service.serve(store, 2, 0.0, COMPUTE, cluster=dask.address)
    found = status.status(store, request)
    assert (found.state, found.finished_points, found.failed) == ("done", 7, 1)
    assert "ended the cluster's workers" in status.failures(store, request)[0].sentence


def printed_commands(port: int, table: Path) -> list[str]:
    """Return the lines of the first block of docs/cluster.md, for the loopback, one worker and a small model."""
    (block, *_) = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "cluster.md").read_text("utf-8"), re.DOTALL)
    for printed, here in {
        "\\\n": " ", "10.0.0.1": "127.0.0.1", "eth0": "lo", ":8786": f":{port}", "port 8786": f"port {port}", ":8787": ":0",
        "--nworkers auto": "--nworkers 1", "dlrm-kaggle": "tiny --set run.batches=20", "256:4096:5:log": "16:32:2:log",
        "table.csv": f"{table} --store {table}.sqlite",
    }.items():  # fmt: skip
        assert printed in block
        block = block.replace(printed, here)
    return block.strip().splitlines()


def test_the_commands_of_the_document_work_in_new_shells_and_give_the_local_table(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if not (ROOT / ".venv/bin/dask").exists():
        pytest.skip("Dask is not installed in .venv; `make slow` installs it")
    port, table = free_port(), tmp_path / "table.csv"
    _, export, _, scheduler, worker, sweep = printed_commands(port, table)
    shell = {"env": {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, "cwd": ROOT, "start_new_session": True}
    started = [subprocess.Popen(["sh", "-c", f"{export}\nexec {line}"], **shell) for line in (scheduler, worker)]  # type: ignore[call-overload]
    served, address = tmp_path / "served.sqlite", f"tcp://127.0.0.1:{port}"
    try:
        with import_module("distributed").Client(address, timeout=START_SECONDS, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=START_SECONDS)
        local = sweep.replace(f"--cluster {address}", "").replace(str(table), f"{table}.local")
        for line in (sweep, local):
            assert subprocess.run(["sh", "-c", f"{export}\n{line}"], **shell).returncode == 0  # type: ignore[call-overload]
        assert Path(f"{table}.local").read_bytes() == table.read_bytes()
        serve = [sys.executable, "-m", "engine", "serve", "--cluster", address, "--store", str(served)]
        started.append(subprocess.Popen(serve, cwd=ROOT, start_new_session=True))
        wait_until(lambda: served.exists() and is_owned(served))
        joined = ["sweep", "--preset", "tiny", "--estimate", "--axis", "data.seed=1,2", "--csv", "-", "--store", str(served)]
        joined.append("--cluster")
        assert main([*joined, address]) == 0 and main([*joined, "tcp://127.0.0.1:9"]) == 2
        assert f"computes on workers of {address}" in capfd.readouterr().err
    finally:
        for process in reversed(started):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(60)
