"""The one owner of all workers: takes requests from the store and has their points computed.

Whoever wants results submits a request and follows its status; the one process that holds the store's lock
computes. It may be killed at any moment: finished points are rows, and the next owner goes on with the rest.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from sqlite3 import Connection
from typing import IO

from joblib import cpu_count

from .. import version
from ..store.backups import Care
from ..store.database import look, opened
from ..store.files import make_own, real
from ..store.owner import await_workers, is_owned, named_owner, owning
from ..store.requests import tend
from . import computations, queue
from .dask_pool import Cluster
from .dispatch import Dispatcher
from .pool import EXIT_SECONDS, LocalPool
from .worker import CHANGED, COMPUTE, compute_chunk

POLL_SECONDS = 0.1
IDLE_EXIT_SECONDS = 600.0
START_SECONDS = 5.0  # within which a service that was started owns its store, or has failed
Condition = Callable[[], bool] | None


def serve(
    path: Path,
    n_jobs: int | None = None,
    idle_exit_seconds: float = IDLE_EXIT_SECONDS,
    compute: str = COMPUTE,
    until: Condition = None,
    cluster: str | None = None,
) -> None:
    """Own the store and compute what is asked for, until idle for some seconds, `until` holds, or other code is asked for.

    `n_jobs` workers run at once, by default one per core. `compute` names the function that turns a scenario
    into a result, as module:function. With `cluster`, the address of a Dask scheduler, its workers compute
    instead of this computer's. Raises AlreadyOwned, BadFile, or CannotRun if workers cannot live.
    """
    path = real(path)
    with owning(path), opened(path) as store:
        await_workers(path, EXIT_SECONDS)
        look(path, store)
        computations.bury(store, "abandoned")
        queue.take_over(store)
        care = Care(path, store)
        pool = Cluster(cluster) if cluster else LocalPool(path, n_jobs or cpu_count())
        try:
            _serve(store, Dispatcher(store, path, compute), pool, care, idle_exit_seconds, until)
        finally:
            pool.close()
            computations.bury(store, "abandoned")
        care.tend(leaving=True)


def _serve(
    store: Connection, feed: Dispatcher, pool: LocalPool | Cluster, care: Care, idle_exit_seconds: float, until: Condition
) -> None:
    """Send what is due, wait for an answer, and so on; a few estimates are computed here while nothing else runs."""
    idle_since, next_look, busy = time.monotonic(), 0.0, False
    while True:
        if time.monotonic() >= next_look:
            if (until and until()) or queue.serves_others(store):
                return
            pool.tend(store)
            next_look = time.monotonic() + POLL_SECONDS
        tend(store)
        care.tend()
        if not busy and (chunk := feed.next_here()):
            feed.note(compute_chunk(chunk))
            idle_since = time.monotonic()
            continue
        try:
            for chunk, beside in feed.due(pool.slots):
                pool.send(store, chunk, beside)
            busy = bool(feed.in_flight)
            if not busy and time.monotonic() - idle_since >= idle_exit_seconds:
                return
            if ended := pool.answer(store, POLL_SECONDS):
                feed.note(ended)
        except BrokenProcessPool:
            pool.bury(store)
            feed.forget()
        if busy:
            idle_since = time.monotonic()


def ensure_service(path: Path, n_jobs: int | None = None, idle_exit_seconds: float = IDLE_EXIT_SECONDS) -> str:
    """Start an owner in the background unless there is one; cheap, so call it at each look at a status.

    It outlives the caller, writes its messages beside the store, and leaves when idle. One that was started a moment ago
    gets time to begin; if it has ended instead, or cannot be started, returns a sentence that says why, else "".
    """
    path = real(path)
    if version.code_has_changed():
        return CHANGED
    if is_owned(path):
        return _held_up(path)
    log_file = Path(f"{path}.log")
    if log_file.exists() and 0 <= time.time() - log_file.stat().st_mtime < START_SECONDS:
        return _last_words(log_file)
    command = [sys.executable, "-m", "engine", "serve", "--store", str(path), "--idle-exit", str(idle_exit_seconds)]
    command += ["--jobs", str(n_jobs)] if n_jobs else []
    try:
        make_own(log_file)
        with log_file.open("wb") as log:
            _start_apart(command, log)
    except (OSError, subprocess.SubprocessError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        return f"The service that computes cannot be started: {reason}; free some memory and some space beside {path}."
    return ""


def _held_up(path: Path) -> str:
    """Return why a store's owner does not compute for this code, "" where it does or is about to leave."""
    pid, code = named_owner(path)
    if code == version.CODE:
        return ""
    with opened(path) as store:
        waits = queue.serves_others(store)
    return f"Process {pid}, of another version of Emberpool, computes what was asked for later; this follows." if waits else ""


def _start_apart(command: Sequence[str], log: IO[bytes]) -> None:
    """Start a process that is nobody's child, and so never a zombie: the shell between leaves at once."""
    subprocess.run(
        ["sh", "-c", '"$@" &', "sh", *command],
        cwd=Path(__file__).parent.parent.parent,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        check=True,
    )


def _last_words(log_file: Path) -> str:
    """Return what a service that does not own its store said last, as a sentence; "" if it has said nothing yet."""
    said = log_file.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    if not said:
        return ""
    words = said[-1].rstrip(".")[:300]
    return f"The service that computes ended: {words}. It is started again every few seconds; {log_file} has more."
