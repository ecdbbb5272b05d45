"""Pages whose slow answers are missing: is the rest drawn at once, is it said what is computed, and does the answer follow?"""

from collections import OrderedDict
from concurrent.futures import BrokenExecutor, Future
from types import SimpleNamespace

import pytest

from engine.core.catalog import own_folder
from engine.errors import CannotRun
from engine.scenario.scenario import KNOBS
from pages.answers import later
from pages.design_page import details, questions
from pages.evidence_page import verdicts
from pages.failures_page import faults_panel
from tests import apps
from tests.cases import each

TINY = {"preset": "tiny"}
DATA = {"preset": "torchrec-terabyte"}
SECTIONS = {details.WHY_SECTION: True, details.MEMORY: True, "knobs section": True, "sure": True}
# Page, link, state, what is drawn while parts are missing, and for each of these its caption and what only its answer brings.
PAGES = [
    (
        "failures",
        TINY,
        {},
        {"lost", "close up"},
        {"Simulating checkpoint periods": "periods", faults_panel.SIMULATING: "effects"},
    ),
    (
        "data",
        {**TINY, "data.batch_size": "256"},
        {"count": True},
        {"misses"},
        {"Drawing ids from the generator and counting their lookups": "counted: LRU"},
    ),
    ("data", DATA, {}, {"misses"}, {"Computing which rows find their set locked": "locks"}),
    (
        "design",
        TINY,
        SECTIONS,
        {"clock"},
        {
            "Estimating about 200 machines": "waterfall",
            "Estimating about 600 machines": "latency",
            "Estimating every value of every knob": "every knob",
            "Drawing all constants from their ranges": "tornado",
        },
    ),
]


def never(find, *arguments):
    """Stand for a worker process that is still computing."""
    return later.SharedAnswer()


def drawn(app):
    """Return the keys of a page's charts, and the names of counted curves."""
    specs = "".join(chart.proto.spec for chart in app.get("vega_lite_chart"))
    return {*apps.chart_words(app), *(["counted: LRU"] if "counted: LRU" in specs else [])}


@each(("page", "link", "state", "beside", "parts"), PAGES)
def test_a_page_is_drawn_while_parts_are_computed_and_whole_once_they_are_known(monkeypatch, page, link, state, beside, parts):
    monkeypatch.setattr(questions, "KNOBS", dict([*KNOBS.items()][::9]))  # each takes as long
    monkeypatch.setattr(later, "_shared_answers", OrderedDict())
    with monkeypatch.context() as patch:
        patch.setattr(later, "shared", never)
        app = apps.opened(page, link, **state)
    words = {f"{caption} ..." for caption in parts}
    assert not app.exception and words <= {caption.value for caption in app.caption}
    assert beside <= drawn(app) and drawn(app).isdisjoint(parts.values())
    app.run()
    assert not app.exception and words.isdisjoint(caption.value for caption in app.caption)
    assert {*parts.values()} <= drawn(app)


def test_verdicts_come_one_after_another_while_the_page_says_how_far_they_are(monkeypatch):
    claiming, known = ["tiny", "small"], {}
    monkeypatch.setattr(verdicts, "_VERDICTS", {})
    monkeypatch.setattr(verdicts, "_DIGESTS", {})
    monkeypatch.setattr(verdicts, "_claiming_presets", lambda: claiming)
    monkeypatch.setattr(verdicts, "_preset_seconds", lambda names: dict.fromkeys(names, 1.0))
    monkeypatch.setattr(verdicts, "preset", lambda name: SimpleNamespace(title=name))
    monkeypatch.setattr(later, "shared", lambda find, name: known.setdefault(name, later.SharedAnswer()))
    assert not verdicts.compute() and [*known] == ["tiny"], "one at a time: other pages have questions too"
    known["tiny"].future.set_result(("", ()))
    assert not verdicts.compute() and [*known] == ["tiny", "small"]
    known["small"].future.set_result(("", ()))
    assert verdicts.compute() and verdicts.all_verdicts() == ()


def test_a_failed_part_says_why_and_is_tried_again(monkeypatch):
    failed, timers, drawn_parts = later.SharedAnswer(), [], []
    failed.future.set_exception(BrokenExecutor("ended twice"))
    monkeypatch.setattr(later, "_shared_answers", OrderedDict({(pow, (2, 3), own_folder()): failed}))
    monkeypatch.setattr(later, "_PAGE_POOL", SimpleNamespace(submit=lambda *given: Future()))
    monkeypatch.setattr(later.st, "fragment", lambda look, run_every: timers.append(look) or look)
    with pytest.raises(CannotRun, match="ended twice"):
        later.draw_when_known("Raising", drawn_parts.append, pow, 2, 3)
    assert not timers, "a page that has failed is not drawn again and again"
    assert not later.draw_when_known("Raising", drawn_parts.append, pow, 2, 3) and len(timers) == 1 and not drawn_parts


def test_a_question_that_was_given_up_is_asked_again_by_the_page_that_waits_and_the_page_drawn_once_known(monkeypatch):
    asked, redrawn, timers = [], [], []
    monkeypatch.setattr(later, "_shared_answers", OrderedDict())
    monkeypatch.setattr(later, "_PAGE_POOL", SimpleNamespace(submit=lambda *given: asked.append(Future()) or asked[-1]))
    monkeypatch.setattr(later.st, "fragment", lambda look, run_every: timers.append(look) or look)
    monkeypatch.setattr(later.session, "redraw", lambda: redrawn.append(None))
    assert not later.draw_when_known("Raising", redrawn.append, pow, 2, 3)
    asked[0].set_exception(later.NobodyWaits())
    timers[0]()
    assert len(asked) == 2 and not redrawn
    asked[1].set_result(8)
    timers[0]()
    assert redrawn == [None] and later.draw_when_known("Raising", redrawn.append, pow, 2, 3) and redrawn == [None, 8]
