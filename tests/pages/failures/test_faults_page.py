"""The page Faults: does it open by link, keep to the campaigns' numbers, and say in a sentence what it cannot show?"""

from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.campaign.fault_stream import hazards_of
from engine.campaign.monthly import losses
from engine.estimate import estimate
from engine.insight.power_loss_detail import power_loss_detail
from engine.results.metrics import all_metrics
from engine.units import DAY
from pages.failures_page import campaigns, close_up_panel, failure_settings, fault_charts, fault_tables
from tests import apps
from tests.apps import address, fields, text
from tests.cases import each
from tests.machines import scenario

RATIO = "Effective training time ratio"
DAILY = {"faults.power_loss_mtbf_hours": 24.0}
of = cache(lambda name, system, *knobs: campaigns.simulate_campaigns(scenario(name, system, **dict(knobs))))


def opened(**query):
    return apps.opened("failures", {key.replace("__", "."): value for key, value in query.items()})


def test_a_link_opens_the_page_with_the_protections_best_first():
    app = opened(preset="trainingcxl-rm1", faults__power_loss_mtbf_hours="24.0", policy__protection="relaxed")
    assert not app.exception and not app.error
    assert "a month are lost with relaxed undo log" in text(app.header)
    table = app.dataframe[1].value
    shares = table["Effective training time ratio, mean over weeks"].dropna()
    assert list(shares) == sorted(shares, reverse=True) and table["Protection"][0] == "Relaxed undo log"
    words = apps.chart_words(app)
    assert "Power is lost in batch 6" in words["close up"]
    assert words["lost"].startswith("Relaxed undo log loses least") and "hours lost a month" in words["lost"]
    assert app.dataframe[0].value["Protection"][0] == "▶ Relaxed undo log"


@each("system", ["cxl", "cxl-b", "pmem", "dram"], few=4)
def test_a_campaign_under_the_systems_own_log_agrees_with_the_estimate(system):
    found = of("optane-kaggle", system, ("faults.power_loss_mtbf_hours", 1e6))
    log = found.campaigns_of(campaigns.own_log_name(scenario("optane-kaggle", system)))
    results = estimate(scenario("optane-kaggle", system)).results
    ratio, handed = results[RATIO], 0.040 if system == "pmem" else 0.0  # ms; an estimate calls the hand-off to its log a transfer
    assert log.share == pytest.approx(ratio - handed / results["Step time [ms]"], rel=0.001) and log.means[RATIO] == log.share
    assert ratio == 1 or abs(found.protections[0].share / ratio - 1) > 0.3, "other protections differ by far"


@pytest.mark.slow
def test_pages_that_show_another_ratio_say_of_what_it_is():
    query = {"preset": "optane-kaggle", "faults.power_loss_mtbf_hours": "24.0", "machine.pmem_capacity_GB": "128.0"}
    app = apps.opened("faults", query)
    weeks = "own log, relaxed undo log: over these weeks 78.3 % of the time is useful"
    assert f"{weeks}, against 78.5 % in an estimate, which has no faults" in text(app.caption).replace("\\", "")
    assert not {metric.name for metric in all_metrics() if "ratio" in metric.name} & set(app.dataframe[1].value.columns)
    app.button(key="own log").click().run()
    assert ("policy.protection", "relaxed") in address(app) and "are lost with relaxed undo log" in text(app.header)
    assert RATIO not in [tile.label for tile in apps.opened("design", query).metric]


