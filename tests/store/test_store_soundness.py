"""Is a damaged record of the store noticed before anything is computed from it, and asked for again without it?"""

from pathlib import Path

import pytest

from engine.scenario.keys import key
from engine.service import computations
from engine.store import requests, status
from engine.store.database import opened
from tests.service_fakes import ask, scenario, scenarios
from tests.store.test_store_quota import finish


def claimed(path: Path, request: int, seeds: range) -> list[str]:
    with opened(path) as store:
        return computations.claim(store, request, [key(scenario(seed), "full") for seed in seeds])


@pytest.mark.parametrize("damage", ["replace(base, '1', '2')", "'{'", "zeroblob(3)"])
def test_a_request_whose_base_is_damaged_ends_with_a_sentence_and_can_be_asked_again(path: Path, damage: str) -> None:
    request = requests.submit(path, scenarios(range(3)), "full")
    ask(path, f"UPDATE requests SET base = {damage}")
    assert claimed(path, request, range(3)) == []
    found = status.status(path, request)
    assert found.state == "failed" and "damaged and was set aside; ask for it again" in found.note
    assert ask(path, "SELECT key, kind FROM set_aside") == [(str(request), "request")]
    again = requests.submit(path, scenarios(range(3)), "full")
    assert again != request and len(claimed(path, again, range(3))) == 3


def test_a_damaged_point_fails_with_a_sentence_the_others_are_computed_and_asking_again_computes_it(path: Path) -> None:
    request = requests.submit(path, scenarios(range(4)), "full")
    ask(path, "UPDATE points SET changes = replace(changes, '2', '7') WHERE position = 2")
    finish(path, request, range(4))
    found = status.status(path, request)
    assert (found.state, found.done, found.failed) == ("done", 4, 1)
    (failure,) = status.failures(path, request)
    assert failure.key == key(scenario(2), "full") and not failure.bug and "ask for it again" in failure.sentence
    again = requests.submit(path, scenarios(range(4)), "full")
    assert again != request and claimed(path, again, range(4)) == [key(scenario(2), "full")]


def test_records_of_a_format_without_checksums_are_believed(path: Path) -> None:
    request = requests.submit(path, scenarios(range(2)), "full")
    ask(path, "UPDATE points SET checksum = NULL")
    ask(path, "UPDATE requests SET checksum = NULL")
    assert len(claimed(path, request, range(2))) == 2
