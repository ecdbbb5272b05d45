"""Visitors of one server: is what is heavy computed beside the process that draws everybody's pages, and let go by who leaves?"""

import os
from collections import OrderedDict
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor, wait
from time import sleep
from types import SimpleNamespace

import pytest

from engine.errors import CannotRun
from pages.answers import later
from pages.data_page import workload_tables
from pages.design_page import details, questions
from pages.failures_page import campaigns
from pages.memory import findings
from pages.why_page import insights
from tests import apps

# Page and section, what must not run where pages are drawn, and words that only its result brings.
HEAVY = [
    ("failures", "", (campaigns, "run_campaign"), "of the time), failures"),
    ("data", "count", (workload_tables, "source"), "LRU"),
    *(
        pytest.param("design", *one, marks=pytest.mark.slow)
        for one in (
            (details.WHY_SECTION, (insights, "decompose"), "each bar adds one change"),
            (details.MEMORY, (findings, "latency_sensitivity"), "Under load, the latency of"),
            ("knobs section", (questions, "effect"), "Step time over each knob"),
        )
    ),
]


ASKED = later.shared


def waited_for(find, *arguments):
    """Ask for an answer that all visitors share, and wait for it."""
    answer = ASKED(find, *arguments)
    wait([answer.future], 600)
    return answer


@pytest.fixture(scope="module")
def beside():
    """Find in processes of their own, as the explorer does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(later, "run_in_worker", apps.ELSEWHERE)
        patch.setattr(later, "_PAGE_POOL", apps.PAGE_POOL)
        patch.setattr(later, "shared", waited_for)
        patch.setattr(later, "_shared_answers", OrderedDict())
        yield
    for processes in later._workers.values():
        processes.shutdown(kill_workers=True)
    later._workers.clear()


def here(*given, **named):
    raise AssertionError("This is computed in the process that draws the pages.")


@pytest.mark.slow
@pytest.mark.parametrize(("page", "section", "work", "words"), HEAVY)
def test_a_heavy_page_is_computed_in_another_process(beside, monkeypatch, page, section, work, words):
    monkeypatch.setattr(*work, here)
    app = apps.opened(page, {"preset": "tiny"}, **({section: True} if section else {}))
    assert not app.exception and words in apps.text(app.markdown) + str(apps.chart_words(app))


def test_a_process_outlives_its_visit_and_one_visitors_work_keeps_no_other_from_a_heavy_page(beside):
    slow = later._PAGE_POOL.submit(apps.ELSEWHERE, sleep, 600)
    visits = [ThreadPoolExecutor(1) for _ in range(2)]
    found = []
    for visit in visits:
        found.append(visit.submit(later.worker_result, os.getpid).result())
        visit.shutdown()  # its thread is gone
    assert found[0] == found[1] != os.getpid()
    app = apps.opened("failures", {"preset": "tiny", "faults.power_loss_mtbf_hours": "20"})
    assert "of the time), failures" in apps.text(app.markdown) and not slow.done()


def test_who_leaves_is_no_longer_waited_for(monkeypatch):
    class Left:
        def get(self, name):
            raise InterruptedError

    queued = Future()
    monkeypatch.setattr(later, "_PAGE_POOL", SimpleNamespace(submit=lambda *given: queued))
    monkeypatch.setattr(later.st, "session_state", Left())
    monkeypatch.setattr(later, "REFRESH_SECONDS", 0.01)
    with pytest.raises(InterruptedError):
        later.worker_result(pow, 2, 3)
    assert queued.cancelled()


def test_a_page_whose_process_dies_twice_says_so(monkeypatch):
    broken = Future()
    broken.set_exception(BrokenExecutor("ended twice"))
    monkeypatch.setattr(later, "_PAGE_POOL", SimpleNamespace(submit=lambda *given: broken))
    with pytest.raises(CannotRun, match="ended twice"):
        later.worker_result(pow, 2, 3)
