"""One number, one name: do pages, commands and files show one value of each named quantity of one scenario?"""

import re
from collections import defaultdict
from collections.abc import Iterator

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from engine.analysis.enough.question import baseline_of
from engine.analysis.verdict.decide import SystemRow, Verdict, decide
from engine.analysis.verdict.outlook.shortlist import winner
from engine.analysis.verdict.question import VerdictQuestion
from engine.analysis.verdict.report.content import verdict_content
from engine.analysis.verdict.stacks import SoftwareChoice
from engine.campaign.monthly.losses import LOST_USD
from engine.core.figures import figure
from engine.estimate import estimate
from engine.insight import quantities
from engine.insight.quantities import (
    BILLION_SAMPLES,
    CAPITAL,
    ELECTRICITY,
    HIT_RATE,
    OUTAGE_ENERGY,
    OUTAGES,
    POWER,
    QUANTITIES,
    TABLES,
    THROUGHPUT,
    TRAINED,
    TRAINING_ENERGY,
)
from engine.results.result import Result
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.sweep import links
from engine.validation.claims import claims
from engine.validation.validate import claim_points
from pages.decide_page import costs, decide_tables
from pages.decide_page.decide_charts import PRICE
from pages.failures_page import losses_panel
from pages.failures_page.fault_tables import weeks_title
from pages.ui.numbers import label, quantity_text, result_text
from tests import apps

STEP, JOULES = "Step time [ms]", "Energy per batch [J]"
PAGES = ("design", "failures", "data")
OWN = SoftwareChoice("ms=0.3")  # it runs every system, in one row each
# A UVM cache with locked sets in a machine that loses power, and the paper's prototype.
SCENARIOS = {
    "uvm cache": with_values(
        preset("dlrm-kaggle").scenario,
        {"system": "torchrec-uvm", "policy.cache_load_factor": 0.001, "faults.power_loss_mtbf_hours": 24.0},
    ),
    "cxl": preset("trainingcxl-rm1").scenario,
}


def shown(app: AppTest, system: str) -> Iterator[tuple[str, str]]:
    """Yield (quantity, number with unit) wherever a page shows a named quantity: tiles, tables, sentences and titles."""
    names = {label(name).lower(): name for name in QUANTITIES}
    for tile in app.metric:
        if (name := names.get(tile.label.lower())) is not None:
            yield name, tile.value
    for table in app.dataframe:
        frame = table.value
        rows = frame[frame["Training system"] == system] if "Training system" in frame else frame.iloc[:0]
        for name in set(frame.columns) & set(QUANTITIES):
            yield from ((name, result_text(number, name[name.index("[") + 1 : -1])) for number in rows[name].dropna())
    told = apps.text([*app.header, *app.markdown, *app.caption]) + " ".join(apps.chart_words(app).values())
    for words, number in re.findall(rf"\b({'|'.join(map(re.escape, names))}) of ([\d.,]+ [^\s.,;:)]+)", told, re.IGNORECASE):
        yield names[words.lower()], number


def opened(page: str, scenario: Scenario) -> AppTest:
    app = apps.opened(page, apps.link(links.link(scenario).partition("?")[2]))
    for _ in range(2):
        apps.ANSWERS.found()
        app.run()
    assert not app.exception
    return app


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_all_pages_show_one_value_of_each_quantity(scenario: Scenario) -> None:
    result, values = estimate(scenario), defaultdict(set)
    pages = {page: opened(page, scenario) for page in PAGES}
    for app in pages.values():
        for name, number in shown(app, scenario.system):
            values[name].add(number)
    assert values == {name: {quantity_text(name, result)} for name in values}
    assert {STEP, JOULES, CAPITAL, ELECTRICITY, BILLION_SAMPLES, POWER} <= set(values)
    assert (HIT_RATE in values) == (scenario.system == "torchrec-uvm")
    tables = quantity_text(TABLES, result)
    assert f"({tables} of tables)" in apps.text(pages["failures"].markdown)
    assert f"of {tables} in all tables" in apps.text(pages["data"].caption)


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    scenario = with_values(preset("dlrm-kaggle").scenario, {"faults.power_loss_mtbf_hours": 24.0})
    return decide(VerdictQuestion(scenario, software=OWN), ("cxl", "dram"))


