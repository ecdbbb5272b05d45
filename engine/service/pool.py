"""The pool that computes chunks: worker processes of this computer, or (engine/service/dask_pool.py) a cluster."""

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

from joblib import Parallel, delayed, parallel_config
from joblib._parallel_backends import LokyBackend
from joblib.executor import get_memmapping_executor
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import BACKENDS

from ..errors import CannotRun
from . import computations
from .worker import NAP_SECONDS, Chunk, ChunkEnd, compute_chunk, nap, settle

START_REMEDY = "free some space in /dev/shm and some memory, or start fewer with --jobs"
Task = tuple[Callable[..., ChunkEnd], tuple[Any, ...], dict[str, Any]]
Call = Callable[[Iterator[Task]], Any]  # gives answers as they come, and can be closed
Note = Callable[[ChunkEnd], None]
Store = sqlite3.Connection


@dataclass(frozen=True)
class WorkerPool:
    """So many points at once, and how they get there and back; the same service runs on each kind.

    `parallel` holds joblib's call, `task` makes one of a chunk, `keep` puts an answer's endings into the store, `tend` looks
    after what runs, and `close` ends what was started. `deaths` are the errors that mean that workers died, after which
    `rest` waits for what this process computes itself; once a pool is `stale`, a new call would do better. A `prompt`
    one notes answers when they arrive, others leave that to whoever takes them.
    """

    slots: Callable[[], int]
    parallel: Callable[[Note], AbstractContextManager[Call]]
    task: Callable[[Store, Chunk], Task]
    keep: Callable[[Store, ChunkEnd], None]
    close: Callable[[], None]
    deaths: tuple[type[Exception], ...] = ()
    tend: Callable[[Store], None] = lambda store: None
    stale: Callable[[], bool] = lambda: False
    rest: Callable[[], None] = lambda: None
    prompt: bool = False


class LateDispatch:
    """A mixin of joblib's backends: which task is sent is decided when a worker is free for it.

    joblib pulls tasks several at a time, so it is handed tickets. What goes wrong between its calls is raised at the next one.
    """

    tasks: Iterator[Task]
    over = False
    trouble: Exception | None = None
    nap: Callable[[float, Callable[[Any], Any]], Any]  # answers nothing after some seconds

    def tickets(self, tasks: Iterator[Task]) -> Iterator[Task]:
        """Yield a ticket for each task, until there are no more."""
        self.tasks = tasks
        while not self.over:
            if self.trouble:
                raise self.trouble
            yield napping()

    def submit(self, func: Any, callback: Callable[[Any], Any]) -> Any:
        """Send the task that is due, or nap here: that needs no worker."""
        with self.careful():
            if task := next(self.tasks, None):
                func.items = [task]
                return self.nap(NAP_SECONDS, callback) if task[0] is nap else self.send(func, callback)
            self.over = True
        return self.nap(0.0, callback)

    @contextmanager
    def careful(self) -> Iterator[None]:
        """Keep an error for the next ticket: joblib calls from threads in which it would be lost."""
        try:
            yield
        except Exception as error:
            self.trouble = error

    def send(self, func: Any, callback: Callable[[Any], Any]) -> Any:
        """Send a task to the workers."""
        return super().submit(func, callback)  # type: ignore[misc]


class Backend(LateDispatch, LokyBackend):  # type: ignore[misc]
    """joblib's own with a process for each of `slots`; an answer is noted as it arrives, so that the next task follows at once.

    Estimates beside full runs, which hold all slots, are computed by a thread of this process.
    """

    def __init__(self, slots: int, note: Note, own: Executor, **more: Any) -> None:
        super().__init__(inner_max_num_threads=1, **more)
        self.slots, self.note, self.own = slots, note, own
        self.busy: set[Any] = set()

    def configure(self, n_jobs: int = 1, parallel: Any = None, **more: Any) -> int:
        """Take the processes, which may be those of an earlier call; joblib's number has room for a nap beside them."""
        env = self._prepare_worker_env(n_jobs=self.slots)
        self._workers = get_memmapping_executor(self.slots, env=env, context_id=parallel._id, **self.backend_kwargs)
        self.parallel = parallel
        return n_jobs

    def send(self, func: Any, callback: Callable[[Any], Any]) -> Any:
        """Send a task to a worker, or compute it here if all are busy."""
        here = len(self.busy) == self.slots
        with _started():
            future: Any = (self.own if here else self._workers).submit(func)
        if not here:
            self.busy.add(future)
        future.add_done_callback(self._arrived)
        future.add_done_callback(callback)
        return future

    def nap(self, seconds: float, callback: Callable[[Any], Any]) -> Any:
        """Answer nothing after a while."""
        future: Future[list[ChunkEnd]] = Future()
        future.add_done_callback(callback)
        timer = Timer(seconds, future.set_result, [[ChunkEnd()]])
        timer.daemon = True
        timer.start()
        return future

    def _arrived(self, future: Any) -> None:
        self.busy.discard(future)
        if not future.cancelled() and not future.exception():
            with self.careful():
                self.note(*future.result())


@contextmanager
def _started(missing: str = "") -> Iterator[None]:
    """Turn what keeps worker processes from being started into a sentence; `missing` is known before."""
    try:
        if missing:
            raise OSError(missing)
        yield
    except OSError as error:
        raise CannotRun(f"Worker processes cannot be started: {error.strerror or error}; {START_REMEDY}.") from error


def local(path: Path, n_jobs: int) -> WorkerPool:
    """Worker processes of this computer, which claim points and keep their rows themselves."""
    own: list[Executor] = []

    @contextmanager
    def parallel(note: Note) -> Iterator[Call]:
        own[:] = own or [ThreadPoolExecutor(1)]
        backend = Backend(n_jobs, note, own[0], initializer=settle, initargs=(os.getpid(), path))
        with _started("there are no semaphores for joblib" if "loky" not in BACKENDS else ""), parallel_config(backend):
            call = Parallel(n_jobs + 1, pre_dispatch=n_jobs + 1, batch_size=1, return_as="generator_unordered")
            yield lambda tasks: call(backend.tickets(tasks))

    def rest() -> None:
        for thread in own:
            thread.submit(int).result()

    def close() -> None:
        if own:  # lest an executor is made only to be shut down, which cannot be made where the start failed
            own[0].shutdown()
            with suppress(OSError):
                get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)

    return WorkerPool(
        lambda: n_jobs,
        parallel,
        lambda _, chunk: delayed(compute_chunk)(chunk),
        _kept,
        close,
        (BrokenProcessPool,),
        rest=rest,
        prompt=True,
    )


def napping() -> Task:
    """Return the task that does nothing for a moment, after which the owner is asked again for work."""
    task: Task = delayed(nap)()
    return task


def _kept(store: Store, ended: ChunkEnd) -> None:
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
        unwanted = {claim: pid for claim, pid, *_ in computations.unwanted(store)}
        self.since = {claim: self.since.get(claim, now) for claim in unwanted}
        for claim, since in self.since.items():
            if now - since > self.SECONDS and unwanted[claim] != os.getpid():
                self.lost = True
                with suppress(ProcessLookupError):
                    os.kill(unwanted[claim], signal.SIGKILL)
