"""Is what is asked for taken up once, in fair turns, within bounds, and only as long as someone waits?"""

import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from engine.errors import BadInput
from engine.run.progress import Progress
from engine.scenario.keys import key
from engine.scenario.scenario import with_values
from engine.service import computations, queue, service
from engine.service.dispatch import Dispatcher
from engine.service.pool import LocalPool
from engine.service.worker import Chunk, ChunkAnswer
from engine.store import requests, status
from engine.store.database import open_store
from engine.store.requests import AT_ONCE, Limit
from tests import ROOT
from tests.service_fakes import COMPUTE, KILLER, ask, computing_here, scenario, scenarios


def serve(store: Path, jobs: int = 2) -> None:
    service.serve(store, jobs, idle_exit_seconds=0.0, compute=COMPUTE)


class Fed:
    """A feed whose chunks are handed out here, and answered when the test says so."""

    def __init__(self, store: Path, slots: int) -> None:
        self.opened = open_store(store)
        self.feed = Dispatcher(self.opened.__enter__(), store, COMPUTE)
        self.slots = slots

    def next(self) -> Chunk | None:
        """The next chunk, or None where nothing is due."""
        chunk, _ = next(self.feed.due_chunks(self.slots), (None, False))
        return chunk

    def done(self, chunk: Chunk) -> None:
        computations.claim_points(self.feed.store, chunk.turn.request, chunk.keys)
        computations.close_claims(self.feed.store, [(name, "kept", "{}") for name in chunk.keys])
        self.feed.note_answer(ChunkAnswer(chunk.keys))


def test_owners_take_turns_and_their_requests_take_turns_within(store: Path) -> None:
    sessions = {100: "one tab", 200: "another tab", 300: ""}  # tabs of one owner get no turns of their own
    busy = [
        requests.submit(store, scenarios(range(n, n + 9)), "full", owner="visitor a", session=tab) for n, tab in sessions.items()
    ]
    calm = requests.submit(store, scenarios(range(9)), "full", owner="visitor b")
    fed, order = Fed(store, 1), []
    for _ in range(8):
        chunk = fed.next()
        assert chunk and fed.next() is None  # one slot: nothing is due while the chunk runs
        order.append(chunk.turn.request)
        fed.done(chunk)
    assert order == [busy[0], calm, busy[1], calm, busy[2], calm, busy[0], calm]


def test_estimates_run_beside_full_runs_that_hold_every_slot_and_full_runs_do_not(store: Path) -> None:
    requests.submit(store, scenarios(range(9)), "full", session="long")
    fed = Fed(store, 2)
    runs = [fed.next(), fed.next()]
    assert all(runs) and fed.next() is None
    quick = requests.submit(store, scenarios(range(150)), "estimate", session="quick")
    beside = fed.next()
    assert beside and (beside.turn.request, beside.turn.fidelity) == (quick, "estimate")
    assert fed.next() is None
    fed.done(beside)
    again = fed.next()
    assert again and again.turn.request == quick and not set(again.keys) & set(beside.keys)


