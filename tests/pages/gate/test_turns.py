"""Pages of several visitors: drawn in turn, while none can keep the others away for long."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock

import pytest

from pages.answers import turns


@pytest.fixture(autouse=True)
def fresh_turn(monkeypatch):
    monkeypatch.setattr(turns, "_turn", Lock())
    monkeypatch.setattr(turns, "look_whether_left", lambda: None)


@pytest.fixture
def visitors():
    with ThreadPoolExecutor(8) as threads:
        yield threads


def test_pages_are_drawn_one_at_a_time(visitors):
    drawing, most = [], []

    def draw(page):
        with turns.turn():
            drawing.append(page)
            most.append(len(drawing))
            Event().wait(0.01)
            drawing.remove(page)

    list(visitors.map(draw, range(8)))
    assert most == [1] * 8


def test_a_page_that_takes_long_keeps_the_others_away_only_for_some_time(visitors, monkeypatch):
    assert turns.LOOK_SECONDS < turns.PATIENCE_SECONDS < 10
    monkeypatch.setattr(turns, "PATIENCE_SECONDS", 0.2)
    drawn, began = Event(), Event()

    def slow():
        with turns.turn():
            began.set()
            return drawn.wait(20)

    def quick():
        with turns.turn():
            drawn.set()

    page = visitors.submit(slow)
    began.wait(20)
    visitors.submit(quick).result(20)
    assert page.result(20)
    assert not turns._turn.locked()


def test_a_page_that_waits_for_an_answer_lets_others_draw_and_goes_on_in_turn(visitors, monkeypatch):
    monkeypatch.setattr(turns, "PATIENCE_SECONDS", 20.0)
    answered, waits = Event(), Event()

    def waiting_page():
        with turns.turn():
            with turns.leave_turn():
                waits.set()
                assert answered.wait(20)
            return turns._turn.locked()

    def other_page():
        with turns.turn():
            answered.set()

    page = visitors.submit(waiting_page)
    waits.wait(20)
    visitors.submit(other_page).result(20)
    assert page.result(20)
    assert not turns._turn.locked()


def test_who_has_no_turn_leaves_none():
    with turns.leave_turn():
        assert not turns._turn.locked()
    assert not turns._turn.locked()


@pytest.mark.parametrize("waits", [False, True], ids=["while it is drawn", "while it waits"])
def test_a_page_that_ends_with_an_error_leaves_its_turn(waits):
    with pytest.raises(InterruptedError), turns.turn():
        if waits:
            with turns.leave_turn():
                raise InterruptedError
        raise InterruptedError
    assert not turns._turn.locked()


def test_a_visitor_who_goes_on_while_waiting_is_not_drawn(visitors, monkeypatch):
    def left():
        raise InterruptedError

    monkeypatch.setattr(turns, "look_whether_left", left)
    monkeypatch.setattr(turns, "LOOK_SECONDS", 0.01)

    def draw():
        with turns.turn():
            pytest.fail("was drawn")

    with turns.turn():
        page = visitors.submit(draw)
        with pytest.raises(InterruptedError):
            page.result(20)
    assert not turns._turn.locked()
