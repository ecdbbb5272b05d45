"""Does the newest sound backup take a damaged store's place, is the damaged one kept whole, and is it said what is gone?"""

import os
import sqlite3
import stat
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from engine.__main__ import main
from engine.errors import BadFile
from engine.service import history, service
from engine.store import backups, files, quota, requests, schema, status
from engine.store.backups import restore
from engine.store.database import opened
from engine.store.owner import AlreadyOwned, owning
from tests.service_fakes import COMPUTE, ask, kept_result, scenario, scenarios
from tests.store.test_store_quota import fill, left

PAGE = 4096
SEEDS = range(30)


@pytest.fixture
def backed(path: Path) -> Path:
    """A store with a backup of 30 results, behind which 5 results are newer."""
    fill(path, SEEDS)
    save(path)
    fill(path, range(30, 35))
    return path


def save(path: Path) -> None:
    with opened(path) as store:
        backups.back_up(path, store)


def garbled(path: Path, page: int) -> bytes:
    content = bytearray(path.read_bytes())
    content[page * PAGE : (page + 1) * PAGE] = np.random.default_rng(page).bytes(PAGE)
    path.write_bytes(bytes(content))
    return bytes(content)


def of_results(path: Path) -> int:
    """The first page of the table of results."""
    return int(str(ask(path, "SELECT rootpage FROM sqlite_master WHERE name = 'results'")[0][0])) - 1


