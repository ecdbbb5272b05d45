"""A day in a store's life, in one process: viewers, workers and the owner take turns, and each answer is noted.

Whatever is done goes through the store's own code. `acknowledged` is called whenever that code has returned.
"""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from sqlite3 import Connection

from engine.results.result import Result
from engine.run.progress import Progress
from engine.scenario.keys import key
from engine.service import computations, history, queue
from engine.store import quota, requests, result_rows
from engine.store.database import open_store
from tests.service_fakes import scenario, scenarios

TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
ARRIVED = {
    "requests": "WHERE state != 'arriving'",
    "points": "WHERE request NOT IN (SELECT id FROM requests WHERE state = 'arriving')",
}
BETWEEN_CHECKPOINTS = 60  # pages; by itself SQLite checkpoints every 1,000, too rarely for a short day


def digest(store: Connection) -> str:
    """Return what tells any two contents of the store apart, but for requests whose points are still arriving."""
    hasher = blake2b(digest_size=16)
    for (table,) in store.execute(TABLES).fetchall():
        for row in store.execute(f"SELECT * FROM {table} {ARRIVED.get(table, '')} ORDER BY 1, 2"):
            hasher.update(f"{table}{row!r}".encode())
    return hasher.hexdigest()


def answer(seed: int) -> str:
    """The text of a finished point's result."""
    training = tuple({"Batch": batch, "Loss": seed / (batch + 3)} for batch in range(seed % 7 * 6))
    return result_rows.row_text(
        Result(scenario(seed), ran=True, outcome="It completed.", results={"AUC": seed / 7}, training=training)
    )


class Day:
    """The people around a store: `owner` and two workers stay connected, everyone else comes and goes."""

    def __init__(self, path: Path, acknowledged: Callable[[], None]) -> None:
        self.path, self.acknowledged = path, acknowledged
        self.stack = ExitStack()
        self.owner, self.worker, self.second_worker = (self._connected() for _ in range(3))

    def _connected(self) -> Connection:
        store = self.stack.enter_context(open_store(self.path))
        store.execute(f"PRAGMA wal_autocheckpoint = {BETWEEN_CHECKPOINTS}")
        self.acknowledged()
        return store

    def submit(self, seeds: Iterable[int]) -> int:
        """A viewer asks for points."""
        request = requests.submit(self.path, scenarios(list(seeds)), "full")
        self.acknowledged()
        return request

    def compute(self, worker: Connection, request: int, seeds: Iterable[int], ending: str = "kept") -> None:
        """A worker claims points, tells progress, and closes them together."""
        by_name = {key(scenario(seed), "full"): seed for seed in seeds}
        claims = computations.claim_points(worker, request, list(by_name))
        self.acknowledged()
        for name in claims[:1]:
            computations.report_progress(worker, name, Progress(1, 2, note="halfway"))
            self.acknowledged()
        refusal = "run.batches=1 is made up to be refused; choose 2."
        computations.close_claims(
            worker, [(name, ending, answer(by_name[name]) if ending == "kept" else refusal) for name in claims]
        )
        self.acknowledged()

    def tend(self) -> None:
        """The owner looks after the requests."""
        requests.end_requests(self.owner)
        self.acknowledged()


def morning(path: Path, acknowledged: Callable[[], None]) -> None:
    """The store is made; visitors come one by one, so that each one's leaving empties the log."""
    requests.submit(path, scenarios([1, 2]), "full")
    acknowledged()
    request = requests.submit(path, scenarios([2, 3]), "estimate")
    acknowledged()
    requests.renew_lease(path, request, requests.COMMAND)
    requests.cancel(path, request, requests.COMMAND)
    acknowledged()


def noon(day: Day) -> None:
    """Two workers share two requests; one of them dies, a point is refused, a row is found damaged."""
    first, second = day.submit(range(10, 40)), day.submit(range(30, 50))
    for seed in range(10, 38, 4):
        day.compute(day.worker, first, range(seed, seed + 2))
        day.compute(day.second_worker, second, range(seed + 20, seed + 22))
        day.tend()
    computations.claim_points(day.worker, second, [key(scenario(48), "full")])
    day.acknowledged()
    computations.close_open_claims(day.owner, "died")
    day.acknowledged()
    day.compute(day.second_worker, second, [49], "failed")
    day.owner.execute("UPDATE results SET result = '{' WHERE key = ?", (key(scenario(10), "full"),))
    day.acknowledged()
    assert result_rows.load_result(day.worker, key(scenario(10), "full")) is None
    day.acknowledged()


def evening(day: Day) -> None:
    """The owner changes, the rest is finished; some of it is held, some deleted, and much has to make room."""
    queue.resume_requests(day.owner)
    day.acknowledged()
    request = day.submit(range(48, 52))
    day.compute(day.worker, request, range(48, 52))
    day.tend()
    history.pin(day.path, [request], True, requests.COMMAND)
    day.acknowledged()
    history.delete(day.path, [request - 1], requests.COMMAND)
    day.acknowledged()
    quota.set_quota(day.path, 1 / quota.GiB)
    day.acknowledged()
    quota.note_use(day.worker, [key(scenario(48), "full")])
    day.acknowledged()
    while quota.used_bytes(day.owner) > quota.SLACK * quota.quota_bytes(day.owner) and quota.drop_oldest(day.owner, 4):
        day.acknowledged()
    quota.shrink(day.owner)
    day.acknowledged()


def whole_day(path: Path, acknowledged: Callable[[], None]) -> None:
    """Live through it all."""
    morning(path, acknowledged)
    day = Day(path, acknowledged)
    with day.stack:
        noon(day)
        evening(day)
    acknowledged()
