"""Where chunks are computed: by worker processes of this computer, or (engine/afar.py) on a cluster."""

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from warnings import catch_warnings

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor

from engine import claims
from engine.errors import CannotRun
from engine.worker import Chunk, Ended, compute_chunk, nap, settle

START_REMEDY = "free some space in /dev/shm and some memory, or start fewer with --jobs"
Task = tuple[Callable[..., Ended], tuple[Any, ...], dict[str, Any]]
Store = sqlite3.Connection


@dataclass(frozen=True)
class Pool:
    """So many points at once, and how they get there and back; the same service runs on each kind.

    `parallel` holds joblib's call, `task` makes one of a chunk, `keep` puts an answer's endings into the store, `tend` looks
    after what runs, and `close` ends what was started. `deaths` are the errors that mean that workers died; once a pool
    is `stale`, a new call would do better.
    """

    slots: Callable[[], int]
    parallel: Callable[[], AbstractContextManager[Parallel]]
    task: Callable[[Store, Chunk], Task]
    keep: Callable[[Store, Ended], None]
    close: Callable[[], None]
    deaths: tuple[type[Exception], ...] = ()
    tend: Callable[[Store], None] = lambda store: None
    stale: Callable[[], bool] = lambda: False


def local(path: Path, n_jobs: int) -> Pool:
    """Worker processes of this computer, which claim points and keep their rows themselves.

    One more than points at once: it keeps napping for the owner, and takes estimates while full runs hold the others.
    """
    used: list[bool] = []

    @contextmanager
    def parallel() -> Iterator[Parallel]:
        used.append(True)
        given = {"initializer": settle, "initargs": (os.getpid(), path)}
        try:  # joblib only warns that it would go on in this process's threads
            with catch_warnings(action="error", category=UserWarning), parallel_config("loky", inner_max_num_threads=1, **given):
                yield Parallel(n_jobs + 1, pre_dispatch=n_jobs + 1, batch_size=1, return_as="generator_unordered")
        except (OSError, UserWarning) as error:
            reason = error.strerror if isinstance(error, OSError) else "there are no semaphores for joblib"
            raise CannotRun(f"Worker processes cannot be started: {reason}; {START_REMEDY}.") from error

    def close() -> None:
        if used:  # lest an executor is made only to be shut down, which cannot be made where the start failed
            with suppress(OSError):
                get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)

    return Pool(lambda: n_jobs, parallel, lambda _, chunk: delayed(compute_chunk)(chunk), _kept, close, (BrokenProcessPool,))


def napping() -> Task:
    """Return the task that does nothing for a moment, after which the owner is asked again for work."""
    task: Task = delayed(nap)()
    return task


def _kept(store: Store, ended: Ended) -> None:
    """Do nothing: the worker has kept its rows."""


class Patience:
    """How long each claim has been unwanted: a worker that does not hear that its run was cancelled gets killed."""

    SECONDS, LOOK_SECONDS = 3.0, 0.5

    def __init__(self) -> None:
        self.since: dict[int, float] = {}
        self.next = 0.0
        self.lost = False

    def tend(self, store: Store) -> None:
        """Look now and then for workers that go on with what nobody waits for, and end those that do so for long."""
        now = time.monotonic()
        if now < self.next:
            return
        self.next = now + self.LOOK_SECONDS
        unwanted = {claim: pid for claim, pid, *_ in claims.unwanted(store)}
        self.since = {claim: self.since.get(claim, now) for claim in unwanted}
        for claim, since in self.since.items():
            if now - since > self.SECONDS and unwanted[claim] != os.getpid():
                self.lost = True
                with suppress(ProcessLookupError):
                    os.kill(unwanted[claim], signal.SIGKILL)
