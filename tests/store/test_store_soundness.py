"""Is a damaged record of the store noticed before anything is computed from it, or shown of it?"""

import re
import sqlite3
from pathlib import Path

import pytest

from engine.errors import BadFile
from engine.scenario.keys import key
from engine.service import computations, history, service
from engine.store import database, metric_columns, quota, requests, schema, status
from engine.store.database import open_store
from engine.store.owner import own_store
from engine.store.restoration import restore
from tests.service_fakes import COMPUTE, ask, num_finished, scenario, scenarios
from tests.store.test_store_quota import fill

REMEDY = r"is damaged \(malformed: {} is not as it was written\); python -m engine serve --restore .* can still be read\.$"
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
def test_the_service_refuses_a_store_with_a_damaged_row(path: Path, asked: int, what: str, change: str) -> None:
    damaged(path, what, change)
    with pytest.raises(BadFile, match=REMEDY.format(what)):
        service.serve(path, 1, 0.0)


def test_viewers_show_no_number_or_knob_from_a_damaged_row(path: Path, asked: int) -> None:
    assert num_finished(metric_columns.columns_of_request(path, asked)) == 3
    damaged(path, "a point", "position = 9 WHERE request = 2 AND position = 1")
    damaged(path, "a point", "changes = replace(changes, '2', '7') WHERE request = 2 AND position = 2")
    columns = metric_columns.columns_of_request(path, asked)
    assert list(columns.state) == [metric_columns.COMPLETED, *[metric_columns.UNFINISHED] * 3]
    damaged(path, "a request", "base = replace(base, '0.05', '0.06')")
    for show in (lambda: status.status(path, asked), lambda: history.past_requests(path)):
        with pytest.raises(BadFile, match=REMEDY.format("a request")):
            show()


@pytest.mark.parametrize(
    ("what", "change"), [("a request", "base = zeroblob(3)"), ("a point", "changes = '{}' WHERE position = 3")]
)
def test_nothing_is_computed_from_what_is_damaged_at_work(path: Path, asked: int, what: str, change: str) -> None:
    with own_store(path):
        damaged(path, what, change)
        with pytest.raises(BadFile, match=REMEDY.format(what)), open_store(path) as store:
            computations.claim_points(store, asked, [key(scenario(3), "full")])
        assert ask(path, "SELECT 1 FROM claims WHERE ending IS NULL") == []


def test_a_change_of_a_damaged_request_does_not_make_it_believed(path: Path, asked: int) -> None:
    with own_store(path):
        damaged(path, "a request", "total = 5")
        with pytest.raises(BadFile, match=REMEDY.format("a request")):
            requests.cancel(path, asked, requests.COMMAND)


@pytest.mark.usefixtures("computed_here")
def test_whatever_the_store_itself_changes_stays_believed(path: Path, asked: int) -> None:
    for change in (
        lambda: requests.cancel(path, asked, requests.COMMAND),
        lambda: history.pin(path, [asked], True, requests.COMMAND),
    ):
        change()
    requests.submit(path, scenarios(range(4)), "full", title="Again", link="?a")
    service.serve(path, 1, 0.0, COMPUTE)
    assert status.status(path, asked).state == "done"
    requests.submit(path, scenarios(range(3, 6)), "full")
    ask(path, "UPDATE points SET class = 'a'")
    with open_store(path) as store:
        database.check_store(store)
    assert [entry.num_points for entry in history.past_requests(path)] == [3, 4, 2]


def test_a_damaged_quota_drops_nothing(path: Path) -> None:
    quota.set_quota(path, 1.0)
    ask(path, "UPDATE settings SET value = '1' WHERE name = ?", quota.SETTING)
    with pytest.raises(BadFile, match=REMEDY.format("a setting")):
        service.serve(path, 1, 0.0)


@pytest.mark.parametrize("statement", ["DROP TRIGGER result_kept", "PRAGMA user_version = 7"])
def test_tables_that_are_not_as_they_were_made_are_restored(path: Path, asked: int, statement: str) -> None:
    with sqlite3.connect(path) as store:
        store.execute(statement)
    store.close()
    with pytest.raises(BadFile, match=r"is damaged \(malformed: its (tables are not as they were made|format is not as it was)"):
        service.serve(path, 1, 0.0)
    assert not restore(path).was_sound and status.status(path, asked).total == 4


def test_every_column_of_a_request_is_in_its_checksum(path: Path, asked: int) -> None:
    columns = {str(row[1]) for row in ask(path, "PRAGMA table_info(requests)")} - {"checksum"}
    assert set(re.split(r",\s+", schema.REQUEST)) == columns
