"""The Dask pool: computes chunks on other computers, whose workers have no store.

A chunk is some points of one request. The owner claims the points before it sends the chunk, and stores the returned results. So
each result is stored once, whichever process dies. A worker accepts work only from an owner with the same engine code and
NumPy, and trains only for an owner with the same Python.
"""

import time
from contextlib import suppress
from functools import partial
from importlib import import_module
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any

from .. import version
from ..core.arithmetic import NUMPY, PYTHON, total
from ..errors import BadInput, CannotRun
from ..run import progress
from ..store import trainings
from . import computations
from .pool import Store
from .worker import CODE_CHANGED, Chunk, ChunkAnswer, point_endings

TOPIC = "emberpool progress"
CONNECT_SECONDS, TELL_SECONDS, GONE_SECONDS = 10.0, 2.0, 20.0
KILLER = (
    "The computation ended the cluster's workers again and again, which may have too little memory: lower data.batch_size, "
    "run.batches or run.memory_budget_GiB, or start workers with more memory."
)
UNWANTED: set[tuple[str, str]] = set()  # on a worker: task and key of points that no request waits for any more
_CHUNK_LOCK = Lock()


def compute_on_cluster(chunk: Chunk, wanted_keys: tuple[str, ...], training_text: str) -> ChunkAnswer:
    """Compute the wanted points of a chunk on a worker; return their endings.

    A worker process computes one chunk at a time.
    training_text: the training of the chunk's functional class as JSON, or "" if the owner has none; a new training is returned.
    """
    if trouble := _difference(chunk):
        return ChunkAnswer(chunk.keys, trouble)
    name = chunk.functional_class
    shelf = {name: trainings.training_from_text(training_text)} if name and training_text else {}
    watcher = partial(_watcher, import_module("distributed").get_worker())
    with _CHUNK_LOCK:
        parts = (set(names).intersection(wanted_keys) for names in chunk.parts())
        chunk_endings = [ending for names in parts for ending in point_endings(chunk, names, watcher, shelf if name else None)]
    learned = trainings.training_text(shelf[name]) if name in shelf and not training_text else ""
    return ChunkAnswer(
        chunk.keys, CODE_CHANGED if version.code_has_changed() else "", tuple(chunk_endings), (name or "", learned)
    )


def _difference(chunk: Chunk) -> str:
    """Return the sentence on a worker whose numbers could differ from the owner's; "" if they cannot.

    Time, energy, wear and cost are the same on each Python, so a worker with another Python is refused only for training.
    """
    if chunk.code != version.CODE:
        worker, owner, trouble = f"runs engine {version.CODE}", f"runs {chunk.code}", ""
    elif chunk.numpy != NUMPY:
        worker, owner, trouble = f"has NumPy {NUMPY}", f"has NumPy {chunk.numpy}", ", and last digits could differ"
    elif chunk.python != PYTHON and chunk.trains:
        worker, owner, trouble = f"has Python {PYTHON}", f"has Python {chunk.python}", ", and trained losses could differ"
    else:
        return ""
    return f"A worker of the cluster {worker}, but this computer {owner}{trouble}; install the same version on both."


def _watcher(worker: Any, key: str) -> progress.Watcher:
    """Return a watcher that sends a point's progress to the owner.

    It stops points without a waiting request.
    """
    task, report_time = worker.get_current_task(), [time.monotonic()]

    def watch(point_progress: progress.Progress) -> bool:
        if time.monotonic() - report_time[0] > TELL_SECONDS:
            report_time[0] = time.monotonic()
            worker.log_event(TOPIC, {"key": key, "progress": point_progress.as_json()})
        return (task, key) in UNWANTED

    return watch


async def stop_points(points: set[tuple[str, str]]) -> None:
    """Make a worker stop these points when they next report progress.

    The function is a coroutine, because Dask runs other functions only after all running calls.
    """
    UNWANTED.update(points)


