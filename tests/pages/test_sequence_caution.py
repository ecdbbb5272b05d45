"""A history that is pooled as a bag: is it warned of over the numbers of each page, once, and never without need?"""

import pytest

from engine.results.result import Result
from engine.scenario.scenario import with_values
from engine.scenario.sequences import sequence_note
from engine.simulate import simulate
from engine.sweep import links
from engine.sweep.axes import parse
from engine.sweep.sweep import Sweep
from pages.answers import caution
from tests import apps
from tests.machines import TINY
from tests.pages.design.test_full_runs import keep

WORD = "sequence model"
SMALL = {"data.batch_size": 16, "run.batches": 4, "run.training": False}


def tiny(*pooling):
    return with_values(TINY, {**SMALL, "model.pooling": pooling})


def page(name, *pooling, **more):
    return apps.opened(name, {**dict(links.query(tiny(*pooling), "tiny")), **more})


def said(app):
    """Return all places of a page that tell of sequences: warnings, then captions and other texts."""
    assert not app.exception
    warned = [one.value.replace("\\", "") for one in app.warning if WORD in one.value]
    return warned, [one.value for one in (*app.caption, *app.markdown, *app.info, *app.error) if WORD in one.value]


@pytest.mark.parametrize(("pooling", "start"), [((3, 1001, 1), "Table 2 of 3 has 1,001 "), ((1000,), "")])
def test_design_warns_once_over_its_numbers_with_a_full_run_beside_the_estimate(pooling, start):
    keep({"cxl": simulate(tiny(*pooling))})
    app = page("design", *pooling)
    assert [one.value for one in app.success], "the full run is shown"
    warned, elsewhere = said(app)
    assert [one.startswith(start) for one in warned] == [True] * bool(start) and elsewhere == []


def test_compare_warns_once_with_full_runs_of_several_systems():
    keep({name: simulate(with_values(tiny(1001), {"system": name})) for name in ("pmem", "cxl")})
    app = page("compare", 1001, axis="system:pmem,cxl")
    warned, elsewhere = said(app)
    assert len(warned) == 1 and elsewhere == []


@pytest.mark.parametrize(
    ("axis", "start"),
    [
        ("model.pooling:3,1001,1500", "2 of 3 points pool sequences, the longest of them this: All 3 tables have 1,500"),
        ("model.pooling:3,1000", ""),
    ],
)
def test_search_warns_of_the_points_that_are_swept_not_of_the_scenario_beside(axis, start):
    warned, elsewhere = said(page("search", 3 if start else 1001, axis=axis))
    assert [one.startswith(start) for one in warned] == [True] * bool(start) and elsewhere == []


@pytest.mark.slow
def test_failures_warns_once():
    warned, elsewhere = said(page("failures", 1001))
    assert len(warned) == 1 and elsewhere == []


def test_the_exact_mean_of_a_file_is_told_under_a_page_that_has_no_caution_and_nothing_twice():
    exact, other = sequence_note((1000.4, 1)), "Something else."
    for pooling, left in (((1000, 1, 1), [exact, other]), ((1001, 1, 1), [other])):
        assert caution.notes_below(Result(tiny(*pooling), True, "", {}, warnings=(exact, other))) == left


def test_a_sweep_makes_a_point_once_for_each_model_it_has(monkeypatch):
    made, axes = [], ("data.batch_size=16,32,64,128", "model.pooling=3,1001", "machine.cxl_bandwidth_GBps=8,16")
    points = Sweep(tiny(1), tuple(map(parse, axes)))
    monkeypatch.setattr(Sweep, "changes", lambda self, index: made.append(index) or self.place(index))
    assert points.sequence_note.startswith("8 of 16 points pool sequences") and len(made) == 2