def row_and_result(verdict: Verdict) -> Iterator[tuple[SystemRow, Result]]:
    for row in verdict.rows:
        assert row.scenario
        yield row, estimate(row.scenario)


def test_decide_shows_the_numbers_of_the_pages_that_its_links_open(verdict: Verdict) -> None:
    table = decide_tables.all_rows(verdict, "dlrm-kaggle", None)
    lost = decide_tables.failure_losses(verdict).set_index("System")[LOST_USD]
    told = {row["system"]: row for row in verdict_content(verdict, "dlrm-kaggle")["rows"]}
    for (row, result), (_, cells) in zip(row_and_result(verdict), table.iterrows(), strict=True):
        for name in (POWER, THROUGHPUT):
            assert cells[name] == quantities.number(name, result)
        assert told[row.system]["meter_watts"] == cells[POWER] > result.results["Average power [W]"]
        assert cells[PRICE] - quantities.number(CAPITAL, result) == pytest.approx(row.protection.price)
        alone = quantities.number(BILLION_SAMPLES, result)
        assert cells[costs.billion_title(verdict.question)] == pytest.approx(alone / row.protection.share, rel=1e-4)
        month = losses_panel.monthly_losses(result.scenario)
        assert lost[decide_tables.title(row.system)] == pytest.approx(month.usd(month.chosen_loss.share.total), rel=1e-3)
        assert month.cluster_hour.watts == cells[POWER]
        assert month.cluster_hour.electricity * month.cluster_hour.hours == pytest.approx(quantities.number(ELECTRICITY, result))
        assert row.watts == pytest.approx(cells[POWER] + row.protection.watts)


def test_failures_a_month_cost_less_where_a_machine_trains_less() -> None:
    months = {}
    for hours in (730.0, 73.0):
        faults = {"faults.power_loss_mtbf_hours": 24.0, "machine.training_hours_a_month": hours}
        verdict = decide(VerdictQuestion(with_values(preset("dlrm-kaggle").scenario, faults), software=OWN), ("cxl",))
        (months[hours],) = decide_tables.failure_losses(verdict)[LOST_USD]
    an_hour = {hours: usd / hours for hours, usd in months.items()}
    assert an_hour[73.0] > 5 * an_hour[730.0]  # the price is written off in a tenth of the hours, ten times as much each
    assert months[73.0] < 1.05 * months[730.0]


def test_the_winner_of_a_changed_question_has_the_numbers_of_its_row(verdict: Verdict) -> None:
    row = verdict.best_row
    assert row and row.result and row.cost
    best = winner(verdict.question, {row.stack: (row.setting,)})
    assert best.system == row.system and best.throughput == pytest.approx(quantities.number(THROUGHPUT, row.result), rel=1e-9)
    assert (best.capital, best.cost) == (pytest.approx(row.capital, rel=1e-9), pytest.approx(row.cost.total, rel=1e-9))


def test_the_saving_on_evidence_is_that_on_design() -> None:
    scenario = preset("trainingcxl-rm1").scenario
    own, base = (estimate(s).results[JOULES] for s in (scenario, baseline_of(scenario, "pmem")))
    (claim,) = (claim for claim in claims("trainingcxl-rm1") if claim.title.startswith("Energy saved") and "geo" in claim.title)
    (points,) = (points for points in claim_points(claim) if points[0].preset == "trainingcxl-rm1")
    measured, measured_base = (
        estimate(with_values(scenario, {"system": point.system, **dict(point.knobs)})).results[JOULES] for point in points
    )
    assert 1 - measured / measured_base == pytest.approx(1 - own / base, rel=1e-9)
    tile = next(tile for tile in apps.opened("design", {"preset": "trainingcxl-rm1"}).metric if tile.label == label(JOULES))
    assert tile.delta == f"-{figure(100 * (1 - own / base))} %"


def test_means_over_campaigns_have_names_of_their_own() -> None:
    assert weeks_title("Lost work [h]") == "Lost work, mean over weeks [h]"
    assert weeks_title("Energy per sample [J]") == "Energy per sample [J]"
    assert pd.Index(map(weeks_title, QUANTITIES)).intersection(pd.Index(QUANTITIES)).tolist() == [
        POWER,
        ELECTRICITY,
        BILLION_SAMPLES,
        *(TRAINED, OUTAGES, TRAINING_ENERGY, OUTAGE_ENERGY),
        TABLES,
    ]
