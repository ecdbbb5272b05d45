"""Do bars, tables and the map of Decide show costs in the objective's unit, with the numbers of the engine's rows?"""

from dataclasses import replace

import pytest

from engine.analysis.verdict.decide import Verdict, verdicts
from engine.analysis.verdict.outlook.bands import CostBand, VerdictBands
from engine.analysis.verdict.outlook.shortlist import winner
from engine.analysis.verdict.outlook.variants import VariedCase
from engine.analysis.verdict.report.sentences import full_use_sentence
from pages.decide_page import costs, decide_charts, decide_tables, questions
from tests import apps
from tests.analysis.verdict.test_decide import FEW, model, question
from tests.apps import text
from tests.cases import each

SYSTEMS = ("all-hbm", "torchrec-uvm", "cxl")
MONTH, BILLION = "Cost of a month [USD (2026)]", "Cost of a billion samples that count [USD (2026)]"


@pytest.fixture(scope="module")
def verdicts_by_unit() -> dict[str, Verdict]:
    """Return a verdict by a month's cost, by a billion samples', and by price."""
    asked = {"month": question(model(), "throughput=1000"), "cost": question(model())}
    asked["capital"] = replace(asked["month"], objective="capital")
    return {unit: next(verdicts(asked_question, SYSTEMS)) for unit, asked_question in asked.items()}


@each(("unit", "title", "field"), [("month", MONTH, "month"), ("cost", BILLION, "cost"), ("capital", BILLION, "cost")])
def test_bars_and_cases_have_the_engine_s_costs_in_the_objective_s_unit(verdicts_by_unit, unit, title, field):
    verdict = verdicts_by_unit[unit]
    assert costs.cost_title(verdict.question) == title
    best = verdict.best_row
    frame = decide_tables.family_rows(verdict, VerdictBands({best.stack: CostBand(1.0, 2.0, 1.0)}, 10))
    totals = {row.family: getattr(row, field).total for row in verdict.families}
    assert dict(zip(frame["family"], frame["total"], strict=True)) == totals and len(totals) > 1
    assert frame.groupby("family")["amount"].sum().to_dict() == pytest.approx(totals, rel=decide_tables.MIN_PART)
    assert frame["low"].notna().any() == (unit != "capital"), "a band is drawn only on bars of its own unit"
    case = VariedCase("popularity", "avazu", 1.0, winner(verdict.question, {best.stack: (best.setting,)}))
    table = decide_tables.case_rows([case], verdict)
    assert list(table[title]) == pytest.approx([getattr(best, field).total] * 2, rel=1e-9)
    assert not {MONTH, BILLION} - {title} & {*table.columns}


def test_all_systems_have_the_cost_of_a_month_and_of_a_billion_samples(verdicts_by_unit):
    for verdict in verdicts_by_unit.values():
        table = decide_tables.all_rows(verdict, "dlrm-kaggle", None)
        rows = [row for row in (*verdict.rows, *verdict.unwritten) if row.cost]
        assert list(table[MONTH].dropna()) == [row.month.total for row in rows]
        assert list(table[BILLION].dropna()) == [row.cost.total for row in rows]
        assert {MONTH, BILLION} <= {*decide_tables.number_formats(verdict.question)}


def test_the_map_names_the_unit_of_its_cells_costs(verdicts_by_unit):
    for unit, title in (("month", MONTH), ("cost", BILLION)):
        verdict = verdicts_by_unit[unit]
        best = verdict.best_row
        cell = winner(verdict.question, {best.stack: (best.setting,)})
        assert cell.cost == pytest.approx(costs.cost_in_force(best, verdict.question).total, rel=1e-9)
        spec = decide_charts.winners_map("GB", "rows", True, True, ("HBM",), costs.cost_title(verdict.question))
        assert title in str(spec) and ({MONTH, BILLION} - {title}).pop() not in str(spec)


def test_the_page_asked_for_a_speed_says_the_month_in_its_chart_and_the_cost_at_full_use(monkeypatch, verdicts_by_unit):
    verdict = verdicts_by_unit["month"]
    monkeypatch.setattr(questions, "first_verdict", lambda question: verdict)
    monkeypatch.setattr(questions, "whole_verdict", lambda question: verdict)
    monkeypatch.setattr(questions, "popularity_cases_of", lambda verdict: ())
    app = apps.opened("decide", {"preset": "tiny", "parts": FEW, "require": "throughput=1000.5"})
    apps.ANSWERS.found()
    app.run()
    assert not app.exception and full_use_sentence(verdict) in text(app.markdown)
    assert MONTH in apps.chart_words(app)["families"]
    (table,) = [frame.value for frame in app.dataframe if "State of the software" in frame.value]
    assert {MONTH, BILLION} <= {*table.columns}
