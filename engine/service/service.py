"""The owner of a store: the one process that computes the points of its requests.

Clients submit a request and follow its status. The process that holds the store's lock computes the points by workers. The owner
can be killed at any moment: finished points are rows of the store, and the next owner computes the others.
"""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from pathlib import Path
from sqlite3 import Connection
from typing import IO

from joblib import cpu_count

from .. import version
from ..errors import BadInput, EmberpoolError
from ..store.database import check_store, open_store
from ..store.files import make_private_file, real_path
from ..store.owner import is_owned, named_owner, own_store
from ..store.requests import end_requests
from ..store.side_copy import StoreMaintenance
from ..store.status import has_ended
from . import computations, queue
from .dask_pool import Cluster
from .dispatch import Dispatcher
from .pool import LocalPool
from .worker import CODE_CHANGED, COMPUTE

POLL_SECONDS = 0.1
IDLE_EXIT_SECONDS = 600.0
START_SECONDS = 5.0  # a started service owns its store within so long, or has failed
TCP = "tcp://"  # how Dask reads an address without a protocol
MAX_WORDS_CHARACTERS = 200  # characters of a service's last sentence


def serve(
    path: Path,
    n_jobs: int | None = None,
    idle_exit_seconds: float = IDLE_EXIT_SECONDS,
    compute: str = COMPUTE,
    request: int | None = None,
    cluster: str | None = None,
) -> None:
    """Own the store, and compute the points of its requests until there are no more.

    n_jobs: the number of workers; by default one per core.
    idle_exit_seconds: the owner ends after so many seconds without work.
    compute: the function that turns a scenario into a result, as module:function.
    request: a request after whose end the owner ends, or None.
    cluster: the address of a Dask scheduler, whose workers compute instead of this computer's, or None.

    The owner also ends if a newer request was made by other code, or if the store's file was moved away. Raises AlreadyOwned,
    BadFile, and CannotRun if workers cannot start.
    """
    path = real_path(path)
    with own_store(path, cluster or ""), _last_words(path), open_store(path) as store:
        check_store(store)
        computations.close_open_claims(store, "abandoned")
        queue.resume_requests(store)
        care = StoreMaintenance(path, store)
        pool = Cluster(cluster) if cluster else LocalPool(n_jobs or cpu_count())
        try:
            _serve(store, Dispatcher(store, path, compute), pool, care, idle_exit_seconds, request)
        finally:
            pool.close()
            computations.close_open_claims(store, "abandoned")
        care.tend(leaving=True)


def _serve(
    store: Connection,
    feed: Dispatcher,
    pool: LocalPool | Cluster,
    care: StoreMaintenance,
    idle_exit_seconds: float,
    request: int | None,
) -> None:
    """Send due chunks, wait for an answer, and repeat until the service is to end."""
    idle_since, next_look, clock = time.monotonic(), 0.0, queue.ClockWatch()
    while True:
        try:
            if (
                clock_seconds := time.monotonic()
            ) >= next_look or not feed.in_flight:  # between, workers wait for their next chunk
                clock.look(store)
                end_requests(store)
                care.tend()
                if (request and has_ended(store, request)) or queue.newest_has_other_code(store) or care.is_moved:
                    return
                pool.supervise(store)
                next_look = clock_seconds + POLL_SECONDS
            for chunk, beside_runs in feed.due_chunks(pool.slots):
                pool.send(store, chunk, beside_runs)
            if feed.in_flight:
                idle_since = clock_seconds
            elif clock_seconds - idle_since >= idle_exit_seconds:
                return
            if chunk_end := pool.answer(store, POLL_SECONDS):
                feed.note_answer(chunk_end)
        except BrokenProcessPool:
            pool.end_workers(store)
            feed.reset()


def owner_note(path: Path, n_jobs: int | None) -> str:
    """Return a sentence about the owner for which a command waits, "" without any news.

    n_jobs: the number of workers that the command would start, None if nobody gave one.
    """
    path = real_path(path)
    owner, note = named_owner(path), _other_owner_note(path)
    if note or not n_jobs or owner.code != version.CODE:
        return note
    return f"--jobs {n_jobs} is not used, since process {owner.process} owns {path} and computes these points."


