"""Who may change a request, whose request continues, and how many one owner may have at once."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import BadInput
from engine.scenario.keys import key
from engine.service import history
from engine.store import requests, schema, status
from engine.store.database import check_store, crc, open_store
from engine.store.files import side_copy
from engine.store.requests import COMMAND, Limit, OthersRequest, User
from engine.store.restoration import restore
from engine.store.side_copy import make_copy
from tests.service_fakes import ask, scenarios

ANNA, BERT, OPERATOR = User("visitor a"), User("visitor b"), User("visitor c", is_operator=True)
Change = Callable[[Path, int, User], None]
CHANGES: dict[str, Change] = {
    "cancel": requests.cancel,
    "renew": requests.renew_lease,
    "pin": lambda path, request, user: history.pin(path, [request], True, user),
    "unpin": lambda path, request, user: history.pin(path, [request], False, user),
    "delete": lambda path, request, user: history.delete(path, [request], user),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


def rows(path: Path) -> list[tuple[object, ...]]:
    return ask(path, "SELECT * FROM requests ORDER BY id")


@pytest.mark.parametrize("name", CHANGES)
def test_only_its_owner_and_an_operator_change_a_request(path: Path, name: str) -> None:
    for user in (ANNA, OPERATOR, COMMAND):
        request = requests.submit(path, scenarios([1, 2]), "full", owner=ANNA.owner)
        ask(path, "UPDATE requests SET lease_until = 0, pinned = ?", name == "unpin")
        before = rows(path)
        for other in (BERT, User(""), User("visitor A"), User("command"), User("visitor")):
            with pytest.raises(OthersRequest, match=rf"request={request} is not yours; ask its owner, or whoever has the token"):
                CHANGES[name](path, request, other)
        assert rows(path) == before
        CHANGES[name](path, request, user)
        assert rows(path) != before


def test_one_foreign_request_among_own_ones_changes_none(path: Path) -> None:
    own = requests.submit(path, scenarios([1]), "full", owner=BERT.owner)
    foreign = requests.submit(path, scenarios([2]), "full", owner=ANNA.owner)
    before = rows(path)
    for change in (lambda: history.delete(path, [own, foreign], BERT), lambda: history.pin(path, [own, foreign], True, BERT)):
        with pytest.raises(OthersRequest, match=f"request={foreign} "):
            change()
    assert rows(path) == before


def test_a_request_without_an_owner_is_an_operators_alone(path: Path) -> None:
    request = requests.submit(path, scenarios([1]), "full", owner="")
    with pytest.raises(OthersRequest):
        requests.cancel(path, request, User(""))
    requests.cancel(path, request, OPERATOR)
    assert status.status(path, request).state == "cancelled"


@pytest.mark.parametrize("state", ["queued", "running", "done", "cancelled", "failed"])
def test_the_same_points_of_another_owner_are_a_request_of_their_own(path: Path, state: str) -> None:
    asked = scenarios([1, 2])
    first = requests.submit(path, asked, "full", owner=ANNA.owner, title="Anna's", link="?a=1")
    ask(path, "UPDATE requests SET state = ?, note = 'By hand.'", state)
    before = rows(path)
    second = requests.submit(path, asked, "full", owner=BERT.owner, title="Bert's")
    assert second != first and rows(path)[:1] == before
    requests.cancel(path, second, BERT)
    history.delete(path, [second], BERT)
    assert rows(path) == before
    assert requests.submit(path, asked, "full", owner=ANNA.owner) == first, "the owner joins it, from any session"
    assert status.status(path, first).state == ("running" if state == "running" else "queued")


def test_a_page_follows_own_requests_and_what_others_have_finished(path: Path) -> None:
    asked, names = scenarios([1]), [key(point, "full") for point in scenarios([1])]

    def followed(user: User | None) -> list[int | None]:
        return [requests.newest_request(path, names, user), requests.newest_by_link(path, "?a", "full", user)]

    first = requests.submit(path, asked, "full", owner=ANNA.owner, link="?a")
    assert followed(ANNA) == followed(None) == [first] * 2 and followed(BERT) == followed(OPERATOR) == [None] * 2
    ask(path, "UPDATE requests SET state = 'done'")
    assert followed(BERT) == [first] * 2
    commands = requests.submit(path, asked, "full", link="?a")
    assert followed(OPERATOR) == followed(None) == [commands] * 2, "an operator is at home on the command line too"
    assert followed(ANNA) == followed(BERT) == [first] * 2
    own = requests.submit(path, asked, "full", owner=BERT.owner, link="?a")
    ask(
        path,
        "UPDATE requests SET state = 'done' WHERE id = ?",
        requests.submit(path, asked, "full", owner="visitor d", link="?a"),
    )
    assert followed(BERT) == [own] * 2 and followed(ANNA) == [first] * 2


def test_the_requests_of_one_owner_have_limits_together(path: Path) -> None:
    limit = Limit(5, 1e9, live_requests=3, live_points=8)

    def submit(seeds: range, user: User = ANNA, limit: Limit = limit) -> int:
        return requests.submit(path, scenarios(seeds), "estimate", owner=user.owner, limit=limit)

    first = submit(range(5))
    with pytest.raises(BadInput, match=r"10 points, but at most 8 are possible; cancel one of your runs, or wait until one ends"):
        submit(range(5, 10))
    assert submit(range(5)) == first, "what is joined does not count twice"
    submit(range(5, 6))
    submit(range(6, 7))
    with pytest.raises(BadInput, match=r"4 runs, but at most 3 are possible; cancel one of your runs, or wait until one ends"):
        submit(range(7, 8))
    assert ask(path, "SELECT count(*) FROM requests") == [(3,)] and ask(path, "SELECT count(*) FROM points") == [(7,)]
    for number in range(5):
        submit(range(5), User(f"visitor {number}"))  # others have limits of their own
        submit(range(number, number + 1), COMMAND, requests.FOR_COMMANDS)
    requests.cancel(path, first, ANNA)
    submit(range(7, 8))


def test_pages_have_limits_for_an_owner_and_commands_have_none(path: Path) -> None:
    assert (requests.FOR_PAGES.live_requests, requests.FOR_PAGES.live_points) == (10, 200_000)
    assert min(requests.FOR_COMMANDS.live_requests, requests.FOR_COMMANDS.live_points) > 1_000_000_000


def to_format_5(path: Path) -> None:
    """Turn a store of today into what format 5 wrote."""
    with sqlite3.connect(path) as store:
        store.create_function("crc", -1, crc, deterministic=True)
        for name in ("asked", "damaged", "changed"):
            store.execute(f"DROP TRIGGER request_{name}")
        store.execute("ALTER TABLE requests DROP COLUMN owner")
        store.execute(f"UPDATE requests SET checksum = crc({schema.OWNERLESS})")
        store.executescript(schema._request_triggers(schema.OWNERLESS) + "PRAGMA user_version = 5;")
    store.close()


def named(path: Path) -> list[tuple[object, ...]]:
    return ask(path, "SELECT id, title, note, pinned, owner FROM requests ORDER BY id")


@pytest.fixture
def filled(path: Path) -> Path:
    """A store with a copy: requests of a visitor and of the command line, with a title, a note and a pin."""
    for seed, user in ((1, ANNA), (2, COMMAND)):
        requests.submit(path, scenarios([seed]), "full", owner=user.owner, title=f"No. {seed}")
    history.pin(path, [1], True, ANNA)
    ask(path, "UPDATE requests SET note = 'By hand.', state = 'done'")
    with open_store(path) as store:
        make_copy(path, store)
    return path


def test_owners_survive_restoring_a_store_from_its_copy(filled: Path) -> None:
    before = named(filled)
    assert [row[-1] for row in before] == [ANNA.owner, COMMAND.owner]
    filled.write_bytes(b"")
    assert not restore(filled).was_sound and named(filled) == before


def test_a_damaged_owner_is_found_and_comes_from_the_copy(filled: Path) -> None:
    before = named(filled)
    with sqlite3.connect(filled) as store:
        store.execute("DROP TRIGGER request_changed")
        store.execute("DROP TRIGGER request_damaged")
        store.execute("UPDATE requests SET owner = 'visitor b' WHERE id = 1")
    store.close()
    assert not restore(filled).was_sound and named(filled) == before


@pytest.mark.parametrize("lost", [False, True])
def test_a_store_of_format_5_keeps_names_notes_and_pins_also_from_its_copy(filled: Path, lost: bool) -> None:
    before = [(*row[:-1], "") for row in named(filled)]
    for file in (filled, side_copy(filled)):
        to_format_5(file)
    if lost:
        filled.write_bytes(b"")
        assert not restore(filled).was_sound
    assert named(filled) == before
    with open_store(filled) as store:
        check_store(store)
    with pytest.raises(OthersRequest):
        history.delete(filled, [1], ANNA)
    history.delete(filled, [1], COMMAND)
