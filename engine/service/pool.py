"""The pool that computes chunks: worker processes of this computer; `dask_pool` has that of a cluster, with the same methods."""

import os
import signal
import sqlite3
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from loky import ProcessPoolExecutor
from loky.backend.context import LokyContext

from ..errors import CannotRun
from ..store.owner import await_workers
from . import computations
from .worker import Chunk, ChunkEnd, compute_chunk, settle

EXIT_SECONDS = 5.0
IDLE_SECONDS = 300  # after which a worker without work leaves
PATIENCE_SECONDS = 3.0
MOST_FALSE_STARTS = 5
LIBRARIES = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "VECLIB_MAXIMUM", "NUMBA_NUM", "NUMEXPR_NUM")
# Joblib registers a context of its own under loky's name, so the executor is given the one that fits it.
WORKERS: Any = {"env": {f"{library}_THREADS": "1" for library in LIBRARIES}, "context": LokyContext()}
Store = sqlite3.Connection


class LocalPool:
    """Worker processes of this computer, which claim points and keep their rows themselves.

    A worker that goes on with what nobody waits for, since it does not hear that its run was cancelled, gets killed.
    """

    def __init__(self, path: Path, n_jobs: int) -> None:
        self.path, self.slots = path, n_jobs
        self.answers: SimpleQueue[Future[ChunkEnd]] = SimpleQueue()
        self.workers: Any = None  # loky's, from the first chunk on
        self.own: Executor | None = None  # a thread of this process
        self.since: dict[int, float] = {}  # by claim, since when nobody has waited for it
        self.killed, self.false_starts = False, 0

    def send(self, store: Store, chunk: Chunk, beside: bool) -> None:
        """Send a chunk to a worker; what goes beside full runs is computed by a thread of this process. Raises CannotRun."""
        given = {"initializer": settle, "initargs": (os.getpid(), self.path), **WORKERS}
        try:
            if beside:
                executor = self.own = self.own or ThreadPoolExecutor(1)
            else:
                executor = self.workers = self.workers or ProcessPoolExecutor(self.slots, timeout=IDLE_SECONDS, **given)
            executor.submit(compute_chunk, chunk).add_done_callback(self.answers.put)
        except OSError as error:
            remedy = "free some space in /dev/shm and some memory, or start fewer with --jobs"
            raise CannotRun(f"Worker processes cannot be started: {error.strerror or error}; {remedy}.") from error

    def answer(self, store: Store, seconds: float) -> ChunkEnd | None:
        """Return the next answer; its rows are there already."""
        try:
            ended = self.answers.get(timeout=seconds).result()
        except Empty:
            return None
        self.false_starts = 0
        return ended

    def tend(self, store: Store) -> None:
        """Look for workers that go on with what nobody waits for, and end those that do so for long."""
        now = time.monotonic()
        unwanted = {claim: pid for claim, pid, _ in computations.unwanted(store)}
        self.since = {claim: self.since.get(claim, now) for claim in unwanted}
        for claim, since in self.since.items():
            if now - since > PATIENCE_SECONDS and unwanted[claim] != os.getpid():
                self.killed = True
                with suppress(ProcessLookupError):
                    os.kill(unwanted[claim], signal.SIGKILL)

    def bury(self, store: Store) -> None:
        """Close the claims of workers that died, once none lives, lest a point is begun twice.

        What was killed here has not died of itself. Raises CannotRun if workers die again and again before they begin.
        """
        self.close()
        await_workers(self.path, EXIT_SECONDS)
        ending, self.killed = "stopped" if self.killed else "died", False
        self.false_starts = 0 if computations.bury(store, ending) else self.false_starts + 1
        if self.false_starts > MOST_FALSE_STARTS:
            raise CannotRun("Worker processes die before they begin; free some memory, or start fewer with --jobs.")

    def close(self) -> None:
        """End the workers at once, and the thread when it has done; what they answer now is lost."""
        if self.workers:
            self.workers.shutdown(wait=True, kill_workers=True)
        if self.own:
            self.own.shutdown()
        self.workers = self.own = None
        self.answers = SimpleQueue()
