"""The row of the page Failures: from words to knobs, to hours and USD, and back from a link."""

from math import exp

import pytest

from engine.campaign.fault_stream import hazards_of
from engine.campaign.monthly import failure_row, loss_rows, losses
from engine.campaign.monthly.failure_row import FailureRow, row_of, with_row
from engine.campaign.simulate import campaign_terms, run_campaign
from engine.errors import BadKnob
from engine.estimate import estimate
from engine.insight.running_costs import room_watts
from engine.registry import load_variant
from engine.scenario.scenario import with_values
from engine.units import DAY, HOUR, MINUTE
from pages.failures_page import failure_settings as settings
from pages.failures_page import losses_panel
from tests import apps
from tests.apps import address, text
from tests.cases import each
from tests.machines import scenario

TO_SSD = {"policy.protection": "periodic-ssd", "policy.checkpoint_minutes": 30.0}
WEEKLY = {"machine.num_gpus": 512, "machine.gpus_per_node": 8, **TO_SSD, "faults.host_crash_mtbf_hours": 84.0 * 64}


def write(app, **fields):
    for key, value in fields.items():
        app.text_input(key=getattr(settings, key)).set_value(value)
    assert not app.run().exception
    return app


def months(asked):
    found = losses_panel.monthly_losses(asked)
    assert found is not None
    return found


@pytest.mark.slow
def test_the_row_sets_the_knobs_and_a_link_brings_it_back():
    app = write(apps.opened("failures", {"preset": "dlrm-kaggle"}), FAILURES="2", NODES="64", MINUTES="30")
    held = dict(address(app))
    assert held["faults.host_crash_mtbf_hours"] == "5376.0" and held["faults.machines"] == "64"
    assert held["policy.checkpoint_minutes"] == "30.0" and "faults.power_loss_mtbf_hours" not in held
    assert "a month are lost with periodic full checkpoint" in text(app.header) and "64 replicas of CXL" in text(app.caption)
    again = apps.opened("failures", apps.link("&".join(map("=".join, address(app)))))
    shown = {key: again.text_input(key=key).value for key in (settings.FAILURES, settings.NODES, settings.GPUS, settings.MINUTES)}
    assert shown == {settings.FAILURES: "2", settings.NODES: "64", settings.GPUS: "1", settings.MINUTES: "30"}
    assert again.selectbox(key=settings.PERIOD).value == "week" and again.selectbox(key=settings.POWER).value == "never"
    assert text(again.header) == text(app.header)


def test_a_system_of_one_node_offers_those_that_can_have_more_gpus_in_one_press():
    app = write(apps.opened("failures", {"preset": "dlrm-kaggle"}), FAILURES="2", NODES="64", GPUS="16")
    refusal = "CXL trains on one node of up to 8 GPUs"
    assert f"{refusal} and cannot have 64 nodes of 16 GPUs" in text(app.header) and "USD" not in text(app.header)
    write(app, MINUTES="30")
    assert "cannot have" in text(app.header) and app.text_input(key=settings.GPUS).value == "16", "16 GPUs stay written"
    assert "system" not in dict(address(app)) and app.text_input(key=settings.GPUS).value == "16", "nothing switches by itself"
    offer = app.button(key="offer all-hbm")
    assert offer.label == "Use All in HBM instead of CXL: 64 nodes of 16 GPUs"
    offer.click().run()
    held = dict(address(app))
    assert not app.exception and held["system"] == "all-hbm" and held["machine.num_gpus"] == "1024"
    assert held["faults.host_crash_mtbf_hours"] == "5376.0" and "faults.machines" not in held
    assert app.text_input(key=settings.NODES).value == "64" and refusal not in text(app.caption)


def test_a_system_of_one_node_has_replicas_with_the_gpus_of_a_node():
    found = with_row(scenario("dlrm-kaggle", "cxl"), FailureRow(2.0, "week", False, 64, 8))
    assert (found.machine.num_gpus, found.faults.machines) == (8, 64) and estimate(found).ran
    assert row_of(found, "week") == FailureRow(2.0, "week", False, 64, 8)


