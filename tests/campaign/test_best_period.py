"""The automatic period of every protection that copies: is it the best of all, and is its loss that of simulated campaigns?"""

import json
from dataclasses import replace
from math import sqrt
from statistics import fmean, stdev

import numpy as np
import pytest

from engine.__main__ import main
from engine.campaign import batch_costs
from engine.campaign.compare import period_curve
from engine.campaign.expectation import expectation
from engine.campaign.formulas.best_period import copy_mtbf, least_interval, longest_period, period_note
from engine.campaign.formulas.useful_time import useful_time
from engine.campaign.monthly.losses import best_period, losses_by_formula
from engine.campaign.protections import peer
from engine.campaign.simulate import campaign_terms, run_campaign
from engine.errors import BadKnob, CannotRun
from engine.faults.fault import Hazard
from engine.registry import all_variants, variant_names
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.sweep import links
from engine.units import DAY, HOUR, MINUTE
from engine.validation.studies.paired import student_quantile
from pages.failures_page import losses_panel
from tests.cases import each

KAGGLE = preset("optane-kaggle").scenario
SHARDED = {"system": "all-hbm", "machine.num_gpus": 16}
NEVER_IDLE = {
    "system": "torchrec-uvm",
    "machine.gpu": "h100-sxm",
    "machine.num_gpus": 128,
    "machine.target_throughput": None,
    "machine.host_dram_GiB": 2048.0,
    "machine.network_bandwidth_GBps": 6.0,
}
MACHINES = {
    "CXL": KAGGLE,
    "HBM of two nodes": with_values(KAGGLE, SHARDED),
    "busy network": with_values(preset("meta-856").scenario, NEVER_IDLE),
    "slow storage": with_values(
        preset("dlrm-terabyte").scenario, {**SHARDED, "machine.network_bandwidth_GBps": 1.0, "machine.gpu": "h100-sxm"}
    ),
}
MIXES = {
    "a crash a day": {"gpu-crash": Hazard(DAY)},
    "a crash an hour": {"host-crash": Hazard(HOUR)},
    "a crash a quarter": {"host-crash": Hazard(90 * DAY)},
    "power once a day": {"power-loss": Hazard(DAY)},
    "crashes and power": {"host-crash": Hazard(56 * HOUR), "power-loss": Hazard(90 * DAY)},
    "memory lost": {"memory-loss": Hazard(50 * HOUR), "gpu-crash": Hazard(20 * HOUR)},
    "flips": {"silent-corruption": Hazard(30 * HOUR), "link-down": Hazard(9 * HOUR)},
    "slow devices": {"fail-slow": Hazard(2 * HOUR), "host-crash": Hazard(30 * HOUR)},
    "power every second hour": {"power-loss": Hazard(2 * HOUR), "media-error": Hazard(40 * HOUR)},
    "a fault in a minute": {"gpu-crash": Hazard(60.0)},
}
PERIODIC = tuple(name for name, protection in all_variants("protections").items() if protection.periodic)
DAYS = 30.0
FEW = {("CXL", "memory lost"), ("slow storage", "a crash a day"), ("HBM of two nodes", "crashes and power")}
CASES = [pytest.param(*case, marks=() if case in FEW else pytest.mark.slow) for case in ((m, x) for m in MACHINES for x in MIXES)]


def possible(scenario, hazards):
    """Yield each protection that copies with its automatic terms and its site."""
    for name in PERIODIC:
        try:
            yield name, *campaign_terms(scenario, name, hazards)
        except (BadKnob, CannotRun):
            continue


def lost(scenario, name, hazards, period):
    try:
        return 1 - useful_time(scenario, campaign_terms(scenario, name, hazards, period)[0], hazards, DAYS * DAY)
    except BadKnob:  # no room for the rows that change meanwhile
        return 1.0


