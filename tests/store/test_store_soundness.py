"""Is a damaged record of the store noticed before anything is computed from it, or shown of it?"""

import os
import re
import sqlite3
import time
from pathlib import Path

import pytest

from engine.errors import BadFile
from engine.scenario.keys import key
from engine.service import computations, history, service
from engine.store import database, requests, schema, status
from engine.store.database import open_store
from engine.store.owner import own_store
from tests.service_fakes import COMPUTE, ask, scenario, scenarios
from tests.store.test_store_quota import fill

REMEDY = (
    r"is damaged \(malformed: {} is not as it was written\); "
    r"python -m engine serve --restore --store .* replaces it by its newest backup\.$"
)
DAMAGES = {
    "a request": ("total = 4", "started = 2.0", "pinned = 1", "title = 'Afore'", "base = zeroblob(3)"),
    "a point": ("changes = replace(changes, '2', '7')", "class = 'a'", "state = 3 WHERE position = 1"),
    "a failure": ("sentence = 'No.'", "bug = 1"),
    "a finished point": ("state = 1 WHERE position = 3",),
}
TABLES = {"a request": "requests", "a failure": "failures"}
EACH = pytest.mark.parametrize(("what", "change"), [(what, change) for what, changes in DAMAGES.items() for change in changes])


def damaged(path: Path, what: str, change: str) -> None:
    """Change rows behind the backs of the store's triggers, as damage does."""
    with sqlite3.connect(path) as store:
        store.create_function("crc", -1, database.crc, deterministic=True)
        triggers = store.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            store.execute(f"DROP TRIGGER {name}")
        store.execute(f"UPDATE {TABLES.get(what, 'points')} SET {change}")
        for _, sql in triggers:
            store.execute(sql)
    store.close()


@pytest.fixture
def asked(path: Path) -> int:
    """Four points: two are finished, one has failed, one is open."""
    fill(path, range(2))
    request = requests.submit(path, scenarios(range(4)), "full")
    with open_store(path) as store:
        computations._fail(store, key(scenario(2), "full"), "It is refused.", bug=False)
    return request


@EACH
def test_a_store_with_a_damaged_row_is_a_sentence_for_whoever_opens_it(path: Path, asked: int, what: str, change: str) -> None:
    assert status.status(path, asked).total == 4
    damaged(path, what, change)
    for use in (lambda: status.status(path, asked), lambda: history.past_requests(path), lambda: service.serve(path, 1, 0.0)):
        with pytest.raises(BadFile, match=REMEDY.format(what)):
            use()


@pytest.mark.parametrize(
    ("what", "change"), [("a request", "base = zeroblob(3)"), ("a point", "changes = '{}' WHERE position = 3")]
)
def test_nothing_is_computed_from_what_is_damaged_at_work(path: Path, asked: int, what: str, change: str) -> None:
    with own_store(path):
        damaged(path, what, change)
        assert status.status(path, asked).total == 4, "whoever owns it has looked at it"
        with pytest.raises(BadFile, match=REMEDY.format(what)), open_store(path) as store:
            computations.claim_points(store, asked, [key(scenario(3), "full")])
        assert ask(path, "SELECT 1 FROM claims WHERE ending IS NULL") == []


def test_a_change_of_a_damaged_request_does_not_make_it_believed(path: Path, asked: int) -> None:
    with own_store(path):
        damaged(path, "a request", "total = 5")
        with pytest.raises(BadFile, match=REMEDY.format("a request")):
            requests.cancel(path, asked)


def test_whatever_the_store_itself_changes_stays_believed(path: Path, asked: int) -> None:
    for change in (lambda: requests.cancel(path, asked), lambda: history.pin(path, [asked], True)):
        change()
    requests.submit(path, scenarios(range(4)), "full", title="Again", link="?a")
    service.serve(path, 1, 0.0, COMPUTE)
    assert status.status(path, asked).state == "done"
    requests.submit(path, scenarios(range(3, 6)), "full")
    ask(path, "UPDATE points SET class = 'a'")
    database._CHECKED_STATES.clear()
    assert [entry.total for entry in history.past_requests(path)] == [3, 4, 2]


@pytest.mark.parametrize("statement", ["DROP TRIGGER result_kept", "DELETE FROM settings", "PRAGMA user_version = 6"])
def test_tables_that_are_not_as_they_were_made_are_a_sentence(path: Path, asked: int, statement: str) -> None:
    with sqlite3.connect(path) as store:
        store.execute(statement)
    store.close()
    with pytest.raises(BadFile, match=r"is damaged \(malformed: its tables are (gone|not as they were made)\)"):
        status.status(path, asked)


def test_a_store_that_others_have_changed_is_looked_at_again_and_one_that_has_not_is_not(
    path: Path, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[object] = []
    monkeypatch.setattr(database.soundness, "check_store", looks.append)
    monkeypatch.setattr(database, "TICK_NS", 0)
    database._CHECKED_STATES.clear()
    for _ in range(3):
        status.status(path, asked)
    assert len(looks) == 1
    requests.cancel(path, asked)
    status.status(path, asked)
    assert len(looks) == 1, "its own changes are no news"
    path.write_bytes(path.read_bytes())
    status.status(path, asked)
    assert len(looks) == 2
    before = path.stat()
    time.sleep(0.02)  # file systems tell no shorter times apart
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as rsync --inplace -t does
    status.status(path, asked)
    assert len(looks) == 3


def test_every_column_of_a_request_is_in_its_checksum(path: Path, asked: int) -> None:
    columns = {str(row[1]) for row in ask(path, "PRAGMA table_info(requests)")} - {"checksum"}
    assert set(re.split(r",\s+", schema.REQUEST)) == columns
