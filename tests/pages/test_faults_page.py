"""The page Faults: does it open by link, keep to the campaigns' numbers, and say in a sentence what it cannot show?"""

from functools import cache

import pytest

from engine.campaign.accounts import BUCKETS
from engine.campaign.fault_stream import hazards_of
from engine.estimate import estimate
from engine.insight.power_loss_detail import power_loss_detail
from engine.registry import load
from engine.results.metrics import metrics
from engine.units import DAY
from pages.failures_page import campaigns, close_up_panel, fault_charts, fault_settings, fault_tables
from tests import apps
from tests.apps import address, fields, text
from tests.cases import each
from tests.machines import scenario

RATIO = "Effective training time ratio"
DAILY = {"faults.power_loss_mtbf_hours": 24.0}
of = cache(lambda name, system, *knobs: campaigns.of(scenario(name, system, **dict(knobs))))


def opened(**query):
    return apps.opened("failures", {key.replace("__", "."): value for key, value in query.items()})


def test_a_link_opens_the_page_with_the_protections_best_first():
    app = opened(preset="trainingcxl-rm1", faults__power_loss_mtbf_hours="24.0", policy__protection="relaxed")
    assert not app.exception and not app.error
    assert "A fault every 24 h: relaxed undo log keeps 99.8" in text(app.header)
    table = app.dataframe[0].value
    shares = table["Effective training time ratio over weeks"].dropna()
    assert list(shares) == sorted(shares, reverse=True) and table["Protection"][0] == "Relaxed undo log"
    assert "Power fails in batch 6" in text(app.markdown)


@each("system", ["cxl", "cxl-b", "pmem", "dram"], few=4)
def test_a_campaign_under_the_systems_own_log_agrees_with_the_estimate(system):
    found = of("optane-kaggle", system, ("faults.power_loss_mtbf_hours", 1e6))
    log = found.of(campaigns.own(scenario("optane-kaggle", system)))
    results = estimate(scenario("optane-kaggle", system)).results
    ratio, handed = results[RATIO], 0.040 if system == "pmem" else 0.0  # ms; an estimate calls the hand-off to its log a transfer
    assert log.share == pytest.approx(ratio - handed / results["Step time [ms]"], rel=0.001) and log.means[RATIO] == log.share
    assert ratio == 1 or abs(found.protected[0].share / ratio - 1) > 0.3, "other protections differ by far"


def test_pages_that_show_another_ratio_say_of_what_it_is():
    query = {"preset": "optane-kaggle", "faults.power_loss_mtbf_hours": "24.0", "machine.pmem_capacity_GB": "128.0"}
    app = apps.opened("faults", query)
    assert "own log, relaxed undo log: over these weeks that keeps 60.4 %; without faults, as an estimate has it, 60.5 %" in text(
        app.caption
    )
    assert not {metric.name for metric in metrics() if "ratio" in metric.name} & set(app.dataframe[0].value.columns)
    next(one for one in app.button if one.label == "The system's own log").click().run()
    assert ("policy.protection", "relaxed") in address(app) and "relaxed undo log keeps 60.4 %" in text(app.header)
    assert RATIO not in [tile.label for tile in apps.opened("design", query).metric]


def test_a_first_visitor_sees_a_daily_power_loss_under_the_systems_own_log():
    app = opened(preset="dlrm-kaggle")
    assert "A fault every 24 h: relaxed undo log keeps 99.83 %" in text(app.header)
    assert "power is lost once a day under the system's own log" in text(app.caption)
    assert app.selectbox(key=fault_settings.CHOSEN).value == "relaxed"
    assert address(app) == address(opened(preset="dlrm-kaggle")), "looking is no choice: the link opens what one sees"
    assert not {"faults.power_loss_mtbf_hours", "policy.protection"} & set(dict(address(app)))
    app.selectbox(key=fault_settings.CHOSEN).set_value("periodic-full").run()
    assert "periodic full checkpoint keeps 99.11 %" in text(app.header) and "as an example" not in text(app.caption)
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
    shown = campaigns.supposed(asked)
    assert shown.policy.protection == protection and (mtbf is None) == (shown == asked)
    assert mtbf is None or {name: one.mtbf for name, one in hazards_of(shown).items()} == {"power-loss": pytest.approx(mtbf)}


