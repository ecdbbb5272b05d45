"""The expectation of a campaign in closed form, against simulated campaigns, drawn renewals and formulas by hand."""

from math import ceil, exp, inf, sqrt
from statistics import fmean, stdev

import numpy as np
import pytest

from engine.campaign import batch_costs
from engine.campaign.closed_form import effective, kept_share, restarted_share, slowed_share
from engine.campaign.expectation import expectation
from engine.campaign.fault_stream import hazards_of
from engine.campaign.formulas.useful_time import useful_time
from engine.campaign.protection import ProtectionPlan
from engine.campaign.simulate import campaign_terms, run_campaign
from engine.errors import BadKnob, CannotRun
from engine.estimate import estimate
from engine.faults.fault import Hazard
from engine.registry import variant_names
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.units import DAY, HOUR, MINUTE, MS
from engine.validation.studies.paired import student_quantile
from tests.cases import each
from tests.oracles.renewal import uptime_share

KAGGLE = preset("optane-kaggle").scenario
MACHINES = {
    "TrainingCXL": KAGGLE,
    "PMEM without CXL": with_values(KAGGLE, {"system": "pmem"}),
    "HBM of two nodes": with_values(KAGGLE, {"system": "all-hbm", "machine.num_gpus": 16}),
    "UVM of one GPU": preset("torchrec-terabyte").scenario,
}
MIXES = {
    "power loss": {"power-loss": Hazard(50 * HOUR)},
    "crashes": {"gpu-crash": Hazard(12 * HOUR), "host-crash": Hazard(30 * HOUR)},
    "llama3": None,
    "fail-slow": {"fail-slow": Hazard(HOUR)},
    "memory loss": {"memory-loss": Hazard(100 * HOUR), "gpu-crash": Hazard(20 * HOUR)},
    "nothing": {},
}
DAYS, SEEDS = 14.0, range(1, 31)


def possible(scenario, hazards):
    """Yield each protection that can be had with its expectation."""
    for name in variant_names("protections"):
        try:
            yield name, expectation(scenario, name, hazards, DAYS)
        except (BadKnob, CannotRun):
            continue


def chosen(machine, mix):
    scenario = MACHINES[machine]
    if MIXES[mix] is not None:
        return scenario, MIXES[mix]
    scenario = with_values(scenario, {"faults.rates": "llama3", "faults.machines": 64})
    return scenario, hazards_of(scenario)


@pytest.mark.slow
@each(("machine", "mix"), [(machine, mix) for machine in MACHINES for mix in MIXES], few=8)
def test_thirty_seeds_agree_with_the_closed_form_and_lose_no_more_than_it_says(machine, mix):
    scenario, hazards = chosen(machine, mix)
    throughput = scenario.data.batch_size / batch_costs.estimated_costs(scenario).step
    tried = 0
    for name, found in possible(scenario, hazards):
        runs = [run_campaign(scenario, name, hazards, DAYS * 24, seed) for seed in SEEDS]
        shares = [run.ettr for run in runs]
        half = student_quantile(len(runs) - 1) * stdev(shares) / sqrt(len(runs))
        form = useful_time(scenario, campaign_terms(scenario, name, hazards, seconds=DAYS * DAY)[0], hazards, DAYS * DAY)
        assert form == pytest.approx(fmean(shares), abs=max(half, 0.01)), name
        more = form / fmean(shares)
        assert found.useful_share == pytest.approx(more * fmean(run.goodput for run in runs) / throughput, rel=1e-9), name
        batches = [max(one.embedding_batches, one.mlp_batches) for run in runs for one in run.recoveries]
        assert max(batches, default=0) <= found.lost_batches, name
        tried += 1
    assert tried >= 5  # one GPU has neither peer nor parity nor parts for CPR


@each("machine", sorted(MACHINES))
def test_the_expectation_s_power_is_that_of_a_campaign_without_faults(machine):
    scenario = MACHINES[machine]
    estimated = batch_costs.estimated_costs(scenario)
    for name, found in possible(scenario, {}):
        run = run_campaign(scenario, name, {}, DAYS * 24, 1)
        drawn = run.energy / run.elapsed - estimated.energy / estimated.step
        assert found.watts == pytest.approx(drawn, abs=2e-4 * estimated.energy / estimated.step), name


def test_the_system_s_own_log_has_the_estimate_s_throughput_and_a_batch_is_the_estimate_s():
    for system, own in (("cxl-b", "undo"), ("cxl-d", "redo"), ("pmem", "redo"), ("pcie", "redo"), ("ssd", "redo")):
        scenario = with_values(KAGGLE, {"system": system})
        assert expectation(scenario, own, {}, DAYS).useful_share == pytest.approx(1.0, rel=1e-3), system
        step = estimate(scenario).results["Step time [ms]"] * MS
        assert batch_costs.estimated_costs(scenario).step == pytest.approx(step, rel=1e-12)
    small = {"system": "pmem", "machine.pmem_capacity_GB": 8.0}
    with pytest.raises(CannotRun, match="machine"):
        batch_costs.estimated_costs(with_values(preset("dlrm-terabyte").scenario, small))