def fine_grid(site, protection, hazards, points):
    """Return the first whole numbers of batches, and `points` numbers up to the longest period that makes sense."""
    step, end = site.unlogged_pace.step, min(DAYS * DAY, longest_period(protection, site, hazards))
    most = max(1, round(end / step))
    intervals = {*range(1, min(points // 10, most) + 1), *np.geomspace(1, most, points).round().astype(int).tolist()}
    return [step * interval for interval in sorted(intervals)]


@pytest.mark.parametrize(("machine", "mix"), CASES)
def test_the_automatic_period_is_the_best_of_a_fine_grid(machine, mix):
    scenario, hazards, tried, points = MACHINES[machine], MIXES[mix], 0, 40 if (machine, mix) in FEW else 200
    for name, terms, site in possible(scenario, hazards):
        if copy_mtbf(terms.protection, hazards) is None:
            continue
        own_loss = 1 - useful_time(scenario, terms, hazards, DAYS * DAY)
        least = min(lost(scenario, name, hazards, period) for period in fine_grid(site, terms.protection, hazards, points))
        assert own_loss <= least * (1 + 1e-4) + 1e-12, (name, terms.protection.interval(terms.plan) * terms.plan.step)
        tried += 1
    assert tried >= 4


@pytest.mark.parametrize("shape", ["flat", "steps", "two minima", "at the low end", "at the high end", "kink", "refused"])
def test_the_search_finds_the_least_of_losses_of_any_shape(shape):
    most = 100_000
    losses = {
        "flat": lambda k: 0.5,
        "steps": lambda k: abs(k // 1000 - 37) + 0.0,
        "two minima": lambda k: min(abs(np.log(k / 60)), abs(np.log(k / 9000)) - 0.1),
        "at the low end": lambda k: float(k),
        "at the high end": lambda k: -float(k),
        "kink": lambda k: 1e-3 * k if k >= 777 else 50.0 - k * 1e-3,
        "refused": lambda k: float("inf") if k > 700 else 1 / k,
    }[shape]
    least = min(range(1, most + 1), key=losses)
    assert losses(least_interval(losses, most)) <= losses(least) + 2e-4
    assert least_interval(losses, 1) == 1


@pytest.mark.parametrize(
    ("machine", "mix"),
    [
        pytest.param(*case, marks=() if case == ("slow storage", "a crash a day") else pytest.mark.slow)
        for case in ((m, x) for m in MACHINES for x in ("a crash a day", "crashes and power", "memory lost"))
    ],
)
def test_simulated_campaigns_lose_what_the_closed_form_says_at_every_period(machine, mix):
    scenario, hazards = MACHINES[machine], MIXES[mix]
    for name, terms, _ in possible(scenario, hazards):
        best = terms.protection.interval(terms.plan) * terms.plan.step
        for period in (None, best * 7, 45 * MINUTE):
            try:
                expected = expectation(scenario, name, hazards, 14.0, period).useful_time
            except BadKnob:  # no room for the rows that change meanwhile
                continue
            shares = [run_campaign(scenario, name, hazards, 14 * 24, seed, period).ettr for seed in range(1, 21)]
            half = student_quantile(len(shares) - 1) * stdev(shares) / sqrt(len(shares))
            assert expected == pytest.approx(fmean(shares), abs=max(half, 0.01)), (name, period)


def test_a_peer_s_copies_stop_training_for_the_period_only_where_the_network_is_busy():
    """The network is idle for less than a hundredth of a step; copies without a break stopped training half the time."""
    hazards = {"host-crash": Hazard(56 * HOUR)}
    site = campaign_terms(MACHINES["HBM of two nodes"], "peer", hazards)[1]
    for idle in (0.3, 0.02, 0.005, 1e-4, 0.0):
        pace = replace(site.unlogged_pace, network=(1 - idle) * site.unlogged_pace.step)
        busy = replace(site, unlogged_pace=pace, period=45 * MINUTE)
        plan = peer.plan(busy)
        assert plan.checkpoint_interval == round(45 * MINUTE / plan.step)
        assert plan.pause / plan.cycle < 1e-3, idle
        assert plan.drain <= plan.cycle
    send_seconds = site.state / min(site.network.write_rate, 16 * 13e9)  # two GPUs share 16 lanes of 26 GB/s
    assert plan.pause == pytest.approx(send_seconds, rel=1e-9) and plan.drain == 0.0


def test_a_peer_s_copies_over_a_network_that_is_never_idle_take_a_hundredth_of_the_time_not_half():
    terms, _ = campaign_terms(MACHINES["busy network"], "peer", MIXES["crashes and power"])
    assert useful_time(MACHINES["busy network"], terms, MIXES["crashes and power"], DAYS * DAY) > 0.99
    assert terms.plan.pause > 0 and terms.plan.pause / terms.plan.cycle < 0.01


def test_a_copy_in_idle_time_stops_training_for_the_rest_or_for_all_of_it():
    _, site = campaign_terms(MACHINES["HBM of two nodes"], "peer", {})
    step = site.unlogged_pace.step
    half_idle = replace(site, unlogged_pace=replace(site.unlogged_pace, network=step / 2), mtbf=1e9)
    assert peer.copy_times(half_idle, 10 * step, 100) == pytest.approx((0.0, 20 * step))
    assert peer.copy_times(half_idle, 80 * step, 100) == pytest.approx((30 * step, 100 * step))
    # A fault strikes each 150 batches: half of them would be spent waiting for idle time.
    assert peer.copy_times(replace(half_idle, mtbf=150 * step), 80 * step, 100) == (80 * step, 0.0)


@each("name", PERIODIC)
def test_the_period_acts_on_every_protection_that_copies(name):
    scenario = KAGGLE if all_variants("protections")[name].log else MACHINES["HBM of two nodes"]
    for seconds in (120.0, 3600.0):
        terms, site = campaign_terms(scenario, name, MIXES["crashes and power"], seconds)
        made = terms.protection.interval(terms.plan) * terms.plan.step
        assert made == pytest.approx(seconds, rel=1e-3) and site.period == seconds
    assert {"peer", "parity", "relaxed-backup", "cpr", "check-n-run"} < set(PERIODIC)


def test_cpr_s_best_period_is_not_the_longest_where_a_whole_site_fails_too():
    """Faults of one part cost less the longer the period is, faults of the site more."""
    scenario = MACHINES["slow storage"]
    hazards = {"host-crash": Hazard(DAY), "power-loss": Hazard(2 * DAY)}
    terms, site = campaign_terms(scenario, "cpr", hazards)
    period, allowed = terms.plan.checkpoint_interval * terms.plan.step, longest_period(terms.protection, site, hazards)
    assert allowed == pytest.approx(2 * 0.1 * site.shards * DAY) and period < allowed / 4
    assert period_note(terms, site, hazards, DAYS * DAY) == ""
    longest = lost(scenario, "cpr", hazards, allowed)
    assert 1 - useful_time(scenario, terms, hazards, DAYS * DAY) < longest / 3
    alone = {"host-crash": Hazard(DAY)}
    terms, site = campaign_terms(scenario, "cpr", alone)
    assert terms.plan.checkpoint_interval * terms.plan.step == pytest.approx(allowed, rel=1e-3)
    assert period_note(terms, site, alone, DAYS * DAY).startswith("The period is the longest that the accepted loss of samples")


def test_a_period_at_a_limit_says_at_which():
    scenario, crash = MACHINES["HBM of two nodes"], MIXES["a crash a day"]

    def note(name, period=None, hazards=crash, seconds=DAYS * DAY, scenario=scenario):
        terms, site = campaign_terms(scenario, name, hazards, period, seconds)
        return period_note(terms, site, hazards, seconds)

    assert note("peer").startswith("Copies follow one another without a break: each takes")
    assert "and stops training for" in note("periodic-overlapped", 0.001)
    assert "shortest possible, a copy with each batch" in note("parity", 1e-6)
    assert "loses more samples than the protection accepts" in note("cpr", 1e7)
    assert note("periodic-full", 1800.0, seconds=1000.0) == "The campaign of 16.7 min ends before the first copy."
    assert note("periodic-full") == note("cpr", 1800.0) == note("none") == note("undo", scenario=KAGGLE) == ""


def test_rare_copies_wait_for_the_one_before():
    """To a storage of 10 kB/s a copy takes longer than the customary three hours."""
    for name, scenario in (("peer", MACHINES["HBM of two nodes"]), ("relaxed-backup", KAGGLE)):
        site = campaign_terms(scenario, name, {})[1]
        plan = all_variants("protections")[name].plan(replace(site, remote=replace(site.remote, write_rate=1e4)))
        assert plan.backup_interval * site.pace.step >= plan.backup_drain * (1 - 1e-9) and plan.backup_drain > 3 * HOUR


def test_increments_that_take_longer_than_their_period_have_the_rows_of_the_longer_one():
    site = campaign_terms(KAGGLE, "check-n-run", {})[1]
    slow = replace(site, remote=replace(site.remote, write_rate=1e7))
    plan = all_variants("protections")["check-n-run"].plan
    short = plan(replace(slow, period=0.01))
    made = plan(replace(slow, period=short.checkpoint_interval * short.step))
    assert short.checkpoint_interval * short.step >= short.drain > 0.01 and made == short
    assert plan(replace(slow, period=short.drain / 2)) == short


def test_a_parity_refreshed_less_often_sends_each_row_once_and_goes_back_to_the_refresh():
    busy = with_values(KAGGLE, {**SHARDED, "machine.network_bandwidth_GBps": 0.1, "data.batch_size": 1024})
    often, rare = (campaign_terms(busy, "parity", {}, period)[0].plan for period in (1e-6, 60.0))
    assert often.checkpoint_interval == 1 and often.pause == 0.0 and often.step > batch_costs.unlogged_costs(busy).step
    assert rare.step == batch_costs.unlogged_costs(busy).step
    assert rare.checkpoint_bytes["network"] < rare.checkpoint_interval * often.checkpoint_bytes["network"] / 3
    assert expectation(busy, "parity", MIXES["a crash a day"], DAYS, 60.0).lost_batches >= rare.checkpoint_interval
    small = with_values(busy, {"machine.host_dram_GiB": 1.0, "model.num_embeddings": 20_000_000})
    with pytest.raises(BadKnob, match=r"protection=parity needs .* lower policy\.checkpoint_minutes, raise machine\.host_dram"):
        campaign_terms(small, "parity", {}, HOUR)


def test_a_campaign_that_ends_before_its_first_copy_has_no_pause():
    """The closed form charged a share of a pause that no campaign makes."""
    hazards = {"host-crash": Hazard(DAY)}
    expected = expectation(KAGGLE, "periodic-full", hazards, 0.02, 2 * HOUR).useful_time
    shares = [run_campaign(KAGGLE, "periodic-full", hazards, 0.48, seed, 2 * HOUR).ettr for seed in range(400)]
    assert expected == pytest.approx(fmean(shares), abs=0.006)


@pytest.mark.parametrize("minutes", [None, 45.0])
def test_page_and_command_say_the_same_numbers(minutes, capsys):
    knobs = {"faults.host_crash_mtbf_hours": 50.0, "faults.power_loss_mtbf_hours": 2190.0, "policy.protection": "peer"}
    scenario = with_values(MACHINES["HBM of two nodes"], {**knobs, "policy.checkpoint_minutes": minutes})
    assert main(["campaign", "--link", links.link(scenario), "--seeds", "1", "--json", "-"]) == 0
    rows = {row["Protection"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    month = losses_panel.monthly_losses(scenario)
    assert {loss.name for loss in month.protections} == set(rows)
    for loss in month.protections:
        row = rows[loss.name]
        assert row["Refused"] == loss.refusal
        if loss.share:
            assert row["Closed form"] == pytest.approx(1 - loss.share.total, abs=1e-12), loss.name
            assert row["Checkpoint period [min]"] == (loss.period and pytest.approx(loss.period / MINUTE))
            assert row["Limit of the period"] == loss.note
    assert all(period_is(row, minutes) for row in rows.values())
    best = best_period(scenario, "peer", month.hazards)
    assert best.share.total <= month.chosen_loss.share.total
    automatic = losses_by_formula(with_values(scenario, {"policy.checkpoint_minutes": None}), month.hazards)
    assert best == next(loss for loss in automatic if loss.name == "peer")


def period_is(row, minutes):
    """Return whether a row has the period asked for, where it copies at all."""
    made = row.get("Checkpoint period [min]")
    return minutes is None or made is None or made == pytest.approx(minutes, rel=1e-3)


def test_the_curve_of_periods_ends_where_the_page_s_loss_is():
    """A parity is lost with the site: over 800 faults in a row nothing would be left."""
    scenario, hazards = MACHINES["HBM of two nodes"], {"host-crash": Hazard(40 * DAY), "power-loss": Hazard(40 * DAY)}
    best = best_period(scenario, "parity", hazards)
    (point,) = period_curve(scenario, "parity", hazards, [best.period]).points
    assert point.closed_form == pytest.approx(1 - best.share.total) and point.closed_form > 0.5
    assert point.simulated == pytest.approx(point.closed_form, abs=0.05)


def test_names_of_the_protections_that_copy_are_as_the_documents_list_them():
    assert set(variant_names("protections")) - set(PERIODIC) == {"none", "undo", "redo", "relaxed"}