class OtherWorkers(BadInput):
    """Raised if a store's owner computes on other workers than a command names."""


def check_cluster(path: Path, cluster: str | None) -> None:
    """Raise OtherWorkers if the store's owner does not use the cluster at an address.

    An owner of other code is no obstacle: it leaves the store to this code.
    """
    path = real_path(path)
    if not cluster or not is_owned(path):
        return
    owner = named_owner(path)
    if owner.code == version.CODE and owner.cluster.removeprefix(TCP) != cluster.removeprefix(TCP):
        workers = f"workers of {owner.cluster}" if owner.cluster else "workers of this computer"
        raise OtherWorkers(
            f"--cluster {cluster} would not be used, since process {owner.process} owns {path} and computes on {workers}; leave "
            "--cluster out to let it compute these points too, or give another store with --store FILE."
        )


@contextmanager
def _last_words(path: Path) -> Iterator[None]:
    """Write the sentence of an error that ends the block beside the store."""
    try:
        yield
    except EmberpoolError as error:
        with suppress(OSError):
            make_private_file(_words_file(path))
            _words_file(path).write_text(str(error), encoding="utf-8")
        raise


def _words_file(path: Path) -> Path:
    return Path(f"{path}.words")


def ensure_service(path: Path, n_jobs: int | None = None, idle_exit_seconds: float = IDLE_EXIT_SECONDS) -> str:
    """Start an owner of the store in the background, unless the store has one.

    Return a sentence if the owner could not be started, else "". The function is cheap, so a client can call it each time it
    reads a status. The owner outlives the caller, writes its messages into a file next to the store, and ends when it is idle. No
    second owner is started while the first is still starting.
    """
    path = real_path(path)
    if version.code_has_changed():
        return CODE_CHANGED
    if is_owned(path):
        return _other_owner_note(path)
    log_file = Path(f"{path}.log")
    if log_file.exists() and 0 <= time.time() - log_file.stat().st_mtime < START_SECONDS:
        return _start_failure(path)
    command = [sys.executable, "-m", version.PACKAGE, "serve", "--store", str(path), "--idle-exit", str(idle_exit_seconds)]
    command += ["--jobs", str(n_jobs)] if n_jobs else []
    try:
        _words_file(path).unlink(missing_ok=True)
        make_private_file(log_file)
        with log_file.open("wb") as log:
            _start_apart(command, log)
    except (OSError, subprocess.SubprocessError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        return f"The background service cannot be started: {reason}; free some memory, and some space beside {path}."
    return ""


def _other_owner_note(path: Path) -> str:
    """Return why a store's owner does not compute for this code.

    "" if it does or will soon end.
    """
    owner = named_owner(path)
    if owner.code == version.CODE:
        return ""
    with open_store(path) as store:
        if not queue.newest_has_other_code(store):
            return ""
    later = "is computing requests that were made later; these points follow"
    return f"Process {owner.process}, of another version of Emberpool, {later}."


def _start_apart(command: Sequence[str], log: IO[bytes]) -> None:
    """Start a process through a shell that ends at once, to avoid zombies."""
    subprocess.run(
        ["sh", "-c", '"$@" &', "sh", *command],
        cwd=version.IMPORTED_FROM,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        check=True,
    )


def _start_failure(path: Path) -> str:
    """Return why a started service ended without owning its store.

    "" if it may still begin.
    Only the service's own sentence is returned, as plain text: workers and libraries write to the log too.
    """
    try:
        raw_words = _words_file(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        log = Path(f"{path}.log")
        return f"The background service ended without a message; {log} may have the reason." if log.stat().st_size else ""
    words = "".join(letter if letter.isprintable() else " " for letter in raw_words)
    words = " ".join(words.split())[:MAX_WORDS_CHARACTERS].rstrip(".")
    return f"The background service ended: {words}. It is started again every few seconds."