def test_what_is_asked_for_again_is_the_same_request_and_another_sessions_stays_its_own(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computing_here(monkeypatch)
    asked = scenarios([1, 2, 1])
    first = requests.submit(store, asked, "estimate", session="mine", title="Mine", link="?a=1")
    assert requests.submit(store, asked, "estimate", session="mine") == first
    other = requests.submit(store, asked, "estimate", session="yours")
    assert other != first
    requests.cancel(store, other, requests.COMMAND)
    assert (status.status(store, first).state, status.status(store, other).state) == ("queued", "cancelled")
    serve(store)
    assert requests.submit(store, asked, "estimate", session="a third") == other
    assert (status.status(store, other).state, status.status(store, other).finished_points) == ("done", 3)
    assert ask(store, "SELECT count(*) FROM points") == [(6,)]
    assert ask(store, "SELECT count(*) FROM claims") == [(2,)]


@pytest.mark.slow
def test_a_request_whose_results_are_gone_is_computed_again_under_its_number(store: Path) -> None:
    request = requests.submit(store, scenarios([1, 2]), "estimate")
    serve(store)
    ask(store, "DELETE FROM results WHERE key = ?", key(scenario(1), "estimate"))
    assert requests.submit(store, scenarios([1, 2]), "estimate") == request
    assert (status.status(store, request).state, status.status(store, request).finished_points) == ("queued", 1)
    serve(store)
    assert status.status(store, request).state == "done"


def test_points_arrive_in_parts_between_which_the_store_is_free(store: Path) -> None:
    class Watched(list):  # type: ignore[type-arg]
        def __iter__(self):  # type: ignore[no-untyped-def]
            for number, one in enumerate(super().__iter__()):
                if number == AT_ONCE:
                    assert ask(store, "SELECT count(*) FROM points") == [(AT_ONCE,)]
                    ask(store, "INSERT INTO progress VALUES ('x', '', 0)")  # would wait for the lock
                    with open_store(store) as connection:
                        assert queue.live_requests(connection, {}) == []
                yield one

    asked = Watched([scenario(1)] * (AT_ONCE + 1))
    request = requests.submit(store, asked, "full")
    assert status.status(store, request).total == AT_ONCE + 1
    assert requests.newest_request(store, [key(scenario(1), "full")] * (AT_ONCE + 1)) == request


@pytest.mark.slow
def test_a_request_whose_asker_was_killed_on_the_way_is_never_served_and_forgotten(store: Path) -> None:
    code = f"""
import os; from pathlib import Path; from engine.store import requests; from tests.service_fakes import scenario
class Asked(list):
    def __iter__(self):
        yield from [scenario(1)] * {AT_ONCE}
        os.kill(os.getpid(), 9)
requests.submit(Path({str(store)!r}), Asked([scenario(1)] * {AT_ONCE + 1}), "full")
"""
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == -signal.SIGKILL
    assert ask(store, "SELECT state FROM requests") == [("arriving",)]
    serve(store)
    assert ask(store, "SELECT count(*) FROM claims") == [(0,)]
    ask(store, "UPDATE requests SET lease_until = 1")
    serve(store)
    assert ask(store, "SELECT (SELECT count(*) FROM requests), (SELECT count(*) FROM points)") == [(0, 0)]


def test_more_than_the_limit_is_refused_before_it_starts_and_leaves_nothing(store: Path) -> None:
    asked = [with_values(one, {"run.batches": 1_000_000, "data.batch_size": 65536}) for one in scenarios(range(4))]
    with pytest.raises(BadInput, match=r"4 points are requested, but at most 3 are possible"):
        requests.submit(store, asked, "full", limit=Limit(3, 1e9))
    with pytest.raises(BadInput, match=r"more than 2 hours of one core"):
        requests.submit(store, asked, "full", limit=Limit(4, 7200.0))
    assert not store.exists() or ask(store, "SELECT count(*) FROM requests") == [(0,)]
    assert requests.submit(store, asked, "estimate", limit=Limit(4, 3600.0))


def test_what_nobody_waits_for_is_not_begun_unless_it_was_asked_to_keep_on(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computing_here(monkeypatch)
    requests.submit(store, scenarios([1]), "estimate")
    alone = requests.submit(store, scenarios([2]), "estimate", keeps_on=True)
    ask(store, "UPDATE requests SET lease_until = ?", time.time() - 1)
    serve(store)
    assert ask(store, "SELECT key FROM results") == [(key(scenario(2), "estimate"),)]
    assert status.status(store, alone).state == "done"


def test_a_clock_that_was_set_back_lengthens_no_lease_and_forward_ends_none_that_is_renewed(store: Path) -> None:
    request = requests.submit(store, scenarios([1]), "full")

    def lease() -> float:
        return float(str(ask(store, "SELECT lease_until FROM requests")[0][0])) - time.time()

    ask(store, "UPDATE requests SET lease_until = lease_until + 3600")  # as seen an hour earlier
    with open_store(store) as connection:
        requests.end_requests(connection)
    assert lease() <= requests.LEASE_SECONDS
    for hour in (3600, -3600):
        ask(store, "UPDATE requests SET lease_until = lease_until + ?", hour)
        requests.renew_lease(store, request, requests.COMMAND)
        assert requests.LEASE_SECONDS / 2 <= lease() <= requests.LEASE_SECONDS


def test_a_worker_that_lost_its_claim_while_it_was_stopped_keeps_nothing(store: Path) -> None:
    request = requests.submit(store, scenarios([1]), "full")
    name = key(scenario(1), "full")
    with open_store(store) as connection:
        assert computations.claim_points(connection, request, [name]) == [name]
        computations.close_open_claims(connection, "abandoned")
        connection.execute("INSERT INTO claims (key, pid, started) VALUES (?, 1, 0)", (name,))  # another's
        computations.close_claims(connection, [(name, "kept", "{}")])
    assert ask(store, "SELECT count(*) FROM results") == [(0,)]
    assert ask(store, "SELECT ending FROM claims ORDER BY id") == [("abandoned",), (None,)]


def test_a_worker_is_given_time_to_hear_that_its_run_was_cancelled(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = requests.submit(store, scenarios([1]), "full")
    pool = LocalPool(1)
    with open_store(store) as connection:
        computations.claim_points(connection, request, [key(scenario(1), "full")])
        for now, cancelled in ((0.0, False), (10.0, False), (11.0, True), (13.0, True)):
            if cancelled:
                requests.cancel(store, request, requests.COMMAND)
            monkeypatch.setattr(time, "monotonic", lambda now=now: now)
            pool.supervise(connection)
        monkeypatch.setattr(time, "monotonic", lambda: 14.1)
        with pytest.raises(BrokenProcessPool):
            pool.supervise(connection)
        pool.end_workers(connection)
    assert ask(store, "SELECT ending FROM claims") == [("stopped",)]


def test_after_a_death_estimates_are_tried_in_smaller_groups_until_the_blame_is_certain(store: Path) -> None:
    request = requests.submit(store, [scenario(KILLER), *scenarios(range(1000, 3100))], "estimate")
    fed = Fed(store, 2)
    sizes = []
    while chunk := fed.next():
        sizes.append(len(chunk.keys))
        if key(scenario(KILLER), "estimate") in chunk.keys:
            computations.claim_points(fed.feed.store, request, chunk.keys)
            computations.close_open_claims(fed.feed.store, "died")
            fed.feed.reset()
            if status.failures(store, request):
                break
        else:
            fed.done(chunk)
    assert sizes[0] == 512 and 64 in sizes[1:] and sizes.count(1) >= 1 and len(sizes) < 80
    assert [failure.key for failure in status.failures(store, request)] == [key(scenario(KILLER), "estimate")]


def test_estimates_end_at_the_pace_so_far_and_at_no_known_time_before_the_first(store: Path) -> None:
    request = requests.submit(store, scenarios(range(4)), "estimate")
    fed = Fed(store, 1)
    chunk = fed.next()
    assert chunk and computations.claim_points(fed.feed.store, request, chunk.keys) == list(chunk.keys)
    begun = status.status(store, request)
    assert (begun.state, begun.finished_points, begun.eta_seconds) == ("running", 0, None)
    fed.feed.store.execute("UPDATE requests SET started = ?", (time.time() - 100,))
    computations.close_claims(fed.feed.store, [(chunk.keys[0], "kept", "{}")])
    assert status.status(store, request).eta_seconds == pytest.approx(3 * 100, rel=0.2)


def test_asking_for_ten_times_the_points_takes_no_more_memory(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Made(Sequence):  # type: ignore[type-arg]
        def __init__(self, size: int) -> None:
            self.size = size

        def __len__(self) -> int:
            return self.size

        def __getitem__(self, number):  # type: ignore[no-untyped-def]
            if number >= self.size:
                raise IndexError
            return made[number % len(made)]

    made = scenarios(range(50))
    monkeypatch.setattr("engine.store.requests.AT_ONCE", 50)
    peaks = []
    for size in (60, 600, 60, 600):  # the first two warm whatever remembers something
        tracemalloc.start()
        requests.submit(store, Made(size), "estimate")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[3] < 2 * peaks[2]  # keys alone of all points, a hundred bytes each, would be more


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds by which the computer's clock is set forward; only the list's sum counts."""
    jumps, time_of_day = [0.0], time.time
    monkeypatch.setattr(time, "time", lambda: time_of_day() + sum(jumps))
    return jumps


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_a_clock_that_is_set_while_an_owner_computes_changes_no_lease_no_time_left_and_no_order(
    store: Path, clock: list[float], jump: float
) -> None:
    mine = requests.submit(store, scenarios(range(4)), "estimate")
    full = requests.submit(store, scenarios([8, 9]), "full")
    fed = Fed(store, 1)
    connection, watch = fed.feed.store, queue.ClockWatch()
    names = [key(one, "estimate") for one in scenarios(range(4))]
    assert computations.claim_points(connection, mine, names) == names
    running = [key(one, "full") for one in scenarios([8, 9])]
    assert computations.claim_points(connection, full, running) == running
    connection.execute("UPDATE requests SET started = started - 100")
    connection.execute("UPDATE claims SET started = started - 100")
    computations.close_claims(connection, [(names[0], "kept", "{}"), (running[0], "kept", "{}")])
    computations.report_progress(connection, running[1], Progress(1, 2))

    def seen() -> list[float | None]:
        views = [status.status(store, request) for request in (mine, full)]
        leases = [float(str(lease)) - time.time() for (lease,) in ask(store, "SELECT lease_until FROM requests")]
        return [*leases, *(view.eta_seconds for view in views), *(point.seconds for view in views for point in view.running)]

    before = seen()
    clock.append(jump)
    for _ in range(2):
        watch.look(connection)
        requests.end_requests(connection)
        assert seen() == pytest.approx(before, abs=5.0)
    ask(store, "UPDATE requests SET code = 'other' WHERE id = ?", requests.submit(store, scenarios([7]), "full"))
    assert queue.newest_has_other_code(connection)


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_the_owner_looks_for_a_clock_that_was_set(
    store: Path, clock: list[float], jump: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    computing_here(monkeypatch)
    monkeypatch.setattr(service, "POLL_SECONDS", 0.0)  # a look before each point
    compute = LocalPool.send

    def send(*words):  # type: ignore[no-untyped-def]
        clock.extend([jump] * (len(clock) == 1))
        compute(*words)

    requests.submit(store, scenarios(range(3)), "full")
    service.serve(store, 1, 0.0, COMPUTE)
    requests.submit(store, scenarios(range(3, 9)), "full")
    monkeypatch.setattr(LocalPool, "send", send)
    service.serve(store, 1, 0.0, COMPUTE)
    assert len(clock) == 2
    (seconds,) = ask(store, "SELECT ended - started FROM requests WHERE id = 2")[0]
    assert 0.0 < float(str(seconds)) < 60.0


def test_viewers_never_see_less_than_no_time(store: Path, clock: list[float]) -> None:
    request = requests.submit(store, scenarios(range(4)), "estimate")
    fed = Fed(store, 1)
    names = [key(one, "estimate") for one in scenarios(range(4))]
    computations.claim_points(fed.feed.store, request, names)
    computations.close_claims(fed.feed.store, [(names[0], "kept", "{}")])
    clock.append(-3600.0)  # and the owner has not yet seen it
    view = status.status(store, request)
    assert view.eta_seconds == 0.0 and [point.seconds for point in view.running] == [0.0]


def test_a_request_that_never_arrived_and_requests_of_a_later_time_keep_their_order_after_a_clock_set_back(
    store: Path, clock: list[float]
) -> None:
    mine = requests.submit(store, scenarios([1]), "full")
    requests.submit(store, scenarios([2]), "full")
    ask(store, "UPDATE requests SET state = 'arriving' WHERE id != ?", mine)
    clock.append(-3600.0)
    with open_store(store) as connection:
        queue.resume_requests(connection)
        requests.end_requests(connection)
        assert [float(str(row[0])) - time.time() <= 121 for row in ask(store, "SELECT lease_until FROM requests")] == [True] * 2
        other = requests.submit(store, scenarios([3]), "full")
        ask(store, "UPDATE requests SET code = 'other' WHERE id = ?", other)
        assert queue.newest_has_other_code(connection)
