"""Does whatever can be read of a damaged store come along, nothing that was not written, and the damaged file stay?"""

from pathlib import Path

import numpy as np
import pytest

from engine.__main__ import main
from engine.errors import BadFile
from engine.service import history
from engine.store import requests, status
from engine.store.salvage import salvage
from tests.service_fakes import ask, kept_result, scenario, scenarios
from tests.store.test_store_quota import finish

PAGE = 4096
SEEDS = range(30)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.sqlite"
    finish(path, requests.submit(path, scenarios(SEEDS), "full", title="Before"), SEEDS)
    requests.submit(path, scenarios(range(25, 32)), "full")
    return path


def garbled(path: Path, pages: list[int]) -> bytes:
    content = bytearray(path.read_bytes())
    for page in pages:
        content[page * PAGE : (page + 1) * PAGE] = np.random.default_rng(page).bytes(PAGE)
    path.write_bytes(bytes(content))
    return bytes(content)


def pages(path: Path) -> int:
    return path.stat().st_size // PAGE


def results(path: Path) -> dict[str, str]:
    return {str(name): str(text) for name, text in ask(path, "SELECT key, result FROM results")}


@pytest.mark.parametrize("seed", range(2))
def test_what_can_be_read_moves_to_a_fresh_store_and_the_rest_can_be_asked_for_again(path: Path, seed: int) -> None:
    before = results(path)
    some = np.random.default_rng(seed).choice(range(60, pages(path)), 8, replace=False)
    damaged = garbled(path, sorted(map(int, some)))
    found = salvage(path)
    assert found and found.requests == 2
    after = results(path)
    assert 12 <= len(after) < len(before) and after.items() <= before.items() and found.results == len(after)
    assert found.aside.read_bytes() == damaged
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]
    assert [entry.title for entry in history.entries(path)][1] == "Before"
    again = requests.submit(path, scenarios(SEEDS), "full")
    assert status.status(path, again).done == len(after)
    finish(path, again, SEEDS)
    assert kept_result(path, scenario(1), "full") and set(results(path)) == set(before)


def test_any_page_but_the_first_may_be_damaged(path: Path) -> None:
    whole, before = path.read_bytes(), results(path)
    for page in range(1, pages(path), 47):
        path.write_bytes(whole)
        garbled(path, [page])
        if salvage(path):
            assert results(path).items() <= before.items()
            assert ask(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_damaged_store_s_sentence_names_the_command_and_the_command_says_what_came_along(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(path, "UPDATE requests SET state = 'done'")
    rows = ask(path, "SELECT rootpage FROM sqlite_master WHERE name = 'results'")
    garbled(path, [int(str(rows[0][0])) - 1])
    with pytest.raises(BadFile, match=r"is damaged .*python -m engine serve --salvage --store"):
        kept_result(path, scenario(1), "full")
    assert main(["serve", "--salvage", "--store", str(path), "--idle-exit", "0"]) == 0
    said = capsys.readouterr().err
    assert "The store was damaged: 0 results and 2 requests were read" in said and "store.sqlite.damaged-1" in said


def test_a_sound_store_is_left_alone(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = path.read_bytes()
    assert salvage(path) is None and path.read_bytes() == before
    ask(path, "UPDATE requests SET state = 'done'")
    assert main(["serve", "--salvage", "--store", str(path), "--idle-exit", "0"]) == 0
    assert "is sound; nothing was moved" in capsys.readouterr().err
    assert sorted(folder.name for folder in path.parent.iterdir() if "damaged" in folder.name) == []


def test_a_request_that_lost_points_does_not_go_on_and_is_not_taken_up_again(path: Path) -> None:
    ask(path, "DELETE FROM points WHERE request = 2 AND position = 3")
    rows = ask(path, "SELECT rootpage FROM sqlite_master WHERE name = 'progress'")
    garbled(path, [int(str(rows[0][0])) - 1])
    assert salvage(path)
    found = status.status(path, 2)
    assert found.state == "failed" and found.note == "Some of its points were lost with a damaged store; ask for it again."
    assert requests.submit(path, scenarios(range(25, 32)), "full") == 3
    assert requests.submit(path, scenarios(SEEDS), "full") == 1


def test_a_row_that_can_be_read_but_is_not_what_was_written_stays_behind(path: Path) -> None:
    before = results(path)
    content = bytearray(path.read_bytes())
    content[content.index(b"xxxxxxxx", 100 * PAGE)] = ord("y")
    path.write_bytes(bytes(content))
    garbled(path, [int(str(ask(path, "SELECT rootpage FROM sqlite_master WHERE name = 'progress'")[0][0])) - 1])
    found = salvage(path)
    assert found and found.results == len(before) - 1 and results(path).items() <= before.items()
