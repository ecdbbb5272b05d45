"""The pool of worker processes on this computer.

`dask_pool.Cluster` has the same methods for the workers of a cluster.
"""

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
from .worker import Chunk, ChunkAnswer, compute_chunk, prepare_worker

IDLE_SECONDS = 300  # a worker without work leaves after so long
PATIENCE_SECONDS = 3.0
MOST_FALSE_STARTS = 5
LIBRARIES = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "VECLIB_MAXIMUM", "NUMBA_NUM", "NUMEXPR_NUM")
# Joblib registers a context of its own under loky's name, so the executor gets loky's context explicitly.
WORKERS: Any = {"env": {f"{library}_THREADS": "1" for library in LIBRARIES}, "context": LokyContext()}
Store = sqlite3.Connection


class LocalPool:
    """The worker processes on this computer; they claim points and store results themselves.

    Joblib's pool Loky runs them. If full runs occupy all workers, an extra worker computes estimates. If a worker dies, or does
    not stop a cancelled point, all workers are ended and new ones are started.
    """

    def __init__(self, n_jobs: int) -> None:
        self.slots = n_jobs
        self.answers: SimpleQueue[Future[ChunkAnswer]] = SimpleQueue()
        self.workers: dict[bool, Any] = {}  # False: the usual workers, True: the extra worker
        self.since: dict[int, float] = {}  # by claim, the time since which no request waits for it
        self.ending, self.false_starts = "died", 0

    def send(self, store: Store, chunk: Chunk, beside_runs: bool) -> None:
        """Send a chunk to a worker, or to the extra worker if `beside_runs`.

        Raises CannotRun if no worker can be started.
        """
        try:
            if beside_runs not in self.workers:
                options = {"timeout": IDLE_SECONDS, "initializer": prepare_worker, "initargs": (os.getpid(),), **WORKERS}
                self.workers[beside_runs] = ProcessPoolExecutor(1 if beside_runs else self.slots, **options)
            self.workers[beside_runs].submit(compute_chunk, chunk).add_done_callback(self.answers.put)
        except OSError as error:
            remedy = "free some space in /dev/shm and some memory, or start fewer with --jobs"
            raise CannotRun(f"Worker processes cannot be started: {error.strerror or error}; {remedy}.") from error

    def answer(self, store: Store, seconds: float) -> ChunkAnswer | None:
        """Return the next answer, or None after `seconds`; its results are already stored.

        Raises BrokenProcessPool if a worker has died.
        """
        try:
            chunk_end = self.answers.get(timeout=seconds).result()
        except Empty:
            return None
        self.false_starts = 0
        return chunk_end

    def supervise(self, store: Store) -> None:
        """Raise BrokenProcessPool if a worker does not stop a point that no request waits for."""
        clock_seconds = time.monotonic()
        self.since = {claim: self.since.get(claim, clock_seconds) for claim in computations.unwanted_claims(store)}
        if any(clock_seconds - start_seconds > PATIENCE_SECONDS for start_seconds in self.since.values()):
            self.ending = "stopped"
            raise BrokenProcessPool

    def end_workers(self, store: Store) -> None:
        """End all workers and close their claims, so that no point is computed twice.

        A worker that is ended because it did not stop counts as stopped, not as dead. Raises CannotRun if workers die repeatedly
        before they compute a point.
        """
        self.close()
        ending, self.ending = self.ending, "died"
        self.false_starts = 0 if computations.close_open_claims(store, ending) else self.false_starts + 1
        if self.false_starts > MOST_FALSE_STARTS:
            raise CannotRun("Worker processes end before they begin to compute; free some memory, or start fewer with --jobs.")

    def close(self) -> None:
        """End the workers at once, without waiting for their answers."""
        for workers in self.workers.values():
            workers.shutdown(wait=True, kill_workers=True)
        self.workers, self.answers = {}, SimpleQueue()
