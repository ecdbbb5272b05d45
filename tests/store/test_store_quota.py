"""Does the store keep to its quota, by letting go what was used longest ago?"""

import os
import time
from pathlib import Path

import pytest

from engine.__main__ import main
from engine.estimates import estimates
from engine.scenario.keys import key
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.service import computations
from engine.store import metric_columns, quota, requests, result_rows, status
from engine.store.database import open_store
from engine.store.files import side_copy
from engine.store.result_rows import row_text
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
    with open_store(path) as store:
        mine = computations.claim_points(store, request, list(names))
        computations.close_claims(store, [(name, "kept", answer(names[name]).replace("It completed.", LONG)) for name in mine])
        order = [(time.time() - 1e6 + place, name) for place, name in enumerate(names)]
        store.executemany("UPDATE results SET used = ? WHERE key = ?", order)
        requests.end_requests(store)


def left(path: Path, seeds: range) -> list[int]:
    names = {name for (name,) in ask(path, "SELECT key FROM results")}
    return [seed for seed in seeds if key(scenario(seed), "full") in names]


def tidy(path: Path, nbytes: int) -> int:
    quota.set_quota(path, nbytes / quota.GiB)
    with open_store(path) as store:
        return quota.enforce_quota(store)


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


def test_an_estimate_takes_no_page_of_its_own(path: Path) -> None:
    """A row is some 2.2 kB, of which a page of 4 KiB, SQLite's own choice, would hold one: 1.9 times what is written."""
    asked = [with_values(preset("optane-kaggle").scenario, {"data.seed": seed}) for seed in range(50)]
    rows = [(key(one.scenario, "estimate"), row_text(one)) for one in estimates(asked)]
    with open_store(path) as store:
        empty = quota.used_bytes(store)
        result_rows.store_results(store, rows)
        assert quota.used_bytes(store) - empty < 1.5 * sum(len(text) for _, text in rows)


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
    assert requests.newest_request(path, [key(scenario(seed), "full") for seed in range(60)]) is None


def test_trainings_go_by_age_unless_a_held_request_needs_them(path: Path) -> None:
    pinned = fill(path, range(2), pinned=True)
    for name, created in (("needed", 1.0), ("old", 2.0)):
        ask(path, "INSERT INTO trainings VALUES (?, '{}', '', '', ?, '')", name, created)
    ask(path, "UPDATE points SET class = 'needed' WHERE request = ?", pinned)
    tidy(path, 1)
    assert ask(path, "SELECT class FROM trainings") == [("needed",)]


def test_reading_a_result_keeps_it_from_going(path: Path) -> None:
    fill(path, range(20))
    metric_columns.columns_of_keys(path, [key(scenario(0), "full")])
    used = dict(ask(path, "SELECT key, used FROM results"))
    assert max(used, key=lambda name: float(str(used[name]))) == key(scenario(0), "full")
    metric_columns.columns_of_keys(path, [key(scenario(0), "full")])
    assert dict(ask(path, "SELECT key, used FROM results")) == used  # once an hour is enough


def test_without_room_results_can_still_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path, range(3))
    with open_store(path) as store:
        store.execute("CREATE TRIGGER full BEFORE UPDATE ON results BEGIN SELECT raise(ABORT, 'disk is full'); END")
    assert kept_result(path, scenario(1), "full")


def test_the_owner_keeps_the_quota_that_serve_was_given(path: Path) -> None:
    fill(path, range(70))
    for _ in range(2):
        assert main(["serve", "--store", str(path), "--idle-exit", "0", "--quota-GiB", "0.001"]) == 0  # 1.07 MB
        os.utime(side_copy(path), (1e9, 1e9))
    found = quota.usage(path)
    assert found.quota == int(0.001 * quota.GiB) and 10 < found.results < 35, "trained results are there twice"
    assert found.used_bytes <= found.quota


def upload(path: Path, name: str, days: float = 0.0, nbytes: int = 1000) -> Path:
    """Write an upload beside a store, last used some days ago; return its file."""
    file = quota.uploads_folder(path) / name / "own.csv"
    file.parent.mkdir(parents=True)
    file.write_bytes(bytes(nbytes))
    os.utime(file.parent, (time.time() - days * quota.DAY,) * 2)
    return file


def test_uploads_count_in_the_quota_and_take_a_part_of_it_at_most(path: Path) -> None:
    fill(path, range(60))
    with open_store(path) as store:
        rows = quota.used_bytes(store)
    assert tidy(path, 2 * rows) == 0
    upload(path, "one", nbytes=rows)
    assert quota.usage(path).used_bytes >= 2 * rows
    with open_store(path) as store:
        assert quota.enforce_quota(store, 0, rows // 2) == 0
        quota.set_quota(path, 1.2 * rows / quota.GiB)
        assert quota.enforce_quota(store, 0, 0) == 0
        assert quota.enforce_quota(store, 0, rows) > 0
    assert len(left(path, range(60))) > 40, "uploads leave three quarters of the quota to results"


def test_the_owner_counts_uploads(path: Path) -> None:
    fill(path, range(60))
    upload(path, "one", nbytes=path.stat().st_size // 3)
    assert main(["serve", "--store", str(path), "--idle-exit", "0", "--quota-GiB", str(path.stat().st_size * 2.1 / 2**30)]) == 0
    assert 0 < len(left(path, range(60))) < 60


def test_an_upload_goes_once_it_is_old_and_no_live_or_pinned_run_needs_it(path: Path) -> None:
    names = {
        "live": "running",
        "waiting": "queued",
        "arriving": "arriving",
        "pinned": "done",
        "ended": "done",
        "failed": "failed",
    }
    for seed, (name, state) in enumerate(names.items()):
        request = requests.submit(path, scenarios(range(seed, seed + 1)), "full", upload(path, name, quota.UPLOAD_DAYS + 0.1))
        ask(path, "UPDATE requests SET state = ?, pinned = ? WHERE id = ?", state, name == "pinned", request)
    upload(path, "unused", quota.UPLOAD_DAYS + 0.1)
    upload(path, "young", quota.UPLOAD_DAYS - 0.1)
    upload(path, quota.UNFINISHED + "old", 0.1)
    upload(path, quota.UNFINISHED + "young")
    assert quota.delete_uploads(path) == {"ended", "failed", "unused", quota.UNFINISHED + "old"}
    remaining = {"live", "waiting", "arriving", "pinned", "young", quota.UNFINISHED + "young"}
    assert {one.name for one in quota.uploads(path)} == remaining
    assert quota.delete_uploads(path, frozenset({"young", "live", "none"})) == {"young"}, "a visitor deletes an upload earlier"


def test_a_use_keeps_an_upload_for_another_week(path: Path) -> None:
    file = upload(path, "one", quota.UPLOAD_DAYS + 1)
    quota.note_upload_use(file.parent)
    assert quota.delete_uploads(path) == set()
    os.utime(file.parent, (time.time() + 1e6,) * 2)  # the clock was wrong, and is set back
    quota.note_upload_use(file.parent)
    assert abs(file.parent.stat().st_mtime - time.time()) < 60
    quota.note_upload_use(path.parent / "gone")
    assert not (path.parent / "gone").exists()
