"""Answers beside the page: found in another process, once, not for those who have gone on, and again where that process dies."""

import os
import signal
from collections import OrderedDict
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from threading import Event

import pytest

from engine.errors import CannotRun
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from pages.answers import later
from pages.design_page import questions
from tests import apps


class Visitor:
    """Stands for a visitor's session."""

    session_id = "a visitor"


@pytest.fixture
def visitor(monkeypatch):
    monkeypatch.setattr(later, "get_script_run_ctx", Visitor)
    later._questions.clear()
    apps.ANSWERS.found()  # nothing: nobody waits for what earlier tests have asked


@pytest.mark.slow
def test_one_visitor_waits_for_one_answer_of_a_kind_and_what_is_known_is_not_found_again(visitor):
    first, second = later.answer("power", pow, 2, 3), later.answer("power", pow, 2, 4)
    other = later.answer("another kind", pow, 2, 3)
    apps.ANSWERS.found()
    assert isinstance(first.exception(), later.NobodyWaits) and (second.result(), other.result()) == (16, 8)
    assert later.answer("power", pow, 2, 4) is second
    again = later.answer("power", pow, 2, 3)
    apps.ANSWERS.found()
    assert again is not first and again.result() == 8


def test_two_questions_of_one_kind_have_an_answer_each(visitor):
    power, rest = later.answer("number", pow, 7, 4), None
    apps.ANSWERS.found()
    rest = later.answer("number", divmod, 7, 4)
    apps.ANSWERS.found()
    assert (power.result(), rest.result()) == (2401, (1, 3))


class Workers:
    """Stand for worker processes, which answer once they may: noted is what they computed."""

    def __init__(self):
        self.may_answer, self.computed = Event(), []

    def __call__(self, find, *arguments):
        self.computed.append(arguments)
        assert self.may_answer.wait(20)
        return find(*arguments)


@pytest.fixture
def workers(monkeypatch):
    """Share answers among visitors as the explorer does; one question is computed at a time."""
    stand_in = Workers()
    monkeypatch.setattr(later, "run_in_worker", stand_in)
    monkeypatch.setattr(later, "_shared_answers", OrderedDict())
    monkeypatch.setattr(later, "_PAGE_POOL", pool := ThreadPoolExecutor(1))
    monkeypatch.setattr(later, "REFRESH_SECONDS", 0.01)
    yield stand_in
    stand_in.may_answer.set()
    pool.shutdown()


def leave():
    """Stand for Streamlit, which ends the script of a visitor who leaves."""
    raise InterruptedError


def test_visitors_with_one_question_share_its_answer(workers):
    with ThreadPoolExecutor(3) as visitors:
        asked = [visitors.submit(later.cached_result, pow, 2, 5) for _ in range(3)]
        workers.may_answer.set()
        assert [one.result(20) for one in asked] == [32] * 3
    assert workers.computed == [(2, 5)] and later.cached_result(pow, 2, 5) == 32 and len(workers.computed) == 1


def test_what_a_visitor_who_left_has_asked_is_computed_and_there_for_the_next_visit(workers):
    for arguments in ((2, 3), (2, 4)):  # the second waits in the queue
        with pytest.raises(InterruptedError):
            later.cached_result(pow, *arguments, meanwhile=leave)
    workers.may_answer.set()
    assert [later.cached_result(pow, 2, 4), later.cached_result(pow, 2, 3)] == [16, 8] and workers.computed == [(2, 3), (2, 4)]


def test_a_question_in_the_queue_is_given_up_once_nobody_has_waited_for_long_and_computed_when_asked_again(workers, monkeypatch):
    for arguments in ((2, 3), (2, 4)):
        with pytest.raises(InterruptedError):
            later.cached_result(pow, *arguments, meanwhile=leave)
    monkeypatch.setattr(later, "PATIENCE_SECONDS", -1.0)
    given_up = [*later._shared_answers.values()][1].future
    workers.may_answer.set()
    assert isinstance(given_up.exception(20), later.NobodyWaits) and workers.computed == [(2, 3)]
    monkeypatch.setattr(later, "PATIENCE_SECONDS", 20.0)
    assert later.cached_result(pow, 2, 4) == 16 and workers.computed == [(2, 3), (2, 4)]


def test_a_failed_answer_is_tried_again_and_only_some_answers_are_kept(workers):
    workers.may_answer.set()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            later.cached_result(divmod, 1, 0)
    assert len(workers.computed) == 2
    assert [later.cached_result(pow, 1, number) for number in range(later.CACHED_RESULTS + 9)][-1] == 1
    assert len(later._shared_answers) == later.CACHED_RESULTS


def test_a_page_is_drawn_anew_when_a_group_is_whole_and_has_no_timer_once_none_is_open(monkeypatch):
    drawn, timers = [], []
    monkeypatch.setattr(later.session, "redraw", lambda: drawn.append(None))
    monkeypatch.setattr(later.st, "fragment", lambda look, run_every: timers.append(look) or look)
    done, open_, more = Future(), Future(), Future()
    done.set_result(1)
    later.redraw_after((done, open_), (more,), (done,))
    assert len(timers) == 1 and not drawn
    more.set_result(2)
    timers[0]()
    assert len(drawn) == 1
    open_.set_exception(CannotRun("no"))
    later.redraw_after((done, open_), (more,))
    assert len(timers) == 1


@pytest.mark.slow
def test_what_the_page_wants_is_found_in_another_process_and_again_where_that_one_dies():
    asked, nodes = with_values(preset("tiny").scenario, {"data.seed": 12}), preset("mtrains-capacity").scenario
    given = asked, with_values(asked, {"system": "dram"}), 0.1
    try:
        assert apps.ELSEWHERE(questions.smallest_machines, *given).cheapest == questions.smallest_machines(*given).cheapest
        assert apps.ELSEWHERE(questions.smallest_bands, *given) == questions.smallest_bands(*given)
        assert apps.ELSEWHERE(questions.result_bands, asked) == questions.result_bands(asked)
        with pytest.raises(CannotRun, match="baseline, system dram, cannot run"):
            apps.ELSEWHERE(questions.smallest_machines, nodes, with_values(nodes, {"system": "dram"}), 0.1)
        first = apps.ELSEWHERE(os.getpid)
        os.kill(first, signal.SIGKILL)
        assert apps.ELSEWHERE(os.getpid) not in (first, os.getpid())
        with pytest.raises(BrokenExecutor, match="stopped twice; reload the page"):
            apps.ELSEWHERE(os.abort)
    finally:
        for processes in later._workers.values():
            processes.shutdown(kill_workers=True)
        later._workers.clear()
