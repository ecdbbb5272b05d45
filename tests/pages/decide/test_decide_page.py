"""Decide: does the page say the engine's verdict, keep it by its question, and refuse in words what cannot be asked?"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from engine.analysis.verdict.decide import Verdict, decide, verdicts
from engine.analysis.verdict.outlook import axes, territory
from engine.analysis.verdict.outlook.outlook import shortlist_of
from engine.analysis.verdict.outlook.tipping import TippingPoint, tipping_points
from engine.analysis.verdict.outlook.variants import SIZE
from engine.analysis.verdict.report.asked import read_question
from engine.analysis.verdict.report.sentences import headline
from engine.sweep import links
from pages.answers import later
from pages.decide_page import answer_panel, decide_tables, form, map_panel, questions
from tests import apps
from tests.analysis.verdict.test_decide import FEW, SOME, model

QUERY = {"preset": "tiny", "parts": FEW, "require": "throughput=1000"}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search few systems, and a map of few cells."""
    monkeypatch.setattr(questions, "first_verdict", lambda question: next(verdicts(question, SOME)))
    monkeypatch.setattr(questions, "whole_verdict", lambda question: decide(question, SOME))
    small = {name: replace(axis, values=axis.values[::8]) for name, axis in axes.AXES.items()}
    monkeypatch.setattr(questions, "tipping_of", lambda verdict: tuple(_tipping(verdict)))
    for module in (territory, map_panel, decide_tables):
        monkeypatch.setattr(module, "AXES", small)
    monkeypatch.setattr(later, "_futures", type(later._futures)())


def _tipping(verdict: Verdict) -> Iterator[TippingPoint]:
    """Yield where the verdict changes with its model's size alone."""
    return tipping_points(verdict.question, shortlist_of(verdict), (SIZE,))


@pytest.mark.slow
def test_the_page_says_the_verdict_of_its_link_and_all_that_hangs_on_it(few: None) -> None:
    app = apps.opened("decide", QUERY)
    assert not app.exception and answer_panel.COMPARING in apps.text(app.markdown)
    for _ in range(8):
        apps.ANSWERS.found()
        app.run()
    assert not app.exception and not app.error
    asked = read_question(app.session_state["scenario"], form.questions_of(app.session_state))
    verdict = decide(asked, SOME)
    assert headline(verdict).partition(": ")[2] in apps.text(app.markdown)
    assert "draws of constants" in apps.text(app.markdown) and "being computed" not in apps.text(app.caption)
    tables = {next(iter(one.value.columns)): one.value for one in app.dataframe}
    assert len(tables["System"]) == len((*verdict.rows, *verdict.unwritten))
    assert verdict.best_row and tables["Part"]["USD"].sum() == pytest.approx(verdict.best_row.capital)
    assert links.open_link(str(tables["System"]["Open"].dropna().iloc[0])).scenario.system in SOME


def test_a_press_opens_the_machine_in_design(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.SOME", ("all-hbm", "torchrec-uvm"))
    app = apps.opened("decide", QUERY)
    apps.ANSWERS.found()
    app.run()
    app.button(key="open").click().run()
    assert not app.exception and app.session_state["scenario"].machine.host == "amx-2023"


def test_the_rent_of_the_verdict_s_gpus_is_a_line_below_the_answer(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.SOME", ("all-hbm",))
    for gpu, lines in (("h100-sxm", 1), ("h100-pcie", 0)):
        app = apps.opened("decide", QUERY | {"parts": f"gpu={gpu},host=amx-2023"})
        apps.ANSWERS.found()
        app.run()
        said = [caption.value for caption in app.caption if caption.value.startswith("Rented on demand at")]
        assert not app.exception and len(said) == lines and all("buying pays after" in line for line in said)


def test_what_cannot_be_asked_is_said_in_the_answer_s_box_and_nothing_else_is_lost(few: None) -> None:
    app = apps.opened("decide", {"preset": "tiny"})
    app.selectbox(key=form.REQUIREMENT).set_value("throughput").run()
    app.text_input(key=form.REQUIRED_VALUE).set_value("fast").run()
    assert not app.exception and "No verdict" in apps.text(app.header) and "throughput" in apps.text(app.markdown)
    app.text_input(key=form.REQUIRED_VALUE).set_value("1e6").run()
    assert "No verdict" not in apps.text(app.header)
    assert app.query_params["require"] in ("throughput=1e6", ["throughput=1e6"])


def test_the_form_comes_back_from_a_link() -> None:
    scenario = model()
    asked = links.open_link(
        "/decide?preset=tiny&require=days%3D7%3A1e12&require=budget%3D5e5&lose=batches%3D10&objective=energy&parts=all,gpu%3Dv100"
    )
    assert read_question(scenario, asked.questions).requirement.samples == 1e12
    query = {
        "preset": "tiny",
        "require": ["days=7:1e12", "budget=5e5", "weeks=20"],
        "lose": "batches=10",
        "parts": "all,gpu=v100",
    }
    app = apps.opened("decide", query)
    keys = (form.REQUIREMENT, form.REQUIRED_VALUE, form.BUDGET, form.LOSS, form.LOSS_LIMIT, form.PARTS, form.GPU, form.WEEKS)
    assert [app.session_state[key] for key in keys] == ["days", "7:1e12", "5e5", "batches", "10", "all", "v100", "20"]
    app.text_input(key=form.WEEKS).set_value("30.5").run()
    assert app.query_params["require"] == ["days=7:1e12", "budget=5e5", "weeks=30.5"]


def test_the_weeks_asked_limit_the_page_s_verdict_and_its_delivery_is_said(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.SOME", ("all-hbm",))
    app = apps.opened("decide", {"preset": "tiny", "parts": "gpu=h100-sxm,host=amx-2023"})
    for weeks, header in (
        ("20", "No machine of the allowed parts meets what is asked: delivery in 20 weeks"),
        ("40", "Keep the tables in HBM"),
    ):
        app.text_input(key=form.WEEKS).set_value(weeks).run()
        apps.ANSWERS.found()
        app.run()
        assert not app.exception and header in apps.text(app.header)
    assert "it may come later than in the 40 weeks asked." in apps.text(app.caption)