@pytest.mark.slow
def test_a_first_visitor_sees_a_daily_power_loss_under_the_systems_own_log():
    app = opened(preset="dlrm-kaggle")
    assert "With power lost once a day, 1.27 h and 1.79 USD a month are lost with relaxed undo log" in text(app.header)
    assert "As an example, power is lost once a day" in text(app.caption)
    assert app.selectbox(key=failure_settings.PROTECTION).value == "relaxed"
    assert address(app) == address(opened(preset="dlrm-kaggle")), "looking is no choice: the link opens what one sees"
    assert not {"faults.power_loss_mtbf_hours", "policy.protection"} & set(dict(address(app)))
    app.selectbox(key=failure_settings.PROTECTION).set_value("periodic-full").run()
    assert "are lost with periodic full checkpoint" in text(app.header) and "As an example" not in text(app.caption)
    assert ("faults.power_loss_mtbf_hours", "24.0") in address(app), "what was shown is chosen with it"
    again = apps.opened("failures", apps.link("&".join(map("=".join, address(app)))))
    assert text(again.header) == text(app.header) and not again.exception


@each(("chosen", "protection", "mtbf"), [
    ({}, "relaxed", DAY),
    ({"policy.protection": "check-n-run"}, "check-n-run", DAY),
    ({"faults.machines": 16}, "relaxed", DAY),
    ({"faults.power_loss_at_seconds": (5.0,)}, "periodic-full", None),
    ({"faults.rates": "llama3", "policy.protection": "undo"}, "undo", None),
])  # fmt: skip
def test_who_names_faults_or_a_protection_keeps_theirs(chosen, protection, mtbf):
    asked = scenario("dlrm-kaggle", "cxl", **chosen)
    shown = campaigns.with_example_fault(asked)
    assert shown.policy.protection == protection and (mtbf is None) == (shown == asked)
    assert mtbf is None or {name: one.mtbf for name, one in hazards_of(shown).items()} == {"power-loss": pytest.approx(mtbf)}


@pytest.mark.slow
def test_a_button_sets_rates_and_the_box_sets_the_protection_and_both_go_into_the_link():
    app = opened(preset="trainingcxl-rm1")
    app.button(key="rates 2048").click().run()
    app.selectbox(key=failure_settings.PROTECTION).set_value("undo").run()
    assert not app.exception and "are lost with undo log" in text(app.header)
    assert "Failures are" in text(app.caption) and "GPU crash every" in text(app.caption), "their classes are named"
    held = dict(address(app))
    assert held["faults.rates"] == "llama3" and held["faults.machines"] == "2048" and held["policy.protection"] == "undo"


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (
            {"faults__power_loss_mtbf_hours": "0.01", "faults__power_loss_at_seconds": "5.0"},
            "72,001 faults",
        ),
        ({"machine__pmem_capacity_GB": "1", "machine__pmem_module_GB": "1"}, "cannot hold"),
    ],
)
def test_what_cannot_be_drawn_is_told_in_a_sentence(query, sentence):
    app = opened(preset="dlrm-kaggle", **query)
    assert not app.exception and sentence in text(app.header) and not app.dataframe


def test_a_protection_that_is_not_possible_says_why_and_the_others_are_drawn():
    app = opened(preset="dlrm-kaggle", policy__protection="cpr", faults__power_loss_mtbf_hours="24.0")
    assert not app.exception and "CPR, partial recovery is not possible here" in text(app.header)
    assert "needs tables in at least 2 parts" in text(app.markdown) and len(app.dataframe) == 4
    assert "CPR, partial recovery" not in set(app.dataframe[0].value["Protection"])


@pytest.mark.slow
def test_faults_without_a_formula_are_simulated_and_the_answer_says_so_meanwhile():
    app = opened(preset="dlrm-kaggle", faults__weibull_shape="0.7", faults__power_loss_mtbf_hours="24.0")
    assert not app.exception and "are being simulated" in text(app.header) and len(app.header) == 1
    apps.ANSWERS.found()
    app.run()
    assert not app.exception and "a month are lost with periodic full checkpoint" in text(app.header)
    assert "Mean of simulated weeks" in apps.chart_words(app)["lost"]


