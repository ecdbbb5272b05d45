"""Does a damaged store begin anew with what can still be read, is it kept whole, and is it said what is missing?"""

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from engine.__main__ import main
from engine.errors import BadFile
from engine.run.shared_training import Training
from engine.scenario.keys import key
from engine.service import history, service
from engine.store import files, quota, requests, restoration, schema, status
from engine.store.database import PAGE_BYTES as PAGE
from engine.store.database import open_store
from engine.store.owner import AlreadyOwned, own_store
from engine.store.restoration import restore
from engine.store.side_copy import make_copy
from engine.store.trainings import StoreShelf, load_training
from tests.service_fakes import COMPUTE, ask, computing_here, kept_result, scenario, scenarios
from tests.store.test_store_quota import fill, left

TRAINED = [seed for seed in range(30) if seed % 7]  # the others train nothing


def page_of(path: Path, table: str) -> int:
    """Return the first page of a table."""
    return int(str(ask(path, f"SELECT rootpage FROM sqlite_master WHERE name = '{table}'")[0][0])) - 1


def garble(path: Path, page: int) -> None:
    """Write random bytes over a page."""
    content = bytearray(path.read_bytes())
    content[page * PAGE : (page + 1) * PAGE] = np.random.default_rng(page).bytes(PAGE)
    path.write_bytes(bytes(content))


def garble_header(path: Path) -> None:
    """Write zeros over the file's header."""
    path.write_bytes(bytes(100) + path.read_bytes()[100:])


def cut_end(path: Path) -> None:
    """Cut off the last third of the file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


def make_read_only(path: Path) -> None:
    """Raise the lowest version of SQLite that may write the file."""
    content = bytearray(path.read_bytes())
    content[18] = 18
    path.write_bytes(bytes(content))


def empty(path: Path) -> None:
    """Cut off the whole file."""
    path.write_bytes(b"")


DAMAGES = (cut_end, empty, garble_header, make_read_only, Path.unlink)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pinned request of 30 results with a name and a note and a training, all copied; 5 results are newer than the copy."""
    path = tmp_path_factory.mktemp("original") / "store.sqlite"
    request = fill(path, range(30), pinned=True)
    ask(path, "UPDATE requests SET title = 'Mine', note = 'By hand.' WHERE id = ?", request)
    quota.set_quota(path, 2.0)
    with open_store(path) as store:
        StoreShelf(store)["a class"] = Training((0.5, 0.25))
        make_copy(path, store)
    fill(path, range(30, 35))
    return path


@pytest.fixture
def saved(path: Path, original: Path) -> Path:
    """Return a store of the same files for one test."""
    for file in original.parent.iterdir():
        shutil.copy2(file, path.parent)
    return path


def is_whole(path: Path) -> bool:
    """Return whether the name, note, pin, quota and trained results of the fixture are there."""
    run = history.past_requests(path)[-1]
    with open_store(path) as store:
        assert load_training(store, "a class")
    assert set(TRAINED) <= set(left(path, range(30))) and quota.usage(path).quota == 2 * quota.GiB
    return (run.request, run.title, run.note, run.pinned, run.num_points) == (1, "Mine", "By hand.", True, 30)