@pytest.mark.parametrize(("cycle", "wait", "down"), [(40.0, 10.0, 5.0), (400.0, 0.0, 30.0), (3.0, 2.0, 60.0), (inf, 0.0, 20.0)])
def test_the_kept_share_is_that_of_drawn_renewals(cycle, wait, down):
    """Faults at instants of their own, work counted copy by copy."""
    end, mtbf, draws = 600.0, 100.0, 20_000
    faults = np.cumsum(np.random.default_rng(3).exponential(mtbf, (draws, 40)), axis=1)
    faults = np.hstack((np.zeros((draws, 1)), faults))  # a row a campaign, which begins at 0
    waits = np.where(np.arange(41) > 0, down, 0.0)
    trained = np.where(faults[:, 1:] < end, np.maximum(np.diff(faults) - waits[:-1] - wait, 0.0), 0.0)
    copied = cycle * np.floor(trained / cycle) if cycle < inf else 0.0 * trained
    last = np.where(faults < end, faults, 0.0).max(axis=1)
    shares = (copied.sum(axis=1) + np.maximum(end - last - np.where(last > 0, down, 0.0), 0.0)) / end
    error = np.std(shares) / sqrt(len(shares))
    assert kept_share(1 / mtbf, cycle, wait, down, end) == pytest.approx(np.mean(shares), abs=4 * error)


@pytest.mark.parametrize(
    ("cycle", "wait", "down", "mtbf"), [(900.0, 300.0, 150.0, 5e3), (0.01, 0.0, 150.0, 5e4), (60.0, 0.0, 9e3, 9e3)]
)
def test_the_kept_share_of_a_long_campaign_is_the_renewal_formula(cycle, wait, down, mtbf):
    plan = ProtectionPlan(cycle, 1.0, checkpoint_interval=1, drain=wait)
    long = kept_share(1 / mtbf, cycle, wait, down, 1e5 * mtbf)
    assert long == pytest.approx(effective(plan, plan.step, mtbf, down), rel=1e-4)
    if cycle > 1:
        assert long == pytest.approx(uptime_share(cycle, 0.0, wait, down, mtbf), rel=1e-4)


def test_rare_faults_leave_everything_and_campaigns_that_end_in_an_outage_nothing():
    assert kept_share(0.0, 10.0, 0.0, 5.0, 100.0) == restarted_share(0.0, 5.0, 100.0) == slowed_share(0.0, 60.0, 3.0) == 1.0
    assert kept_share(1e-12, 1e-4, 0.0, 150.0, 1e6) == pytest.approx(1.0, abs=1e-9)
    assert kept_share(1e-303, 10.0, 1.0, 150.0, 1e6) == pytest.approx(1.0)  # a square of the rate is 0
    # No fault at all, or copies of each tenth second before the first one.
    before = sum(0.1 * (exp(-0.1 * n) - exp(-1.0)) for n in range(1, 11))
    assert restarted_share(0.01, 1e9, 100.0) == pytest.approx(exp(-1.0))
    assert kept_share(0.01, 10.0, 0.0, 1e9, 100.0) == pytest.approx(exp(-1.0) + before)
    assert slowed_share(1 / 60, 60.0, 4.0) == pytest.approx(1 - 0.75 * (1 - exp(-1)))


def test_what_a_fault_loses_at_most_by_hand():
    crash, losses = {"gpu-crash": Hazard(6 * HOUR)}, {"memory-loss": Hazard(24 * HOUR)}
    two = MACHINES["HBM of two nodes"]

    def lost(name, hazards, scenario=KAGGLE):
        return expectation(scenario, name, hazards, DAYS), campaign_terms(scenario, name, hazards, seconds=DAYS * DAY)[0].plan

    assert lost("undo", crash)[0][1:4] == (0.0, "gpu-crash", 0.0)
    found, plan = lost("relaxed", crash)
    assert found.lost_batches == plan.mlp_age > 0
    found, plan = lost("periodic-full", crash)
    assert (found.lost_batches, found.minutes) == (plan.checkpoint_interval, pytest.approx(plan.cycle / MINUTE))
    found, plan = lost("periodic-overlapped", crash)
    assert found.lost_batches == plan.checkpoint_interval + ceil(plan.drain / plan.step) - 1
    found, plan = lost("peer", crash, two)
    assert found.lost_batches == 2 * plan.checkpoint_interval - 1
    found, plan = lost("relaxed-backup", losses)
    assert found.lost_batches == plan.backup_interval + ceil(plan.backup_drain / plan.step) - 1
    found, plan = lost("relaxed", {**losses, "gpu-crash": Hazard(HOUR)})
    assert (found.lost_batches, found.worst_fault) == (int(DAYS * DAY / plan.step), "memory-loss")
    assert lost("undo", {"host-crash": Hazard(9 * HOUR), **crash})[0].worst_fault == "gpu-crash"
    assert lost("none", {"fail-slow": Hazard(HOUR)})[0][1:4] == (0.0, None, 0.0)
    assert lost("none", {})[0][1:4] == (0.0, None, 0.0)


def test_without_faults_checkpoints_cost_their_pauses_at_the_customary_period():
    found, plan = expectation(KAGGLE, "periodic-full", {}, DAYS), campaign_terms(KAGGLE, "periodic-full")[0].plan
    step = batch_costs.estimated_costs(KAGGLE).step
    assert (
        found.useful_share == pytest.approx(plan.checkpoint_interval * step / (plan.checkpoint_interval * plan.step + plan.pause))
        and plan.pause > 0
    )
    often = expectation(KAGGLE, "periodic-full", {}, DAYS, period=60.0)
    assert often.useful_share < found.useful_share


@pytest.mark.parametrize(
    ("hazard", "sentence"),
    [
        (Hazard(None, 1.0, (5.0,)), "The knob faults.gpu_crash_at_seconds or faults.trace fixes instants of gpu-crash"),
        (Hazard(HOUR, 0.7), r"faults\.weibull_shape=0\.7 of gpu-crash has no closed formula; set it to 1"),
    ],
)
def test_faults_without_a_closed_form_are_refused(hazard, sentence):
    with pytest.raises(BadKnob, match=sentence):
        expectation(KAGGLE, "undo", {"gpu-crash": hazard}, DAYS)