def test_hazards_are_those_of_all_machines_together():
    one = scenario("dlrm-kaggle", "cxl", **{"faults.rates": "llama3"})
    many = scenario("dlrm-kaggle", "cxl", **{"faults.rates": "llama3", "faults.machines": 1000})
    own, all_of_them = hazards_of(one), hazards_of(many)
    assert own["gpu-crash"].mtbf == pytest.approx(16384 * 54 * DAY / 262)
    assert own.keys() == all_of_them.keys() and all(
        all_of_them[name].mtbf == pytest.approx(own[name].mtbf / 1000) for name in own
    )


def test_the_best_period_is_drawn_where_the_formula_says():
    asked = scenario("trainingcxl-rm1", "cxl", **DAILY)
    curve = campaigns.curve(asked, "periodic-full")
    best = min(curve.points, key=lambda one: 1 - one.simulated)
    assert 0.5 < best.period / curve.daly_period < 2
    low = fault_tables.chart_floor(fault_tables.period_rows(curve))
    own = losses.loss_by_formula(asked, "periodic-full", hazards_of(asked), 7200.0)
    marked = fault_tables.periods_to_mark(curve, losses.best_period(asked, "periodic-full", hazards_of(asked)), own)
    assert [one.name for one in marked] == ["lowest loss", "yours", "Daly", "Young"]
    assert marked[1].minutes == pytest.approx(120, rel=0.01) and marked[0].lost_percent < marked[1].lost_percent
    spec = fault_charts.period_chart(marked, low, 1.0, 1000.0)
    assert fields(spec) <= set(fault_tables.period_rows(curve).columns)
    assert low <= 100 * (1 - best.simulated)


@given(st.lists(st.floats(0, fault_charts.HEIGHT), max_size=8), st.integers(0, 4))
def test_names_in_the_chart_of_periods_never_overprint(wanted, below):
    taken = [fault_charts.HEIGHT - 8.0 - fault_charts.LINE * n for n in range(below)]
    placed = sorted([*fault_charts.spread_labels(wanted, taken), *taken])
    assert all(b - a >= fault_charts.LINE - 1e-9 for a, b in pairwise(placed)), placed
    assert all(0 <= one <= fault_charts.HEIGHT for one in placed)


def test_around_a_fault_nothing_overlaps_and_what_was_lost_is_replayed():
    found = of("trainingcxl-rm1", "cxl", *DAILY.items()).campaigns_of("periodic-full").runs[0]
    recovery = found.recoveries[0]
    frame = fault_tables.fault_timeline(found, recovery)
    spans = frame[frame.what != "checkpoint"].sort_values("start")
    assert (spans["start"].to_numpy()[1:] >= spans["end"].to_numpy()[:-1] - 1e-6).all()
    lengths = frame.assign(length=frame.end - frame.start).groupby("what")["length"].sum()
    assert lengths["lost"] == pytest.approx(lengths["replayed"]) == pytest.approx(recovery.replay)
    assert fields(fault_charts.fault_timeline()) <= set(frame.columns)


@pytest.mark.parametrize(("system", "resumes"), [("cxl", 6), ("cxl-d", 6), ("pmem", 6), ("dram", 0)])
def test_batch_by_batch_what_was_not_committed_is_run_again(system, resumes):
    found = power_loss_detail(scenario("trainingcxl-rm1", system))
    rows = close_up_panel.frame(found)
    batches = rows[rows.lane == "Batch"]
    assert (found.crash.batch, found.crash.resumption.embedding_batch) == (6, resumes)
    again = batches[batches.fate == "run again"]["batch"].tolist()
    assert again == list(range(resumes, 7))[: len(again)] and again
    assert batches[batches.fate == "lost"]["end"].max() == pytest.approx(0.0)
    assert fields(close_up_panel.spec()) <= {*rows.columns, "middle"}


def test_a_log_write_under_way_is_torn():
    rows = close_up_panel.frame(power_loss_detail(scenario("trainingcxl-rm1", "cxl"), 0.9))
    torn = rows[rows.fate == "torn"]
    assert len(torn) and torn["end"].tolist() == pytest.approx([0.0] * len(torn), abs=1e-9)
