"""Does each visitor change only their own runs, and do the pages say whose a run is and how to get it changed?"""

import pytest
from streamlit.testing.v1 import AppTest

from engine.service import service
from engine.store import requests, status
from engine.store.database import DEFAULT
from engine.store.requests import User
from pages.answers import runs
from pages.gate import access
from pages.runs_page import history_tables
from tests import apps
from tests.apps import text
from tests.service_fakes import ask, scenarios

ANNA, BERT = User("visitor a"), User("visitor b")
TINY = {"preset": "tiny", "system": "pmem", "run.batches": "40"}


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody compute what pages request."""
    monkeypatch.setattr(service, "ensure_service", lambda _: "")


def visit(monkeypatch: pytest.MonkeyPatch, user: User) -> None:
    """Let the next visitor be this user."""
    monkeypatch.setattr(access, "visitor", lambda: user.owner)
    monkeypatch.setattr(access, "is_trusted", lambda: user.is_operator)


def panel(*numbers: int) -> AppTest:
    """The part of Runs below the list, with these requests chosen."""

    def script(numbers):  # type: ignore[no-untyped-def]
        from engine.service import history
        from engine.store.database import DEFAULT
        from pages.runs_page import history_panel

        history_panel.draw([entry for entry in history.past_requests(DEFAULT) if entry.request in numbers])

    return AppTest.from_function(script, args=(numbers,)).run()


def forced(app: AppTest, name: str) -> AppTest:
    """Press a button as a client does that ignores that it is disabled."""
    app.button(key=name)._value = True
    return app.run()


def rows() -> list[tuple[object, ...]]:
    return ask(DEFAULT, "SELECT id, state, pinned FROM requests ORDER BY id")


@pytest.mark.parametrize("name", ["cancel", "pin", "delete"])
def test_a_run_of_another_visitor_has_its_buttons_disabled_and_the_store_refuses_them(name, monkeypatch) -> None:
    number = requests.submit(DEFAULT, scenarios([1]), "full", owner=ANNA.owner)
    before = rows()
    visit(monkeypatch, BERT)
    app = panel(number)
    assert app.button(key=name).disabled and not app.exception
    assert f"#{number} is not yours; to pin, cancel or delete it, ask the owner, or whoever has the token" in text(app.caption)
    forced(app, name)
    assert rows() == before
    for user in (ANNA, User(BERT.owner, is_operator=True)):
        number = requests.submit(DEFAULT, scenarios([1]), "full", owner=ANNA.owner)
        ask(DEFAULT, "UPDATE requests SET pinned = 0")
        before = rows()
        visit(monkeypatch, user)
        app = panel(number)
        assert "not yours" not in text(app.caption) and not app.button(key=name).disabled
        visit(monkeypatch, BERT)  # whatever was drawn, the visitor who presses is asked for
        app.button(key=name).click().run()
        assert rows() == before and "is not yours; ask its owner" in app.toast[0].value and not app.exception
        visit(monkeypatch, user)
        panel(number).button(key=name).click().run()
        assert rows() != before


def test_own_runs_chosen_beside_others_wait_for_a_choice_without_them(monkeypatch) -> None:
    own, other = (requests.submit(DEFAULT, scenarios([1]), "full", owner=user.owner) for user in (BERT, ANNA))
    visit(monkeypatch, BERT)
    app = forced(panel(own, other), "delete")
    assert f"#{other} is not yours" in text(app.caption) and len(rows()) == 2


def test_the_list_says_whose_each_run_is(monkeypatch) -> None:
    owners = ("visitor a", "visitor b", "session c", "command", "")
    for seed, owner in enumerate(owners):
        requests.submit(DEFAULT, scenarios([seed]), "full", owner=owner, title=f"No. {seed}")
    visit(monkeypatch, BERT)
    app = apps.opened("runs")
    said = dict(zip(app.dataframe[0].value["What"], app.dataframe[0].value["Owner"], strict=True))
    assert list(said.values())[::-1] == ["another visitor's", "yours", "another session's", "command line", "unknown"]
    assert history_tables.owner_text("", User("")) == "unknown"


def test_a_reload_joins_ones_own_run_and_another_visitor_starts_one_of_their_own(monkeypatch) -> None:
    visit(monkeypatch, ANNA)
    app = apps.opened(query=TINY)
    app.button(key="run").click().run()
    (cancel,) = apps.cancel_buttons(app)
    assert [button.key for button in apps.cancel_buttons(apps.opened(query=TINY))] == [cancel.key], "a reload"
    visit(monkeypatch, BERT)
    other = apps.opened(query=TINY)
    assert not apps.cancel_buttons(other)
    other.button(key="run").click().run()
    (others_cancel,) = apps.cancel_buttons(other)
    assert others_cancel.key != cancel.key
    others_cancel.click().run()
    first, second = (status.status(DEFAULT, int(str(button.key).split()[1])).state for button in (cancel, others_cancel))
    assert (first, second) == ("queued", "cancelled")
    assert ask(DEFAULT, "SELECT owner FROM requests") == [(ANNA.owner,), (BERT.owner,)]


def test_a_cancel_button_that_is_anothers_by_now_is_refused(monkeypatch) -> None:
    visit(monkeypatch, ANNA)
    app = apps.opened(query=TINY)
    app.button(key="run").click().run()
    visit(monkeypatch, BERT)
    said: list[str] = []
    monkeypatch.setattr(runs.st, "toast", lambda sentence, **_: said.append(sentence))
    apps.cancel_buttons(app)[0].click().run()
    assert ask(DEFAULT, "SELECT state FROM requests") == [("queued",)] and "not yours" in said[0]


def test_one_visitors_limit_is_a_sentence_and_an_operator_has_none(monkeypatch) -> None:
    for seed in range(requests.FOR_PAGES.live_requests):
        requests.submit(DEFAULT, scenarios([seed]), "full", owner=ANNA.owner)
    visit(monkeypatch, ANNA)
    said: list[str] = []
    monkeypatch.setattr(runs.st, "toast", lambda sentence, **_: said.append(sentence))
    apps.opened(query=TINY).button(key="run").click().run()
    assert "at most 10 are possible; cancel one of your runs, or wait" in said.pop() and len(rows()) == 10
    for user in (BERT, User(ANNA.owner, is_operator=True)):
        visit(monkeypatch, user)
        apps.opened(query=TINY).button(key="run").click().run()
    assert len(rows()) == 12 and not said


def test_a_sweep_that_another_visitor_has_finished_is_shown_and_not_taken_over(monkeypatch) -> None:
    sweep = {"axis": ["data.seed:1,2"], "mode": "full", "preset": "tiny"}
    visit(monkeypatch, ANNA)
    app = apps.opened("search", sweep)
    app.button(key="run").click().run()
    visit(monkeypatch, BERT)
    assert apps.opened("search", sweep).button(key="run"), "a live run of another visitor is not followed"
    ask(DEFAULT, "UPDATE requests SET state = 'done'")
    assert not apps.cancel_buttons(apps.opened("search", sweep))
    assert [row[0] for row in ask(DEFAULT, "SELECT owner FROM requests")] == [ANNA.owner]