class Cluster:
    """A Dask cluster as the owner of a store uses it.

    Raises BadInput if Dask is not installed, and CannotRun if the scheduler does not answer or has no worker for some seconds.
    """

    def __init__(self, address: str) -> None:
        self.client, self.address = _client(address), address
        self.client.subscribe_topic(TOPIC, lambda event: self.told.update({event[1]["key"]: event[1]["progress"]}))
        self.told: dict[str, dict[str, Any]] = {}
        self.flying: dict[Any, Chunk] = {}  # by Dask's future
        self.answers: SimpleQueue[Any] = SimpleQueue()  # futures that are done
        self.cores, self.heard = 0, time.monotonic()

    @property
    def slots(self) -> int:
        """The number of chunks to send at once: two per core.

        So a worker has its next chunk before it ends the last one.
        """
        return max(2, 2 * self.cores)

    def send(self, store: Store, chunk: Chunk, beside_runs: bool) -> None:
        """Claim the points of a chunk, and send the wanted points to a worker.

        The owner holds the claims, since the workers have no store.
        """
        if self.client.status not in ("running", "connecting"):
            raise self._no_scheduler_error()
        wanted_keys = tuple(computations.claim_points(store, chunk.turn.request, chunk.keys))
        training = trainings.load_training(store, chunk.functional_class) if chunk.functional_class else None
        future = self.client.submit(
            compute_on_cluster, chunk, wanted_keys, trainings.training_text(training) if training else "", pure=False
        )
        self.flying[future] = chunk
        future.add_done_callback(self.answers.put)

    def answer(self, store: Store, seconds: float) -> ChunkAnswer | None:
        """Return the next answer, with its results stored durably, or None after `seconds`.

        If a worker has died, an answer says so.
        """
        try:
            future = self.answers.get(timeout=seconds)
        except Empty:
            return None
        chunk = self.flying.pop(future)
        try:
            chunk_end: ChunkAnswer = future.result()
        except Exception as error:
            chunk_end = lost_chunk_end(chunk, error)
        keep_chunk_end(store, chunk_end)
        return chunk_end

    def supervise(self, store: Store) -> None:
        """Write the reported progress to the store, and stop points that no request waits for.

        Raises CannotRun if the scheduler has stopped.
        """
        with suppress(OSError, TimeoutError):
            if self.client.status == "running" and (cores := total(self.client.ncores().values()) or self.cores):
                self.cores, self.heard = cores, time.monotonic()
        if time.monotonic() - self.heard > GONE_SECONDS:
            raise self._no_scheduler_error()
        while self.told:
            key, snapshot = self.told.popitem()
            computations.report_progress(store, key, progress.from_json(snapshot))
        unwanted = set(computations.unwanted_claims(store).values())
        if points := {(future.key, key) for future, chunk in self.flying.items() for key in unwanted.intersection(chunk.keys)}:
            self.client.run(stop_points, points, wait=False)

    def _no_scheduler_error(self) -> CannotRun:
        remedy = (
            f"check that it runs, start workers with `dask worker {self.address} --nthreads 1`, and run the same command again "
            "to continue"
        )
        return CannotRun(f"The scheduler at {self.address} has stopped or has no worker; finished points are kept: {remedy}.")

    def end_workers(self, store: Store) -> None:
        """Do nothing: `answer` reports the deaths of a cluster's workers."""

    def close(self) -> None:
        """Disconnect from the scheduler."""
        self.client.close()


def _client(address: str) -> Any:
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise BadInput("--cluster needs Dask; install it with `pip install -r requirements-dask.txt`.") from error
    try:
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise CannotRun(
            f"No Dask scheduler answers at {address}; start one as docs/cluster.md says, or check --cluster."
        ) from error


def keep_chunk_end(store: Store, chunk_end: ChunkAnswer) -> None:
    """Store the results of an answer durably, and count the deaths of workers.

    Points that were not reached can be sent again.
    """
    name, learned = chunk_end.training
    if learned:
        trainings.StoreShelf(store)[name] = trainings.training_from_text(learned)
    computations.close_claims(store, [*((key, "returned", "") for key in chunk_end.keys), *chunk_end.endings])
    computations.fail_killers(store)


def lost_chunk_end(chunk: Chunk, error: Exception) -> ChunkAnswer:
    """Return the answer for a chunk that Dask could not compute.

    `error` is the exception that Dask raised after several tries.
    """
    name, keys = type(error).__name__, chunk.keys
    if name == "KilledWorker":
        ending = ("died", "") if len(keys) > 1 else ("bug", KILLER)
    elif name in ("CancelledError", "FutureCancelledError"):
        ending = ("stopped", "")
    else:
        return ChunkAnswer(
            keys, f"The workers cannot compute ({name}: {error}); start them and the scheduler with this Emberpool on PYTHONPATH."
        )
    return ChunkAnswer(keys, endings=tuple((key, *ending) for key in keys))
