"""The Dask pool: chunks on other computers; workers without a store bring their results back.

The owner claims a chunk's points when it sends it, and keeps what comes back: so whatever dies on the way, a point is kept
once. A worker is given work only by an owner with the very same engine.
"""

import time
from contextlib import suppress
from functools import partial
from importlib import import_module
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any

from .. import version
from ..errors import BadInput, CannotRun
from ..run import progress
from ..store import trainings
from . import computations
from .pool import Store
from .worker import CHANGED, Chunk, ChunkEnd, endings

TOPIC = "emberpool progress"
CONNECT_SECONDS, TELL_SECONDS, GONE_SECONDS = 10.0, 2.0, 20.0
KILLER = (
    "The computation killed the cluster's workers again and again; they may have too little memory: "
    "lower data.batch_size, run.batches or run.memory_budget_GiB, or start workers with more."
)
UNWANTED: set[tuple[str, str]] = set()  # on a worker: task and key of points that nobody waits for any more
_ALONE = Lock()


def compute_afar(chunk: Chunk, wanted: tuple[str, ...], known: str) -> ChunkEnd:
    """On a worker: compute the chunk's wanted points and bring their endings back; one chunk at a time in a process.

    `known` is the training of the chunk's functional class, if the owner has it; one that is trained here comes back as well.
    """
    if chunk.code != version.CODE:
        trouble = f"A worker of the cluster runs engine {version.CODE}, and this is {chunk.code}; install the same everywhere."
        return ChunkEnd(chunk.keys, trouble)
    name = chunk.functional_class
    shelf = {name: trainings.from_text(known)} if name and known else {}
    watcher = partial(_watcher, import_module("distributed").get_worker())
    with _ALONE:
        parts = (set(names).intersection(wanted) for names in chunk.parts())
        found = [one for names in parts for one in endings(chunk, names, watcher, shelf if name else None)]
    learned = trainings.text(shelf[name]) if name in shelf and not known else ""
    return ChunkEnd(chunk.keys, CHANGED if version.code_has_changed() else "", tuple(found), (name or "", learned))


def _watcher(worker: Any, key: str) -> progress.Watcher:
    """Tells the owner how far the point is, every now and then, and stops what nobody waits for."""
    task, told = worker.get_current_task(), [time.monotonic()]

    def watch(now: progress.Progress) -> bool:
        if time.monotonic() - told[0] > TELL_SECONDS:
            told[0] = time.monotonic()
            worker.log_event(TOPIC, {"key": key, "progress": now.as_json()})
        return (task, key) in UNWANTED

    return watch


async def forget(points: set[tuple[str, str]]) -> None:
    """On a worker: stop these points at their next progress; a coroutine, since Dask waits for all else that it runs."""
    UNWANTED.update(points)


class Cluster:
    """The owner's end. Raises BadInput without Dask, CannotRun without a scheduler or, for some seconds, without a worker."""

    def __init__(self, address: str) -> None:
        self.client, self.address = _client(address), address
        self.client.subscribe_topic(TOPIC, lambda event: self.told.update({event[1]["key"]: event[1]["progress"]}))
        self.told: dict[str, dict[str, Any]] = {}
        self.flying: dict[Any, Chunk] = {}  # by Dask's future
        self.answers: SimpleQueue[Any] = SimpleQueue()  # futures that are done
        self.cores, self.heard = 0, time.monotonic()

    @property
    def slots(self) -> int:
        """How many chunks may be under way: two for each core, lest a worker waits for its next."""
        return max(2, 2 * self.cores)

    def send(self, store: Store, chunk: Chunk, beside: bool) -> None:
        """Claim the chunk's points in the owner's name and send those that are wanted."""
        if self.client.status not in ("running", "connecting"):
            raise self._gone()
        wanted = tuple(computations.claim(store, chunk.turn.request, chunk.keys))
        found = trainings.load(store, chunk.functional_class) if chunk.functional_class else None
        future = self.client.submit(compute_afar, chunk, wanted, trainings.text(found) if found else "", pure=False)
        self.flying[future] = chunk
        future.add_done_callback(self.answers.put)

    def answer(self, store: Store, seconds: float) -> ChunkEnd | None:
        """Return the next answer, and keep what came back, durably; a death is an answer, too."""
        try:
            future = self.answers.get(timeout=seconds)
        except Empty:
            return None
        chunk = self.flying.pop(future)
        try:
            ended: ChunkEnd = future.result()
        except Exception as error:
            ended = lost(chunk, error)
        keep(store, ended)
        return ended

    def tend(self, store: Store) -> None:
        """Pass progress on to viewers, tell workers what nobody waits for, notice that the scheduler is gone."""
        with suppress(OSError, TimeoutError):
            if self.client.status == "running" and (cores := sum(self.client.ncores().values()) or self.cores):
                self.cores, self.heard = cores, time.monotonic()
        if time.monotonic() - self.heard > GONE_SECONDS:
            raise self._gone()
        while self.told:
            key, told = self.told.popitem()
            computations.report(store, key, progress.from_json(told))
        unwanted = set(computations.unwanted(store).values())
        if points := {(future.key, key) for future, chunk in self.flying.items() for key in unwanted.intersection(chunk.keys)}:
            self.client.run(forget, points, wait=False)

    def _gone(self) -> CannotRun:
        remedy = f"see that it runs, start some with `dask worker {self.address} --nthreads 1`, and run the same again to go on"
        return CannotRun(f"The scheduler at {self.address} is gone or has no worker; finished points are kept: {remedy}.")

    def bury(self, store: Store) -> None:
        """Do nothing: a cluster's deaths are answers."""

    def close(self) -> None:
        """Leave the scheduler."""
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
            f"No Dask scheduler answers at {address}; start one with `dask scheduler`, or check --cluster."
        ) from error


def keep(store: Store, ended: ChunkEnd) -> None:
    """Keep what came back, durably, count deaths, and open again what was not reached."""
    name, learned = ended.training
    if learned:
        trainings.StoreShelf(store)[name] = trainings.from_text(learned)
    computations.close(store, [*((key, "returned", "") for key in ended.keys), *ended.endings])
    computations.blame(store)


def lost(chunk: Chunk, error: Exception) -> ChunkEnd:
    """Return the answer for a chunk that Dask gave up: Dask has tried a single point often enough to be sure."""
    name, keys = type(error).__name__, chunk.keys
    if name == "KilledWorker":
        ending = ("died", "") if len(keys) > 1 else ("bug", KILLER)
    elif name in ("CancelledError", "FutureCancelledError"):
        ending = ("stopped", "")
    else:
        return ChunkEnd(keys, f"The workers cannot compute ({name}: {error}); start them with the same Emberpool on PYTHONPATH.")
    return ChunkEnd(keys, endings=tuple((key, *ending) for key in keys))
