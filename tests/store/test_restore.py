"""Does the newest sound backup take a damaged store's place, is the damaged one kept whole, and is it said what is gone?"""

import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.__main__ import main
from engine.errors import BadFile
from engine.service import history, service
from engine.store import backups, files, quota, requests, schema, status
from engine.store.backups import restore
from engine.store.database import open_store
from engine.store.owner import AlreadyOwned, own_store
from tests.service_fakes import COMPUTE, ask, kept_result, scenario, scenarios
from tests.store.test_store_quota import backed as backed
from tests.store.test_store_quota import fill, garbled, kept_in, left, of_results, save

SEEDS = range(30)


def test_the_command_puts_the_newest_backup_in_a_damaged_store_s_place_and_says_what_is_gone(
    backed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.utime(files.backups(backed)[0], (1e9, 1e9))
    damaged = garbled(backed, of_results(backed))
    with pytest.raises(
        BadFile, match=r"is damaged .*python -m engine serve --restore --store .*store\.sqlite replaces it by its newest backup"
    ):
        status.status(backed, 1)
    assert main(["serve", "--restore", "--store", str(backed)]) == 3
    said = capsys.readouterr().err
    assert "store.sqlite was damaged, and is kept whole as" in said and "store.sqlite.damaged-1" in said
    assert "Its backup from 2001-09-09 01:46:40 UTC, with 30 results and 1 request, has taken its place" in said
    assert "whatever is newer is computed again when it is asked for" in said
    assert Path(f"{backed}.damaged-1").read_bytes() == damaged
    assert left(backed, range(35)) == list(SEEDS)
    assert main(["serve", "--restore", "--store", str(backed)]) == 0
    assert "is not damaged; nothing was changed" in capsys.readouterr().err


def test_what_was_lost_is_computed_again_when_it_is_asked_for(backed: Path) -> None:
    garbled(backed, of_results(backed))
    restore(backed)
    request = requests.submit(backed, scenarios(range(25, 35)), "full")
    assert status.status(backed, request).done == 5
    service.serve(backed, 1, 0.0, COMPUTE)
    assert left(backed, range(35)) == list(range(35)) and status.status(backed, request).state == "done"


def test_a_number_never_names_two_requests(backed: Path) -> None:
    before = {entry.request for entry in history.past_requests(backed)}
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
    assert history.past_requests(backed) == [] and Path(f"{backed}.damaged-2").exists()


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
    with pytest.raises(BadFile, match=r"is damaged .* replaces it by its newest backup"):
        status.status(backed, 1)
    assert restore(backed).results == 30 and len(left(backed, SEEDS)) == 30


def test_a_store_that_is_served_is_not_restored(backed: Path) -> None:
    with own_store(backed), pytest.raises(AlreadyOwned):
        restore(backed)


def test_all_files_are_for_their_owner_s_eyes_alone(tmp_path: Path) -> None:
    path = tmp_path / "made" / "store.sqlite"
    fill(path, range(3))
    service.ensure_service(path, 1, 0.0)
    with own_store(path), open_store(path) as store:
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


def loop(path: Path) -> None:
    path.symlink_to(path)


def negative(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = -3")
    other.close()


KINDS = {"folder": Path.mkdir, "pipe": os.mkfifo, "loop": loop, "version": negative}
OTHERS = r"(choose another with --store FILE|update Emberpool, or choose another store with --store FILE)\.$"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_store_is_a_sentence(kind: str, path: Path) -> None:
    KINDS[kind](path)
    for use in (
        lambda: status.status(path, 1),
        lambda: service.serve(path, 1, 0.0),
        lambda: restore(path),
    ):
        with pytest.raises(BadFile, match=OTHERS) as said:
            use()
        assert "full or failing" not in str(said.value)
    assert main(["serve", "--restore", "--idle-exit", "0", "--store", str(path)]) == 2


def test_restoring_by_a_link_s_name_meets_the_owner(path: Path) -> None:
    link = path.with_name("link.sqlite")
    with open_store(path):
        link.symlink_to(path)
    with own_store(path), pytest.raises(AlreadyOwned):
        restore(link)


def test_a_damaged_quota_drops_nothing(path: Path) -> None:
    quota.set_quota(path, 1.0)
    ask(path, "UPDATE settings SET value = '1' WHERE name = ?", quota.SETTING)
    with pytest.raises(BadFile, match=r"is damaged .*python -m engine serve --restore --store"):
        service.serve(path, 1, 0.0)


def test_damage_that_a_backup_meets_at_work_ends_the_service_with_the_remedy_and_the_old_backup_stays(backed: Path) -> None:
    newest = files.backups(backed)[0]
    os.utime(newest, (1e9, 1e9))
    page, remedy = of_results(backed), r"is damaged .*python -m engine serve --restore"
    with own_store(backed):
        garbled(backed, page)
        with pytest.raises(BadFile, match=remedy), open_store(backed) as store:
            backups.StoreMaintenance(backed, store).tend(leaving=True)
    assert kept_in(newest) == 30 and restore(backed).results == 30
