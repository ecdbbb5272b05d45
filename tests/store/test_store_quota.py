"""Does the store keep to its quota, by letting go what was used longest ago, and do backups keep to their share?"""

import os
import sqlite3
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from engine.__main__ import main
from engine.estimates import estimates
from engine.scenario.keys import key
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.service import computations, service
from engine.store import backups, columns, files, kept, quota, requests, status
from engine.store.database import PAGE_BYTES as PAGE
from engine.store.database import open_store
from engine.store.kept import row_text
from engine.store.soundness import write_seal
from tests.service_fakes import COMPUTE, ask, kept_result, scenario, scenarios
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
        kept.store_results(store, rows)
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
    columns.columns_of_keys(path, [key(scenario(0), "full")])
    used = dict(ask(path, "SELECT key, used FROM results"))
    assert max(used, key=lambda name: float(str(used[name]))) == key(scenario(0), "full")
    columns.columns_of_keys(path, [key(scenario(0), "full")])
    assert dict(ask(path, "SELECT key, used FROM results")) == used  # once an hour is enough


def test_without_room_results_can_still_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path, range(3))
    with open_store(path) as store:
        store.execute("CREATE TRIGGER full BEFORE UPDATE ON results BEGIN SELECT raise(ABORT, 'disk is full'); END")
        write_seal(store)
    assert kept_result(path, scenario(1), "full")


def test_the_owner_keeps_the_quota_that_serve_was_given(path: Path) -> None:
    fill(path, range(70))
    assert main(["serve", "--store", str(path), "--idle-exit", "0", "--quota-GiB", "0.001"]) == 0  # 1.07 MB
    found = quota.usage(path)
    assert found.quota == int(0.001 * quota.GiB) and 30 < found.results < 70
    assert found.used <= found.quota


@pytest.fixture
def backed(path: Path) -> Path:
    """A store with a backup of 30 results, behind which 5 results are newer."""
    fill(path, range(30))
    save(path)
    fill(path, range(30, 35))
    return path


def garbled(path: Path, page: int) -> bytes:
    content = bytearray(path.read_bytes())
    content[page * PAGE : (page + 1) * PAGE] = np.random.default_rng(page).bytes(PAGE)
    path.write_bytes(bytes(content))
    return bytes(content)


def of_results(path: Path) -> int:
    """The first page of the table of results."""
    return int(str(ask(path, "SELECT rootpage FROM sqlite_master WHERE name = 'results'")[0][0])) - 1


def save(path: Path) -> None:
    with open_store(path) as store:
        backups.back_up(path, store)


@pytest.mark.slow
def test_the_service_backs_up_what_has_changed_when_it_leaves_and_two_generations_stay(path: Path) -> None:
    newest, older = files.backups(path)
    for seed in range(3):
        requests.submit(path, scenarios([seed]), "full")
        service.serve(path, 1, 0.0, COMPUTE)
        assert kept_in(newest) == seed + 1
        assert older.exists() == (seed > 0) and (not seed or kept_in(older) == seed)
        os.utime(newest, (1e9, 1e9))  # else the next one would wait, lest backups take more than their share of the time
    assert sorted(file.name for file in path.parent.iterdir()) == sorted(
        f"{path.name}{end}" for end in ("", ".lock", ".backup", ".backup-2")
    )


def kept_in(path: Path) -> int:
    with sqlite3.connect(path) as store:
        found = int(store.execute("SELECT count(*) FROM results").fetchone()[0])
    store.close()
    return found


def test_backups_are_made_every_few_minutes_at_work_and_only_of_what_has_changed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backups, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(backups, "SHARE", 1e9)
    now = time.time()
    monkeypatch.setattr(backups.time, "time", lambda: now)
    fill(path, range(3))
    newest = files.backups(path)[0]
    with open_store(path) as store:
        care = backups.StoreMaintenance(path, store)
        for later, there in ((backups.WORK_SECONDS / 2, 0), (backups.WORK_SECONDS, 3), (2 * backups.WORK_SECONDS, 3)):
            now += later
            care.tend()
            assert (kept_in(newest) if newest.exists() else 0) == there
        newest.unlink()
        now += 9 * backups.WORK_SECONDS
        care.tend()
        assert not newest.exists(), "nothing has changed"
        fill(path, range(3, 5))
        care.tend()
        assert kept_in(newest) == 5


def test_a_large_store_is_backed_up_rarely(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path, range(3))
    with open_store(path) as store:
        size = quota.used_bytes(store)
        monkeypatch.setattr(backups, "BYTES_PER_SECOND", size / 30.0)  # half a minute: ten minutes in between
        newest = files.backups(path)[0]
        save(path)
        for ago, due in ((590.0, False), (610.0, True)):
            os.utime(newest, (time.time() - ago,) * 2)
            before = newest.stat().st_mtime
            backups.StoreMaintenance(path, store).tend(leaving=True)
            assert (newest.stat().st_mtime != before) == due


def test_a_store_and_its_backups_keep_to_the_quota_and_backups_give_way(backed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(backed)
    with open_store(backed) as store:
        quota.set_quota(backed, 2.9 * quota.used_bytes(store) / quota.GiB)
        backups.StoreMaintenance(backed, store).tend(leaving=True)
        assert not any(backup.exists() for backup in files.backups(backed))
        assert "has no backup: its quota of" in capsys.readouterr().err
        quota.set_quota(backed, 3.1 * quota.used_bytes(store) / quota.GiB)
        backups.StoreMaintenance(backed, store).tend(leaving=True)
        assert files.backups(backed)[0].exists()


@pytest.mark.parametrize("trouble", ["full", "copy", "rename"])
def test_a_backup_that_fails_is_a_sentence_and_loses_nothing(
    backed: Path, trouble: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise (
            OSError(28, "No space left on device")
            if trouble == "rename"
            else sqlite3.OperationalError("database or disk is full")
        )

    newest = files.backups(backed)[0]
    os.utime(newest, (1e9, 1e9))
    with open_store(backed) as store, monkeypatch.context() as patch:
        if trouble == "full":
            patch.setattr(backups.shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
        else:
            patch.setattr(*((backups, "_copy") if trouble == "copy" else (Path, "replace")), refuse)
        care = backups.StoreMaintenance(backed, store)
        for _ in range(2):
            care.tend(leaving=True)
    said = capsys.readouterr().err
    assert said.count("free some space") == 1 and said.count("\n") == 1
    assert kept_in(newest) == 30 and left(backed, range(35)) == list(range(35))