def test_the_command_puts_the_newest_backup_in_a_damaged_store_s_place_and_says_what_is_gone(
    backed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.utime(files.backups(backed)[0], (1e9, 1e9))
    damaged = garbled(backed, of_results(backed))
    with pytest.raises(
        BadFile, match=r"is damaged .*python -m engine serve --restore --store .*store\.sqlite puts its newest backup"
    ):
        status.status(backed, 1)
    assert main(["serve", "--restore", "--store", str(backed)]) == 3
    said = capsys.readouterr().err
    assert "store.sqlite was damaged, and is kept whole as" in said and "store.sqlite.damaged-1" in said
    assert "Its backup from 2001-09-09 01:46:40 UTC, with 30 results and 1 requests, has taken its place" in said
    assert "whatever is newer is computed again when it is asked for" in said
    assert Path(f"{backed}.damaged-1").read_bytes() == damaged
    assert left(backed, range(35)) == list(SEEDS)
    assert main(["serve", "--restore", "--store", str(backed)]) == 0
    assert "is sound; nothing was changed" in capsys.readouterr().err


def test_what_was_lost_is_computed_again_when_it_is_asked_for(backed: Path) -> None:
    garbled(backed, of_results(backed))
    restore(backed)
    request = requests.submit(backed, scenarios(range(25, 35)), "full")
    assert status.status(backed, request).done == 5
    service.serve(backed, 1, 0.0, COMPUTE)
    assert left(backed, range(35)) == list(range(35)) and status.status(backed, request).state == "done"


def test_a_number_never_names_two_requests(backed: Path) -> None:
    before = {entry.request for entry in history.entries(backed)}
    garbled(backed, of_results(backed))
    restore(backed)
    assert requests.submit(backed, scenarios([77]), "full") > max(before) + 1000
    garbled(backed, of_results(backed))
    for backup in files.backups(backed):
        backup.unlink(missing_ok=True)
    restore(backed)
    assert requests.submit(backed, scenarios([78]), "full") > 1000


def test_a_damaged_backup_is_passed_over_and_without_a_sound_one_the_store_begins_empty(
    backed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(backed)
    newest, older = files.backups(backed)
    garbled(newest, 3)
    garbled(backed, 3)
    found = restore(backed)
    assert found.results == 30 and not found.sound
    assert ask(backed, "PRAGMA integrity_check") == [("ok",)] and left(backed, range(35)) == list(SEEDS)
    for file in (backed, newest, older):
        garbled(file, 5)
    assert main(["serve", "--restore", "--store", str(backed)]) == 3
    assert "There was no sound backup, and the store begins empty: whatever it held is computed again" in capsys.readouterr().err
    assert history.entries(backed) == [] and Path(f"{backed}.damaged-2").exists()


def test_results_that_are_not_as_they_were_written_go_and_the_rest_stays(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill(path, SEEDS)
    ask(path, "UPDATE results SET result = replace(result, 'xxxxx', 'xxyxx') WHERE rowid IN (3, 5)")
    assert main(["serve", "--restore", "--store", str(path)]) == 3
    assert "2 of its results and trainings were damaged: what is gone is computed again when" in capsys.readouterr().err
    assert len(left(path, SEEDS)) == 28 and not Path(f"{path}.damaged-1").exists()
    assert main(["serve", "--restore", "--store", str(path)]) == 0


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def without_magic(path: Path) -> None:
    path.write_bytes(b"\0" + path.read_bytes()[1:])


def read_only(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[18] = 18  # the lowest version that may write it
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("damage", [emptied, without_magic, read_only, Path.unlink])
def test_whatever_a_store_has_become_its_backup_takes_its_place(backed: Path, damage: Callable[[Path], None]) -> None:
    damage(backed)
    with pytest.raises(BadFile, match=r"is damaged .* puts its newest backup in its place"):
        status.status(backed, 1)
    assert restore(backed).results == 30 and len(left(backed, SEEDS)) == 30


def test_a_store_that_is_served_is_not_restored(backed: Path) -> None:
    with owning(backed), pytest.raises(AlreadyOwned):
        restore(backed)


def test_the_service_backs_up_what_has_changed_when_it_leaves_and_two_generations_stay(path: Path) -> None:
    newest, older = files.backups(path)
    for seed in range(3):
        requests.submit(path, scenarios([seed]), "full")
        service.serve(path, 1, 0.0, COMPUTE)
        assert results(newest) == seed + 1
        assert older.exists() == (seed > 0) and (not seed or results(older) == seed)
        os.utime(newest, (1e9, 1e9))  # else the next one would wait, lest backups take more than their share of the time
    assert sorted(file.name for file in path.parent.iterdir()) == sorted(
        f"{path.name}{end}" for end in ("", ".lock", ".workers", ".backup", ".backup-2")
    )


def results(path: Path) -> int:
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
    with opened(path) as store:
        care = backups.Care(path, store)
        for later, there in ((backups.WORK_SECONDS / 2, 0), (backups.WORK_SECONDS, 3), (2 * backups.WORK_SECONDS, 3)):
            now += later
            care.tend()
            assert (results(newest) if newest.exists() else 0) == there
        newest.unlink()
        now += 9 * backups.WORK_SECONDS
        care.tend()
        assert not newest.exists(), "nothing has changed"
        fill(path, range(3, 5))
        care.tend()
        assert results(newest) == 5


def test_a_large_store_is_backed_up_rarely(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path, range(3))
    with opened(path) as store:
        size = quota.used(store)
        monkeypatch.setattr(backups, "BYTES_PER_SECOND", size / 30.0)  # half a minute: ten minutes in between
        newest = files.backups(path)[0]
        save(path)
        for ago, due in ((590.0, False), (610.0, True)):
            os.utime(newest, (time.time() - ago,) * 2)
            before = newest.stat().st_mtime
            backups.Care(path, store).tend(leaving=True)
            assert (newest.stat().st_mtime != before) == due


def test_a_store_and_its_backups_keep_to_the_quota_and_backups_give_way(backed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(backed)
    with opened(backed) as store:
        quota.limit(backed, 2.9 * quota.used(store) / quota.GiB)
        backups.Care(backed, store).tend(leaving=True)
        assert not any(backup.exists() for backup in files.backups(backed))
        assert "has no backup: there is no room for two of them in its quota of" in capsys.readouterr().err
        quota.limit(backed, 3.1 * quota.used(store) / quota.GiB)
        backups.Care(backed, store).tend(leaving=True)
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
    with opened(backed) as store, monkeypatch.context() as patch:
        if trouble == "full":
            patch.setattr(backups.shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
        else:
            patch.setattr(*((backups, "_copy") if trouble == "copy" else (Path, "replace")), refuse)
        care = backups.Care(backed, store)
        for _ in range(2):
            care.tend(leaving=True)
    said = capsys.readouterr().err
    assert said.count("free some space") == 1 and said.count("\n") == 1
    assert results(newest) == 30 and left(backed, range(35)) == list(range(35))


def test_damage_that_a_backup_meets_at_work_ends_the_service_with_the_remedy_and_the_old_backup_stays(backed: Path) -> None:
    newest = files.backups(backed)[0]
    os.utime(newest, (1e9, 1e9))
    page, remedy = of_results(backed), r"is damaged .*python -m engine serve --restore"
    with owning(backed):
        garbled(backed, page)
        with pytest.raises(BadFile, match=remedy), opened(backed) as store:
            backups.Care(backed, store).tend(leaving=True)
    assert results(newest) == 30 and restore(backed).results == 30


def test_all_files_are_for_their_owner_s_eyes_alone(tmp_path: Path) -> None:
    path = tmp_path / "made" / "store.sqlite"
    fill(path, range(3))
    service.ensure_service(path, 1, 0.0)
    with owning(path), opened(path) as store:
        backups.back_up(path, store)
        open_ones = {file.name for file in path.parent.iterdir()}
    garbled(path, 3)
    restore(path)
    assert {f"{path.name}{end}" for end in ("-wal", "-shm", ".log", ".lock", ".backup")} <= open_ones
    assert path.with_name(f"{path.name}.damaged-1").exists()
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_an_old_store_is_hidden_from_others_once_it_is_opened(path: Path) -> None:
    ask(path, "SELECT 1")
    path.chmod(0o644)
    ask(path, "SELECT 1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert schema.VERSION == 4 and kept_result(path, scenario(1), "full") is None