def test_the_command_begins_anew_with_what_can_be_read_and_says_what_is_missing(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    garble_header(saved)
    damaged = saved.read_bytes()
    with pytest.raises(BadFile, match=r"is damaged .*serve --restore --store .*sqlite sets it aside and keeps what can still be"):
        status.status(saved, 1)
    assert main(["serve", "--restore", "--store", str(saved)]) == 3
    text = capsys.readouterr().err
    assert f"{saved} was damaged, and is kept whole as {saved}.damaged-1: delete it when nothing is missed." in text
    assert f"The new store has {len(TRAINED)} results and 1 request that could still be read there or in {saved}.copy." in text
    assert "It lacks the results of 5 finished points. Whatever is missing is computed again when it is asked for." in text
    assert Path(f"{saved}.damaged-1").read_bytes() == damaged
    assert is_whole(saved) and left(saved, range(35)) == TRAINED
    assert main(["serve", "--restore", "--store", str(saved)]) == 0
    assert "is sound; nothing was changed" in capsys.readouterr().err


@pytest.mark.parametrize("damage", DAMAGES)
def test_names_notes_pins_and_trained_results_survive_any_damage(
    saved: Path, damage: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    computing_here(monkeypatch)
    damage(saved)
    with pytest.raises(BadFile, match=r"is (damaged|gone).* serve --restore --store"):
        service.serve(saved, 1, 0.0, COMPUTE)
    assert not restore(saved).was_sound and is_whole(saved)
    request = requests.submit(saved, scenarios(range(25, 35)), "full")
    service.serve(saved, 1, 0.0, COMPUTE)
    assert status.status(saved, request).finished_points == 10 and ask(saved, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize("table", ["results", "requests", "points", "trainings", "failures", "settings"])
def test_a_damaged_page_costs_only_what_it_held(saved: Path, table: str) -> None:
    garble(saved, page_of(saved, table))
    with pytest.raises(BadFile, match="is damaged"):
        service.serve(saved, 1, 0.0, COMPUTE)
    restore(saved)
    assert is_whole(saved)
    assert table == "results" or left(saved, range(35)) == list(range(35))


def test_rows_around_a_damaged_page_are_carried_over_without_a_copy(path: Path) -> None:
    fill(path, range(200))
    garble(path, path.stat().st_size // PAGE // 2)
    with pytest.raises(BadFile, match="is damaged"):
        service.serve(path, 1, 0.0, COMPUTE)
    restore(path)
    assert 190 <= len(left(path, range(200))) < 200


def test_a_result_that_is_not_as_it_was_written_is_not_carried_over(path: Path) -> None:
    fill(path, range(10))
    ask(path, "UPDATE results SET result = replace(result, 'xxxxx', 'xxyxx') WHERE key = ?", key(scenario(3), "full"))
    garble(path, page_of(path, "progress"))
    assert "9 results and 1 request" in restore(path).text and left(path, range(10)) == [0, 1, 2, 4, 5, 6, 7, 8, 9]


def test_a_request_whose_list_of_points_is_damaged_keeps_its_name_and_says_so(path: Path) -> None:
    for seeds in (range(3), range(300, 600)):
        requests.submit(path, scenarios(seeds), "full", title=f"From {seeds[0]}")
    garble(path, page_of(path, "points"))
    assert "It lacks the lists of points of 2 requests." in restore(path).text
    assert [(run.title, run.state, run.note) for run in history.past_requests(path)] == [
        ("From 300", "cancelled", restoration.LIST_LOST),
        ("From 0", "cancelled", restoration.LIST_LOST),
    ]


def test_a_number_never_names_two_requests(saved: Path) -> None:
    before = {run.request for run in history.past_requests(saved)}
    garble_header(saved)
    restore(saved)
    assert requests.submit(saved, scenarios([77]), "full") > max(before) + 1000


def test_a_damaged_copy_gives_what_is_sound_in_it(saved: Path) -> None:
    copy = files.side_copy(saved)
    garble(copy, page_of(copy, "results"))
    garble_header(saved)
    restore(saved)
    assert history.past_requests(saved)[0].title == "Mine" and Path(f"{saved}.damaged-1").exists()


@pytest.mark.parametrize("end", [".lock", ".log", ".words", ".stopped", "-wal", "-shm", "-journal", ".fresh", ".copy.fresh"])
def test_a_damaged_file_beside_the_store_is_not_in_the_way(saved: Path, end: str) -> None:
    garble_header(saved)
    Path(f"{saved}{end}").write_bytes(np.random.default_rng(1).bytes(5000))
    assert not restore(saved).was_sound and is_whole(saved)


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal", ".fresh", ".fresh-wal", ".copy"])
def test_a_folder_in_the_place_of_a_file_is_named_and_nothing_is_renamed(saved: Path, end: str) -> None:
    garble_header(saved)
    copy, moved = files.side_copy(saved), saved.with_name("moved")
    copy.replace(moved if end == ".copy" else copy)
    Path(f"{saved}{end}").mkdir()
    with pytest.raises(
        BadFile, match=rf"sqlite{end} is in the way of restoring, as it is not a regular file; .* move it, and try"
    ):
        restore(saved)
    assert saved.exists()
    Path(f"{saved}{end}").rmdir()
    (moved if end == ".copy" else copy).replace(copy)
    assert not restore(saved).was_sound and is_whole(saved)


def test_a_disk_that_cannot_read_the_store_does_not_keep_its_copy_from_being_reached(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(path: Path) -> NoReturn:
        raise BadFile(f"{path}: the disk is full or failing (disk I/O error).")

    assert files.is_readable(saved) and not files.is_readable(Path("/proc/self/mem")), "of which the first byte cannot be read"
    with monkeypatch.context() as patch:
        patch.setattr(restoration, "open_store", unreadable)
        with pytest.raises(BadFile, match="disk I/O"):
            restore(saved)
        patch.setattr(restoration, "is_readable", lambda path: False)
        patch.setattr(restoration, "_outcome_text", lambda *_: "")
        assert not restore(saved).was_sound
    assert is_whole(saved)


@pytest.mark.parametrize("call", ["remove_database", "carry_rows", "put_in_place", "sync"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_restoring_that_is_interrupted_goes_on(saved: Path, call: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop before the first or second call of each step, and restore again."""
    garble_header(saved)
    original, calls = getattr(restoration, call), []

    def interrupted(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == number:
            raise KeyboardInterrupt
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(restoration, call, interrupted)
        try:
            restore(saved)
        except KeyboardInterrupt:
            with pytest.raises(BadFile, match=r"serve --restore --store"):
                status.status(saved, 1)
            assert not restore(saved).was_sound
    assert is_whole(saved) and len(list(saved.parent.glob("*.damaged-?"))) == 1


def test_a_full_disk_ends_in_a_sentence_and_the_next_restoring_goes_on(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    garble_header(saved)
    with monkeypatch.context() as patch:
        patch.setattr(restoration, "carry_rows", refuse)
        with pytest.raises(BadFile, match=r"cannot be restored: database or disk is full; free some space, and try again\."):
            restore(saved)
    assert not restore(saved).was_sound and is_whole(saved)


def test_a_store_that_is_served_is_not_restored(saved: Path) -> None:
    with own_store(saved), pytest.raises(AlreadyOwned):
        restore(saved)


def test_a_store_is_owned_while_its_file_is_replaced(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def place(new_path: Path, path: Path) -> None:
        with pytest.raises(AlreadyOwned), own_store(path):
            pass
        put_in_place(new_path, path)
        with pytest.raises(AlreadyOwned), own_store(path):
            pass

    put_in_place = restoration.put_in_place
    monkeypatch.setattr(restoration, "put_in_place", place)
    garble_header(saved)
    assert not restore(saved).was_sound and is_whole(saved)
    with own_store(saved):
        pass


def test_all_files_are_for_their_owner_s_eyes_alone(tmp_path: Path) -> None:
    path = tmp_path / "made" / "store.sqlite"
    fill(path, range(3))
    service.ensure_service(path, 1, 0.0)
    with own_store(path), open_store(path) as store:
        make_copy(path, store)
        open_ones = {file.name for file in path.parent.iterdir()}
    garble_header(path)
    restore(path)
    assert {f"{path.name}{end}" for end in ("-wal", "-shm", ".log", ".lock", ".copy")} <= open_ones
    assert path.with_name(f"{path.name}.damaged-1").exists()
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_an_old_store_is_hidden_from_others_once_it_is_opened(path: Path) -> None:
    ask(path, "SELECT 1")
    path.chmod(0o644)
    ask(path, "SELECT 1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert schema.VERSION == 6 and kept_result(path, scenario(1), "full") is None


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
