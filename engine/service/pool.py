"""The pool that computes chunks: worker processes of this computer; `dask_pool` has that of a cluster, with the same methods."""

import os
import sqlite3
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from queue import Empty, SimpleQueue
from typing import Any

from loky import ProcessPoolExecutor
from loky.backend.context import LokyContext

from ..errors import CannotRun
from . import computations
from .worker import Chunk, ChunkEnd, compute_chunk, settle

IDLE_SECONDS = 300  # after which a worker without work leaves
PATIENCE_SECONDS = 3.0
MOST_FALSE_STARTS = 5
LIBRARIES = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "VECLIB_MAXIMUM", "NUMBA_NUM", "NUMEXPR_NUM")
# Joblib registers a context of its own under loky's name, so the executor is given the one that fits it.
WORKERS: Any = {"env": {f"{library}_THREADS": "1" for library in LIBRARIES}, "context": LokyContext()}
Store = sqlite3.Connection


class LocalPool:
    """Worker processes of this computer, which claim points and keep their rows themselves; loky, joblib's pool, runs them.

    One more, started when it is needed, computes estimates beside full runs that hold all others. If a worker dies, or goes
    on with what nobody waits for since it does not hear that its run was cancelled, all end and others begin.
    """

    def __init__(self, n_jobs: int) -> None:
        self.slots = n_jobs
        self.answers: SimpleQueue[Future[ChunkEnd]] = SimpleQueue()
        self.workers: dict[bool, Any] = {}  # by whether they compute beside others
        self.since: dict[int, float] = {}  # by claim, since when nobody has waited for it
        self.ending, self.false_starts = "died", 0

    def send(self, store: Store, chunk: Chunk, beside: bool) -> None:
        """Send a chunk to a worker. Raises CannotRun."""
        try:
            if beside not in self.workers:
                given = {"timeout": IDLE_SECONDS, "initializer": settle, "initargs": (os.getpid(),), **WORKERS}
                self.workers[beside] = ProcessPoolExecutor(1 if beside else self.slots, **given)
            self.workers[beside].submit(compute_chunk, chunk).add_done_callback(self.answers.put)
        except OSError as error:
            remedy = "free some space in /dev/shm and some memory, or start fewer with --jobs"
            raise CannotRun(f"Worker processes cannot be started: {error.strerror or error}; {remedy}.") from error

    def answer(self, store: Store, seconds: float) -> ChunkEnd | None:
        """Return the next answer, whose rows are there already. Raises BrokenProcessPool for a death."""
        try:
            ended = self.answers.get(timeout=seconds).result()
        except Empty:
            return None
        self.false_starts = 0
        return ended

    def tend(self, store: Store) -> None:
        """Look for workers that go on with what nobody waits for; raises BrokenProcessPool for one that does so for long."""
        now = time.monotonic()
        self.since = {claim: self.since.get(claim, now) for claim in computations.unwanted(store)}
        if any(now - since > PATIENCE_SECONDS for since in self.since.values()):
            self.ending = "stopped"
            raise BrokenProcessPool

    def bury(self, store: Store) -> None:
        """End all workers and close their claims, lest a point is begun twice.

        What is ended here has not died of itself. Raises CannotRun if workers die again and again before they begin.
        """
        self.close()
        ending, self.ending = self.ending, "died"
        self.false_starts = 0 if computations.bury(store, ending) else self.false_starts + 1
        if self.false_starts > MOST_FALSE_STARTS:
            raise CannotRun("Worker processes die before they begin; free some memory, or start fewer with --jobs.")

    def close(self) -> None:
        """End the workers at once; what they answer now is lost."""
        for workers in self.workers.values():
            workers.shutdown(wait=True, kill_workers=True)
        self.workers, self.answers = {}, SimpleQueue()
