"""Does the store stay within its quota, by letting go what was used longest ago and nothing that is held?"""

import time
from pathlib import Path

import pytest

from engine.__main__ import main
from engine.scenario.keys import key
from engine.service import computations
from engine.store import columns, quota, requests, status
from engine.store.database import opened
from engine.store.soundness import seal
from tests.service_fakes import ask, kept_result, scenario, scenarios
from tests.store.store_work import answer

LONG = "x" * 20_000


def fill(path: Path, seeds: range, pinned: bool = False) -> int:
    """A finished request for these points, each of which takes some 20 kB; used in the order of their seeds."""
    request = requests.submit(path, scenarios(seeds), "full")
    finish(path, request, seeds)
    ask(path, "UPDATE requests SET pinned = ? WHERE id = ?", pinned, request)
    return request


def finish(path: Path, request: int, seeds: range) -> None:
    names = {key(scenario(seed), "full"): seed for seed in seeds}
    with opened(path) as store:
        mine = computations.claim(store, request, list(names))
        computations.close(store, [(name, "kept", answer(names[name]).replace("It completed.", LONG)) for name in mine])
        order = [(time.time() - 1e6 + place, name) for place, name in enumerate(names)]
        store.executemany("UPDATE results SET used = ? WHERE key = ?", order)
        requests.tend(store)


def left(path: Path, seeds: range) -> list[int]:
    names = {name for (name,) in ask(path, "SELECT key FROM results")}
    return [seed for seed in seeds if key(scenario(seed), "full") in names]


def tidy(path: Path, nbytes: int) -> int:
    quota.limit(path, nbytes / quota.GiB)
    with opened(path) as store:
        return quota.keep(store)


def test_results_used_longest_ago_go_first_and_the_file_shrinks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota, "AT_ONCE", 10)
    fill(path, range(60))
    before = path.stat().st_size
    assert tidy(path, before // 2) > 0
    kept_now = left(path, range(60))
    assert 15 < len(kept_now) < 35 and kept_now == list(range(60 - len(kept_now), 60))
    assert path.stat().st_size <= before // 2
    assert ask(path, "SELECT count(*) FROM claims") == [(len(kept_now),)]
    assert tidy(path, before) == 0


def test_what_is_pinned_or_still_asked_for_never_goes(path: Path) -> None:
    fill(path, range(20), pinned=True)
    live = fill(path, range(20, 40))
    fill(path, range(40, 60))
    both = fill(path, range(15, 25))
    ask(path, "UPDATE requests SET state = 'running' WHERE id = ?", live)
    ask(path, "UPDATE results SET used = 0 WHERE key = ?", key(scenario(3), "full"))
    tidy(path, 1)
    assert left(path, range(60)) == list(range(40))
    assert status.status(path, both).total == 10


def test_with_nothing_else_left_the_oldest_lists_of_points_go_and_the_requests_stay(path: Path) -> None:
    asked = [fill(path, range(60)), fill(path, range(60, 70), pinned=True)]
    assert tidy(path, 1) == 61
    counts = [status.status(path, request) for request in asked]
    assert [status.total for status in counts] == [60, 10]
    assert ask(path, "SELECT request, count(*) FROM points GROUP BY request") == [(asked[1], 10)]
    assert requests.latest(path, [key(scenario(seed), "full") for seed in range(60)]) is None


def test_trainings_go_by_age_unless_a_held_request_needs_them(path: Path) -> None:
    pinned = fill(path, range(2), pinned=True)
    for name, created in (("needed", 1.0), ("old", 2.0)):
        ask(path, "INSERT INTO trainings VALUES (?, '{}', '', '', ?, '')", name, created)
    ask(path, "UPDATE points SET class = 'needed' WHERE request = ?", pinned)
    tidy(path, 1)
    assert ask(path, "SELECT class FROM trainings") == [("needed",)]


def test_reading_a_result_keeps_it_from_going(path: Path) -> None:
    fill(path, range(20))
    columns.known(path, [key(scenario(0), "full")])
    used = dict(ask(path, "SELECT key, used FROM results"))
    assert max(used, key=lambda name: float(str(used[name]))) == key(scenario(0), "full")
    columns.known(path, [key(scenario(0), "full")])
    assert dict(ask(path, "SELECT key, used FROM results")) == used  # once an hour is enough


def test_without_room_results_can_still_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path, range(3))
    with opened(path) as store:
        store.execute("CREATE TRIGGER full BEFORE UPDATE ON results BEGIN SELECT raise(ABORT, 'disk is full'); END")
        seal(store)
    assert kept_result(path, scenario(1), "full")


def test_the_owner_keeps_the_quota_that_serve_was_given(path: Path) -> None:
    fill(path, range(70))
    assert main(["serve", "--store", str(path), "--idle-exit", "0", "--quota-GiB", "0.001"]) == 0  # 1.07 MB
    found = quota.usage(path)
    assert found.quota == int(0.001 * quota.GiB) and 30 < found.results < 70
    assert found.used <= found.quota
