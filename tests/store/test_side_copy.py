"""Is there a copy of names, notes, pins and trained results beside the store, of all else none, and at what price?"""

import os
import sqlite3
import time
from pathlib import Path

import pytest

from engine.run.shared_training import Training
from engine.scenario.keys import key
from engine.service import history, service
from engine.store import files, quota, requests, side_copy
from engine.store.database import Damaged, open_store
from engine.store.side_copy import StoreMaintenance, make_copy
from engine.store.trainings import StoreShelf
from tests.service_fakes import COMPUTE, ask, scenario, scenarios
from tests.store.test_restore import garble, page_of
from tests.store.test_store_quota import fill, left


def copied(path: Path, query: str) -> list[tuple[object, ...]]:
    return ask(files.side_copy(path), query)


def save(path: Path) -> None:
    with open_store(path) as store:
        make_copy(path, store)


def test_the_copy_has_names_notes_pins_and_trained_results_and_nothing_else(path: Path) -> None:
    trained = fill(path, range(1, 4), pinned=True)
    fill(path, range(7, 8))  # which trains nothing
    requests.submit(path, scenarios([1, 9]), "estimate", title="Estimates")
    ask(path, "UPDATE requests SET title = 'Trained', note = 'By hand.' WHERE id = ?", trained)
    quota.set_quota(path, 2.0)
    with open_store(path) as store:
        StoreShelf(store)["a class"] = Training((0.5,))
    save(path)
    assert copied(path, "SELECT title, note, pinned FROM requests ORDER BY id")[0] == ("Trained", "By hand.", 1)
    assert copied(path, "SELECT count(*) FROM requests") == [(3,)]
    assert left(files.side_copy(path), range(9)) == [1, 2, 3]
    assert copied(path, "SELECT class FROM trainings") == [("a class",)]
    assert copied(path, "SELECT DISTINCT how FROM points JOIN requests ON id = request") == [("full",)]
    assert quota.usage(files.side_copy(path)).quota == 2 * quota.GiB


def test_a_row_that_damage_has_changed_is_not_copied(path: Path) -> None:
    fill(path, range(1, 4))
    ask(path, "UPDATE results SET result = replace(result, 'xxxxx', 'xxyxx') WHERE key = ?", key(scenario(2), "full"))
    save(path)
    assert left(files.side_copy(path), range(9)) == [1, 3]


def test_a_damaged_store_does_not_replace_its_copy(path: Path) -> None:
    fill(path, range(1, 9))
    save(path)
    before = files.side_copy(path).read_bytes()
    os.utime(files.side_copy(path), (1e9, 1e9))
    garble(path, page_of(path, "requests"))
    with pytest.raises(Damaged, match=r"is damaged .*serve --restore"), open_store(path) as store:
        StoreMaintenance(path, store).tend(leaving=True)
    assert files.side_copy(path).read_bytes() == before


def test_a_text_that_is_not_utf_8_is_damage_and_no_want_of_space(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    requests.submit(path, scenarios([1]), "full", title="A name of mine")
    path.write_bytes(path.read_bytes().replace(b"name of mine", b"name \xeff mine"))
    with pytest.raises(Damaged, match=r"a text is not as it was written.* serve --restore"), open_store(path) as store:
        StoreMaintenance(path, store).tend(leaving=True)
    assert not files.side_copy(path).exists() and capsys.readouterr().err == ""


@pytest.mark.usefixtures("computed_here")
def test_the_service_copies_as_it_leaves_and_keeps_no_other_file(path: Path) -> None:
    request = requests.submit(path, scenarios([1]), "full", title="Mine")
    service.serve(path, 1, 0.0, COMPUTE)
    history.pin(path, [request], True, requests.COMMAND)
    service.serve(path, 1, 0.0, COMPUTE)
    assert copied(path, "SELECT title, pinned FROM requests") == [("Mine", 1)]
    assert {file.name for file in path.parent.iterdir()} == {f"{path.name}{end}" for end in ("", ".lock", ".copy")}


def test_copies_are_made_every_minute_at_work_and_only_of_what_has_changed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_copy, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(side_copy, "SHARE", 1e9)
    now = time.time()
    monkeypatch.setattr(side_copy.time, "time", lambda: now)
    fill(path, range(1, 4))
    copy = files.side_copy(path)
    with open_store(path) as store:
        care = StoreMaintenance(path, store)
        for later, is_made in ((side_copy.WORK_SECONDS / 2, False), (side_copy.WORK_SECONDS, True)):
            now += later
            care.tend()
            assert copy.exists() == is_made
        copy.unlink()
        now += 9 * side_copy.WORK_SECONDS
        care.tend()
        assert not copy.exists(), "nothing has changed"
        fill(path, range(4, 6))
        care.tend()
        assert left(copy, range(9)) == [1, 2, 3, 4, 5]


def test_a_large_store_is_copied_rarely(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path, range(3))
    with open_store(path) as store:
        monkeypatch.setattr(side_copy, "BYTES_PER_SECOND", quota.used_bytes(store) / 30.0)  # half a minute: ten minutes between
        save(path)
        copy = files.side_copy(path)
        for age, is_due in ((590.0, False), (610.0, True)):
            os.utime(copy, (time.time() - age,) * 2)
            before = copy.stat().st_mtime
            StoreMaintenance(path, store).tend(leaving=True)
            assert (copy.stat().st_mtime != before) == is_due


@pytest.mark.parametrize("trouble", ["rows", "rename"])
def test_a_copy_that_fails_is_a_sentence_and_the_last_one_stays(
    path: Path, trouble: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise (OSError(28, "No space left on device") if trouble == "rename" else sqlite3.OperationalError("disk is full"))

    fill(path, range(1, 4))
    save(path)
    os.utime(files.side_copy(path), (1e9, 1e9))
    fill(path, range(4, 6))
    with open_store(path) as store, monkeypatch.context() as patch:
        patch.setattr(*((side_copy, "carry_rows") if trouble == "rows" else (Path, "rename")), refuse)
        care = StoreMaintenance(path, store)
        for _ in range(2):
            care.tend(leaving=True)
    text = capsys.readouterr().err
    assert text.count("was not updated") == text.count("free some space") == text.count("\n") == 1
    assert left(files.side_copy(path), range(9)) == [1, 2, 3] and left(path, range(1, 6)) == [1, 2, 3, 4, 5]
