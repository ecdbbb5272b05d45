"""Does a store of an earlier format open as if it had been written today, and is a half-migrated one impossible?"""

import sqlite3
from pathlib import Path

import pytest

from engine import version
from engine.errors import BadFile
from engine.scenario.keys import key, texts
from engine.scenario.scenario import with_values
from engine.service import history, service
from engine.store import quota, result_rows, schema, status
from engine.store.database import check_store, checksum, crc, open_store
from engine.store.requests import _compact
from engine.store.restoration import restore
from engine.store.trainings import load_training
from tests import ROOT
from tests.service_fakes import COMPUTE, ask, kept_result, scenario, scenarios

PUBLISHED = [(ROOT / f"tests/data/store_format_{n}.sql").read_text() for n in (1, 2, 3, 4, 5)]  # each from the one before
FORMAT_1 = PUBLISHED[0]
LAYOUT = "SELECT type, name, sql FROM sqlite_master ORDER BY name"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store as format 1 wrote it: a request for three points, of which the first is finished."""
    path = tmp_path / "old.sqlite"
    first = result_rows.result_text(finished(1))
    with sqlite3.connect(path) as store:
        store.executescript(f"PRAGMA journal_mode = WAL; {FORMAT_1}")
        request = (7, "estimate", None, _compact(texts(scenario(1))), 3, 0, "queued", 1.0, None, 9e9, version.MODEL, "")
        store.execute(f"INSERT INTO requests VALUES ({', '.join('?' * 12)})", request)
        for position, one in enumerate(scenarios([1, 2, 3])):
            changes = _compact({"data.seed": str(one.data.seed)})
            store.execute("INSERT INTO points VALUES (7, ?, ?, ?, 0)", (position, key(one, "estimate"), changes))
        name = key(scenario(1), "estimate")
        store.execute("INSERT INTO results VALUES (?, ?, ?, 'old', 5.0)", (name, first, checksum(name, first)))
    store.close()
    return path


def finished(seed: int) -> result_rows.Result:
    return result_rows.Result(scenario(seed), ran=True, outcome="It completed.", results={"Step time [ms]": 0.25})


def test_a_store_of_format_1_has_today_s_tables_after_it_was_opened_and_its_rows(old: Path, tmp_path: Path) -> None:
    assert ask(old, "SELECT used, code FROM results") == [(5.0, "")]
    assert kept_result(old, scenario(1), "estimate") is None, "nobody knows which code has computed it"
    assert ask(old, "PRAGMA user_version") == [(schema.VERSION,)]
    assert {name for _, name, _ in ask(old, LAYOUT)} == {name for _, name, _ in ask(tmp_path / "new.sqlite", LAYOUT)}
    for table in ("requests", "points", "results", "failures"):
        assert ask(old, f"PRAGMA table_info({table})") == ask(tmp_path / "new.sqlite", f"PRAGMA table_info({table})")
    assert ask(old, "SELECT id, session, keeps_on, title, pinned FROM requests") == [(7, "", 0, "", 0)]
    assert ask(old, f"SELECT count(*) FROM points WHERE checksum = {schema.POINT_CHECKSUM}") == [(3,)]
    assert ask(old, f"SELECT count(*) FROM requests WHERE checksum = {schema.REQUEST_CHECKSUM}") == [(1,)]


@pytest.mark.usefixtures("computed_here")
def test_a_request_of_format_1_is_computed_by_this_code_and_its_old_row_replaced(old: Path) -> None:
    service.serve(old, 1, 0.0, COMPUTE)
    assert status.status(old, 7).state == "done"
    assert ask(old, "SELECT key FROM claims ORDER BY key") == sorted((key(one, "estimate"),) for one in scenarios([1, 2, 3]))
    assert [
        result and result.results["Step time [ms]"]
        for _, result in result_rows.stored_results(old, scenarios([1, 2, 3]), "estimate")
    ] == [seed / 7 for seed in (1, 2, 3)]


def test_a_step_that_fails_leaves_the_earlier_format_whole(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sqlite3.connect(old) as store:
        before = store.execute(LAYOUT).fetchall()
    broken = schema.FORMAT_2.replace("CREATE TABLE settings", "CREATE TABLE results")
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", (schema.FORMAT_1, broken))
        with pytest.raises(BadFile):
            ask(old, "SELECT 1")
    with sqlite3.connect(old) as store:
        assert store.execute(LAYOUT).fetchall() == before
        assert store.execute("PRAGMA user_version").fetchone() == (1,)
    store.close()
    assert ask(old, "SELECT count(*) FROM points") == [(3,)]


@pytest.mark.parametrize("format", [1, 2, 3, 4, 5])
def test_a_published_format_is_never_edited(format: int) -> None:
    first, kept_text = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    for there, steps in ((first, schema.STEPS), (kept_text, PUBLISHED)):
        there.create_function("crc", -1, crc)
        for step in steps[:format]:
            there.executescript(step)
    assert first.execute(LAYOUT).fetchall() == kept_text.execute(LAYOUT).fetchall()
    first.close()
    kept_text.close()


@pytest.fixture
def of_format_4(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with names, a note, a pin, a quota and trained results as format 4 wrote it, and its backup without request 3."""
    monkeypatch.setattr(version, "CODE", "f81d5372fa7cd68a")
    monkeypatch.setattr(version, "MODEL", "0.17")
    write_format_4(Path(f"{path}.backup"))
    with sqlite3.connect(f"{path}.backup") as store:
        store.create_function("crc", -1, crc)
        for table, column in (("requests", "id"), ("points", "request")):
            store.execute(f"DELETE FROM {table} WHERE {column} = 3")
    store.close()
    return write_format_4(path)


