"""Is what the store has acknowledged safe, and is a bad store refused with a sentence?"""

import json
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadFile
from engine.results.csv_table import csv_of, csv_text
from engine.results.result import Result, from_json
from engine.scenario.keys import key
from engine.scenario.scenario import Scenario, values, with_values
from engine.service import computations
from engine.service.worker import _scenario, _with_changes
from engine.store import requests, result_rows, status
from engine.store.database import open_store, transaction
from tests import strategies
from tests.cases import examples
from tests.service_fakes import ask, kept_result, scenario, scenarios

METRICS = ({"Loss": -0.0, "AUC": None}, {"Loss": 1e-300, "AUC": 0.1 + 0.2}, {}, {"Größe [µs]": 5, "Loss": 3e22})


def put(path: Path, asked: Scenario, value: float = 1.5) -> str:
    name = key(asked, "full")
    result = Result(asked, ran=True, outcome="It completed.", results={"AUC": value}, training=({"Batch": 1, "Loss": 0.1},))
    with open_store(path) as store:
        result_rows.store_results(store, [(name, result_rows.row_text(result))])
    return name


def test_a_result_reads_back_equal(path: Path) -> None:
    asked = scenario(3)
    put(path, asked, 0.1 + 0.2)
    found = kept_result(path, asked, "full")
    assert found and found.results == {"AUC": 0.30000000000000004}
    assert found.scenario == asked and found.training == ({"Batch": 1, "Loss": 0.1},)
    assert kept_result(path, asked, "estimate") is None
    with open_store(path) as store:
        assert result_rows.load_result(store, key(asked, "full")) == found


@given(one=strategies.scenarios)
def test_a_row_names_only_knobs_that_differ_and_is_completed_to_the_byte(one: Scenario) -> None:
    result = Result(one, ran=True, outcome="It completed.", results={"AUC": 0.5}, training=({"Batch": 1, "Loss": 0.1},))
    text = result_rows.row_text(result)
    assert (
        result_rows.complete_text(text)
        == result_rows.complete_text(result_rows.result_text(result))
        == result_rows.result_text(result)
    )
    assert from_json(json.loads(text)) == result
    whole = one.model.name != Scenario().model.name
    assert all(value != values(Scenario())[path] or (whole and path.startswith("model.")) for path, value in differs(text))


@examples(10)
@given(scenarios=st.lists(strategies.scenarios, min_size=2, max_size=4), sizes=st.lists(st.sampled_from((64, 128)), min_size=1))
def test_rows_read_for_a_table_are_those_of_results(scenarios: list[Scenario], sizes: list[int]) -> None:
    changes = [{"data.batch_size": size, "data.locality": zero} for size in sizes for zero in (0.0, -0.0)]
    points = [with_values(scenario, change) for scenario in (Scenario(), *scenarios) for change in changes]
    results = [Result(point, True, f'It "ran", {n}.', METRICS[n % len(METRICS)]) for n, point in enumerate(points)]
    reader = result_rows.TableReader()
    rows = [reader.row(key(result.scenario, "full"), result_rows.row_text(result)) for result in results]
    assert csv_of(rows) == csv_text(results, "full")


def differs(text: str) -> list[tuple[str, object]]:
    return [(path, tuple(v) if isinstance(v, list) else v) for path, v in json.loads(text)["scenario"].items()]


def test_the_first_result_under_a_key_stays(path: Path) -> None:
    put(path, scenario(3), 1.0)
    put(path, scenario(3), 2.0)
    found = kept_result(path, scenario(3), "full")
    assert found and found.results == {"AUC": 1.0}


@pytest.mark.parametrize("damage", ["replace(result, '1.5', '1.6')", "'{'", "zeroblob(4)", "''"])
def test_a_damaged_row_goes_and_is_computed_anew(path: Path, damage: str) -> None:
    name = put(path, scenario(3))
    request = requests.submit(path, [scenario(3)], "full")
    assert status.status(path, request).state == "done"
    ask(path, f"UPDATE results SET result = {damage} WHERE key = ?", name)
    assert kept_result(path, scenario(3), "full") is None
    assert ask(path, "SELECT key FROM results") == []
    again = requests.submit(path, [scenario(3)], "full")
    assert status.status(path, again).finished_points == 0