@pytest.mark.slow
def test_a_button_sets_rates_and_the_box_sets_the_protection_and_both_go_into_the_link():
    app = opened(preset="trainingcxl-rm1")
    next(one for one in app.button if one.label == "Llama 3's rates, 2,048 machines").click().run()
    app.selectbox(key=fault_settings.CHOSEN).set_value("undo").run()
    assert not app.exception and "A fault every 7" in text(app.header) and "undo log keeps" in text(app.header)
    held = dict(address(app))
    assert held["faults.rates"] == "llama3" and held["faults.machines"] == "2048" and held["policy.protection"] == "undo"


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"faults__power_loss_mtbf_hours": "0.01"}, "72,000 faults are to be expected in 30 days"),
        ({"machine__pmem_capacity_GB": "1", "machine__pmem_module_GB": "1"}, "cannot hold"),
    ],
)
def test_what_cannot_be_drawn_is_told_in_a_sentence(query, sentence):
    app = opened(preset="dlrm-kaggle", **query)
    assert not app.exception and sentence in text(app.header) and not app.dataframe


def test_a_protection_that_is_not_possible_says_why_and_the_others_are_drawn():
    app = opened(preset="dlrm-kaggle", policy__protection="cpr", faults__power_loss_mtbf_hours="24.0")
    assert not app.exception and "needs tables in at least 2 parts" in text(app.warning) and len(app.dataframe) == 3


@pytest.mark.parametrize("name", fault_tables.OF)
def test_the_bars_of_each_protection_sum_to_everything(name):
    found = of("trainingcxl-rm1", "cxl", *DAILY.items())
    asked = scenario("trainingcxl-rm1", "cxl", **{"policy.protection": "undo"})
    bars = fault_tables.spent(found, name, asked)
    assert bars.groupby("protection")["share"].sum().tolist() == pytest.approx([100.0] * bars["protection"].nunique(), abs=1e-9)
    useful = bars[bars.part == "useful"].set_index("protection")
    own = load("protections", campaigns.own(asked)).title
    for title, label, share in useful[["label", "share"]].itertuples():
        assert f": {share:.3g} % useful" in label and label.endswith("this one") == (title == "Undo log")
        assert label.startswith(title) and ("the system's own log" in label) == (title == own)
    assert fields(fault_charts.spent(name)) <= {*bars.columns, "rank"}
    assert set(bars["part"]) == set(BUCKETS) and set(bars[bars.chosen]["protection"]) == {"Undo log"}


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ({"undo": 0.9, "none": 0.5}, "undo keeps 90 % of the time useful, more than any other protection"),
        ({"undo": 0.9, "rare": 0.9, "none": 0.5}, "undo keeps 90 % of the time useful, as much as any other protection"),
        ({"rare": 0.95, "peers": 0.9496, "undo": 0.9}, "undo keeps 90 % of the time useful; rare and 1 more keep most, 95 %"),
        ({"none": 0.95, "undo": 0.9}, "undo keeps 90 % of the time useful; no protection keeps most, 95 %"),
    ],
)
def test_ties_are_told_and_no_protection_is_not_nobody(shares, said):
    protected = [campaigns.Protected(name, name, "", (None,), {RATIO: share}) for name, share in shares.items()]
    found, asked = campaigns.Campaigns(tuple(protected), {}, 7200.0), scenario("tiny", "cxl", **{"policy.protection": "undo"})
    assert fault_tables.finding(found, asked) == f"A fault every 2 h: {said}"


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
    assert 0.5 < best.period / curve.daly < 2
    low = fault_tables.lowest(fault_tables.periods(curve))
    spec = fault_charts.periods(fault_tables.best(curve), low)
    assert fields(spec) <= set(fault_tables.periods(curve).columns)
    assert low <= 100 * (1 - best.simulated)


def test_around_a_fault_nothing_overlaps_and_what_was_lost_is_replayed():
    found = of("trainingcxl-rm1", "cxl", *DAILY.items()).of("periodic-full").runs[0]
    recovery = found.recoveries[0]
    frame = fault_tables.around(found, recovery)
    spans = frame[frame.what != "checkpoint"].sort_values("start")
    assert (spans["start"].to_numpy()[1:] >= spans["end"].to_numpy()[:-1] - 1e-6).all()
    lengths = frame.assign(length=frame.end - frame.start).groupby("what")["length"].sum()
    assert lengths["lost"] == pytest.approx(lengths["replayed"]) == pytest.approx(recovery.replay)
    assert fields(fault_charts.around()) <= set(frame.columns)


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