@each(("field", "value", "sentence"), [
    ("FAILURES", "many", "Failures: 'many' is not a number"),
    ("FAILURES", "-1", "Failures: '-1' is not a number"),
    ("NODES", "6.5", "Nodes: '6.5' is not a whole number from 1 to 100,000; write a number such as 8."),
    ("GPUS", "0", "GPUs of a node: '0' is not a whole number from 1 to 64"),
    ("MINUTES", "nan", "Checkpoint period: 'nan' is not a number"),
], few=2)  # fmt: skip
def test_a_bad_value_stays_beside_its_sentence_until_it_is_mended(field, value, sentence):
    app = write(apps.opened("failures", {"preset": "dlrm-kaggle"}), **{field: value})
    place = app.caption if field == "MINUTES" else app.header  # without a machine there is no answer
    assert sentence in text(place) + text(app.markdown) and app.text_input(key=getattr(settings, field)).value == value
    assert len(app.header) == 1 and ("a month are lost" in text(app.header)) == (field == "MINUTES")
    write(app, **{field: "1"})
    assert sentence.split(";")[0] not in text(app.caption) + text(app.header) and "a month are lost" in text(app.header)


@each("period", [*failure_row.PERIODS], few=2)
@pytest.mark.parametrize("each_node", [False, True])
def test_a_row_comes_back_from_its_knobs_in_any_unit(period, each_node):
    row = FailureRow(3.0, period, each_node, 64, 8)
    asked = with_row(scenario("dlrm-kaggle", "all-hbm"), row)
    assert row_of(asked, period, each_node) == row
    together = 3.0 * (64 if each_node else 1)
    assert hazards_of(asked)["host-crash"].mtbf == pytest.approx(failure_row.PERIODS[period] / together)


def test_a_row_replaces_other_classes_of_failures_and_keeps_power_losses():
    asked = scenario("dlrm-kaggle", "cxl", **{"faults.rates": "llama3", "faults.power_loss_mtbf_hours": 24.0})
    assert not failure_row.only_crashes(asked)
    found = with_row(asked, FailureRow(1.0, "day", False, 1, 1))
    assert set(hazards_of(found)) == {"host-crash", "power-loss"} and failure_row.only_crashes(found)


def test_more_gpus_than_there_are_is_refused_with_a_remedy():
    with pytest.raises(BadKnob, match="6,400 GPUs, but the limit is 4,096; write fewer"):
        with_row(scenario("dlrm-kaggle", "all-hbm"), FailureRow(1.0, "day", False, 100, 64))


def test_hours_and_usd_by_hand():
    asked = scenario("dlrm-kaggle", "all-hbm", **{**WEEKLY, "faults.campaign_days": 3650.0})
    month, result = months(asked), estimate(asked)
    step, mtbf = result.results["Step time [ms]"] / 1e3, 7 * DAY / 2
    _, site = campaign_terms(asked, "periodic-ssd", period=30 * MINUTE)
    pause = site.state / min(site.ssd.write_rate, site.home.read_rate)
    batches = round(30 * MINUTE / step)
    cycle, down = batches * step + pause, 30 + 120 + site.state / min(site.ssd.read_rate, site.home.write_rate)
    useful = batches * step / mtbf * exp(-(cycle + down) / mtbf) / (1 - exp(-cycle / mtbf))
    hours = 730 * (1 - useful)
    assert month.hours(month.chosen_loss.share.total) == pytest.approx(hours, rel=1e-3)
    watts = room_watts(result.scenario, result.results["Energy per batch [J]"] / step)
    an_hour = result.results["Capital cost [USD]"] / (5 * 12 * 730) + watts / 1e3 * 0.081
    assert month.usd(month.chosen_loss.share.total) == pytest.approx(hours * an_hour, rel=1e-3)
    assert month.chosen_loss.share.protection == pytest.approx(pause / cycle, rel=1e-6)
    assert losses.cost_of_failure(month.chosen_loss, month.hazards) == pytest.approx(cycle / 2 + down, rel=0.01)


def test_replicas_cost_as_many_times_as_much():
    one = scenario("dlrm-kaggle", "cxl", **{"faults.host_crash_mtbf_hours": 84.0})
    many = with_values(one, {"faults.machines": 64})
    assert losses.cluster_hour(many).usd == pytest.approx(64 * losses.cluster_hour(one).usd)


@each("system", ["cxl", "pmem", "all-hbm"], few=2)
def test_the_closed_form_is_the_mean_of_simulated_weeks(system):
    asked = scenario("optane-kaggle", system, **{"faults.host_crash_mtbf_hours": 24.0, "faults.campaign_days": 300.0})
    found = {one.name: one for one in months(asked).protections if one.share}
    for name in {"periodic-full", "periodic-ssd", "undo"} & set(found):
        hazards = hazards_of(asked)
        hours = asked.faults.campaign_days * DAY / HOUR
        runs = [run_campaign(asked, name, hazards, hours, seed) for seed in range(3)]
        simulated = losses.loss_by_campaigns(name, runs)
        assert simulated.share.total == pytest.approx(found[name].share.total, rel=0.1)