def test_a_row_moved_under_another_key_is_not_believed(path: Path) -> None:
    put(path, scenario(3))
    ask(path, "UPDATE results SET key = ?", key(scenario(4), "full"))
    assert kept_result(path, scenario(4), "full") is None


def test_commits_are_synchronous_and_logged_ahead(synced: None, path: Path) -> None:
    assert ask(path, "PRAGMA synchronous") == [(2,)]  # FULL
    assert ask(path, "PRAGMA journal_mode") == [("wal",)]


def test_a_failed_transaction_leaves_nothing(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), open_store(path) as store, transaction(store):
        store.execute("INSERT INTO progress VALUES ('half', '', 0)")
        raise ZeroDivisionError
    assert ask(path, "SELECT * FROM progress") == []


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.write_text("label,I1\n" * 500)
    with pytest.raises(BadFile, match=r"is not a store of Emberpool; choose another with --store FILE\."):
        ask(path, "SELECT 1")
    assert path.read_text() == "label,I1\n" * 500


def test_a_database_of_another_program_is_refused(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(BadFile, match="database of another program"):
        ask(path, "SELECT 1")


def test_a_newer_store_is_refused(path: Path) -> None:
    with open_store(path) as store:
        store.execute("PRAGMA user_version = 99")
        store.execute("CREATE TABLE theirs (x)")
    with pytest.raises(BadFile, match=r"newer Emberpool .store format 99, this one reads 6.*update"):
        ask(path, "SELECT 1")


def test_a_damaged_database_is_a_sentence(path: Path) -> None:
    put(path, scenario(3))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * len(content[4096:])
    path.write_bytes(bytes(content))
    with pytest.raises(BadFile, match=r"is damaged|cannot be used"):
        kept_result(path, scenario(3), "full")


@pytest.mark.parametrize("where", ["/dev/null/store.sqlite", "."])
def test_a_place_that_cannot_hold_a_store_is_a_sentence(where: str) -> None:
    with pytest.raises(BadFile, match="cannot be used as a store"):
        ask(Path(where), "SELECT 1")


def test_points_of_a_request_read_back_as_the_scenarios_asked_for(path: Path) -> None:
    tiny = with_values(Scenario(), {"model.name": "tiny"})
    own = with_values(Scenario(), {"model.name": "rm1", "model.learning_rate": 0.125})
    like_tiny = with_values(own, {"model.learning_rate": tiny.model.learning_rate})  # which rm1 itself does not have
    assert like_tiny.model.learning_rate != with_values(Scenario(), {"model.name": "rm1"}).model.learning_rate
    asked = (tiny, like_tiny, Scenario(), scenario(5), own, with_values(own, {"machine.pmem_capacity_GB": 10.0}))
    for order in (asked, asked[::-1]):
        request = requests.submit(path, order, "full")
        rows = ask(
            path, "SELECT r.base, p.changes, p.key FROM points p JOIN requests r ON r.id = request WHERE r.id = ?", request
        )
        back = [_with_changes(_scenario(str(base)), str(changes)) for base, changes, _ in rows]
        assert tuple(back) == order
        assert [name for *_, name in rows] == [key(one, "full") for one in order]


def test_claims_are_only_made_for_points_that_someone_waits_for(path: Path) -> None:
    request = requests.submit(path, scenarios([1, 2, 3]), "full")
    names = [key(one, "full") for one in scenarios([1, 2, 3, 4])]
    put(path, scenario(2))
    with open_store(path) as store:
        assert computations.claim_points(store, request, names) == [names[0], names[2]]
        requests.cancel(path, request, requests.COMMAND)
        assert computations.claim_points(store, request, names) == []