def write_format_4(path: Path) -> Path:
    with sqlite3.connect(path) as store:
        store.create_function("crc", -1, crc)
        store.executescript("PRAGMA journal_mode = WAL;" + (ROOT / "tests/data/store_written_by_format_4.sql").read_text())
    store.close()
    return path


def shown(path: Path) -> list[tuple[object, ...]]:
    return [
        (run.request, run.title, run.note, run.pinned, run.num_results, run.num_failures) for run in history.past_requests(path)
    ]


RUNS = [
    (3, "After the backup", "", False, 1, 0),
    (2, "Second thoughts", "It was cancelled by hand.", True, 2, 0),
    (1, "Night of 1,000 modules", "", False, 2, 1),
]


def test_a_store_of_format_4_opens_with_names_notes_pins_and_trained_results(of_format_4: Path) -> None:
    assert shown(of_format_4) == RUNS and quota.usage(of_format_4).quota == 3 * quota.GiB
    then = {"machine.pcie_bandwidth_GBps": 26.0, "machine.framework": "lean"}  # the defaults at that time
    assert all(kept_result(of_format_4, with_values(scenario(seed), then), "full") for seed in (1, 2, 4, 9))
    with open_store(of_format_4) as store:
        check_store(store)
        assert load_training(store, "a class")
    assert "sound" in restore(of_format_4).text


def test_its_service_copies_it_and_says_that_old_backups_may_go(of_format_4: Path, capsys: pytest.CaptureFixture[str]) -> None:
    service.serve(of_format_4, 1, 0.0, COMPUTE)
    assert f"no longer needed; delete {of_format_4}.backup." in capsys.readouterr().err
    of_format_4.write_bytes(b"")
    Path(f"{of_format_4}.backup").unlink()
    assert "4 results and 3 requests" in restore(of_format_4).text
    assert shown(of_format_4) == RUNS and quota.usage(of_format_4).quota == 3 * quota.GiB


def test_a_damaged_store_of_format_4_is_made_of_its_backup(of_format_4: Path) -> None:
    of_format_4.write_bytes(bytes(100) + of_format_4.read_bytes()[100:])
    text = restore(of_format_4).text
    assert "4 results and 2 requests" in text and f"no longer needed; delete {of_format_4}.backup." in text
    assert shown(of_format_4) == RUNS[1:]


def test_a_checksum_tells_values_apart_and_takes_whatever_damage_made_of_them() -> None:
    assert len({crc("a", "b"), crc("ab", ""), crc("a", None), crc(b"a", "b"), crc("b", "a")}) == 5