def test_answer_table_and_chart_agree():
    month = months(scenario("dlrm-kaggle", "all-hbm", **WEEKLY))
    table, words, bars = losses_panel.table(month), losses_panel.table_in_words(month), losses_panel.bar_rows(month)
    own = table[table["Yours"] == "yes"].iloc[0]
    usd = words.loc[words["Protection"].str.startswith("▶"), "Cost a month"].item()
    assert losses_panel.finding(month) == (
        f"{losses.hours_text(own[loss_rows.HOURS])} and {usd} a month are lost with periodic checkpoint to SSD"
    )
    hours = table.set_index("Protection")[loss_rows.HOURS].dropna()
    assert bars.groupby("protection")["hours"].sum().to_dict() == pytest.approx(hours.to_dict())
    assert list(hours) == sorted(hours) and set(bars[bars.chosen]["protection"]) == {"Periodic checkpoint to SSD"}
    assert table[loss_rows.OWN_HOURS].add(table[loss_rows.FAILURE_HOURS]).dropna().tolist() == pytest.approx(list(hours))
    least = month.least_loss
    assert losses_panel.better_protection(month) is least and month.loss_text(least) in " ".join(losses_panel.reasons(month))
    best = losses_panel.better_period(month)
    assert best.share.total < month.chosen_loss.share.total and month.loss_text(best) in " ".join(losses_panel.reasons(month))


def test_the_best_period_is_no_worse_than_any_other():
    asked = scenario("dlrm-kaggle", "all-hbm", **WEEKLY)
    best = losses.best_period(asked, "periodic-ssd", hazards_of(asked))
    others = [losses.loss_by_formula(asked, "periodic-ssd", hazards_of(asked), 60.0 * n) for n in (0.2, 0.5, 0.7, 1, 2, 5, 30)]
    assert all(best.share.total <= one.share.total * (1 + 1e-6) for one in others)


def test_a_slow_log_is_explained_apart_from_the_failures():
    knobs = {"machine.pmem_capacity_GB": 128.0, "faults.host_crash_mtbf_hours": 84.0, "policy.protection": "relaxed"}
    month = months(scenario("optane-kaggle", "cxl", **knobs))
    share, said = month.chosen_loss.share, " ".join(losses_panel.reasons(month))
    assert share.protection == pytest.approx(0.216, abs=0.001) and share.failures < 0.001
    assert "protecting each batch takes 157 h (21.6 % of the time), failures 0.284 h" in said
    exposed = month.chosen_loss.step - month.chosen_loss.bare_step
    assert f"{exposed * 1e6:.0f} µs of it wait for log writes on persistent memory, busy with the tables for" in said


def test_only_other_systems_for_many_gpus_whose_inner_workings_are_published_are_offered_the_fastest_first(monkeypatch):
    asked, row = scenario("dlrm-kaggle", "all-hbm"), FailureRow(2.0, "week", False, 2, 8)
    monkeypatch.setattr(failure_row, "MOST_OFFERS", 99)
    offers = failure_row.system_offers(asked, row)
    described = [load_variant("systems", offer.system) for offer in offers]
    assert all(system.can_use_many_gpus and system.confidence != "headline only" for system in described)
    assert "all-hbm" not in {offer.system for offer in offers} and len(offers) > 5
    rates = [estimate(with_values(asked, offer.knobs)).results[failure_row.RATE] for offer in offers]
    assert rates == sorted(rates, reverse=True)


def test_bars_that_are_far_longer_are_cut_and_say_so():
    frame = losses_panel.bar_rows(months(scenario("dlrm-kaggle", "all-hbm", **WEEKLY)))
    limit = losses_panel.frame_limit(frame)
    cut = {label.split(":")[0] for label in frame["label"] if label.endswith(", bar cut")}
    assert cut == {"No protection"} and 2 < limit < 3 and frame.groupby("protection")["hours"].sum().max() > 600


@pytest.mark.slow
def test_a_best_period_of_more_than_a_thousand_minutes_can_be_taken():
    rare = {"preset": "dlrm-terabyte", "faults.power_loss_mtbf_hours": "100000", "policy.protection": "periodic-full"}
    app = apps.opened("failures", rare | {"policy.checkpoint_minutes": "5"})
    assert not app.exception
    app.button(key="take period").click().run()
    assert not app.exception and app.session_state["scenario"].policy.checkpoint_minutes > 1000
