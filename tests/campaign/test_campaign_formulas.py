"""Campaigns against closed formulas: exponential faults, the best checkpoint period, published runs."""

import numpy as np
import pytest

from engine.campaign.closed_form import CUSTOMARY, batches_between, daly_period, effective, young_period
from engine.campaign.fault_stream import hazards_of
from engine.campaign.fold import FaultArrival, run_faults
from engine.campaign.protection import ProtectionPlan
from engine.faults.fault import Hazard
from engine.scenario.scenario import Scenario, with_values
from engine.units import HOUR
from tests.campaign.test_campaign import WAYS, terms_of
from tests.cases import each
from tests.oracles.renewal import uptime_share

FAULTS = 1500


def arrivals(mtbf, seed, count=FAULTS):
    """Exponential intervals, one from each of `count` equally likely classes, shuffled: as random ones, with less noise."""
    rng = np.random.default_rng(seed)
    instants = rng.permutation(-mtbf * np.log((np.arange(count) + rng.random(count)) / count)).cumsum()
    return [FaultArrival(float(at), "gpu", WAYS["gpu"]) for at in instants], float(instants[-1])


def drawn(number):
    """One random machine: step 1 ms to 3 s, periods from a twentieth to four times the MTBF, pauses, drains, recoveries."""
    rng = np.random.default_rng([number, 5])
    step, mtbf = 10 ** rng.uniform(-3, 0.5), 10 ** rng.uniform(2.5, 5)
    train = mtbf * 10 ** rng.uniform(-1.3, 0.6)
    every = max(1, round(train / step))
    pause, drain = train * rng.choice([0, 0.02, 0.3]), train * rng.choice([0, 0.1, 0.9])
    down = mtbf * 10 ** rng.uniform(-3, -0.3)
    return ProtectionPlan(step, 1.0, every, pause, drain, restore=0.5 * down), mtbf, down


@each("number", range(100), few=8)
def test_I10_the_share_of_useful_time_is_the_closed_form_within_half_a_point(number):
    plan, mtbf, down = drawn(number)
    struck, end = arrivals(mtbf, number)
    _, counts = run_faults(terms_of(plan, detect=0.2 * down, restart=0.3 * down), struck, end)
    expected = uptime_share(plan.checkpoint_interval * plan.step, plan.pause, plan.drain, down, mtbf)
    assert counts * plan.step / end == pytest.approx(expected, abs=0.005)
    assert effective(plan, plan.step, mtbf, down) == pytest.approx(expected, rel=1e-6)


@each(("pause", "mtbf"), [(1.0, 3600.0), (30.0, 20_000.0), (60.0, 3000.0)], few=1)
def test_I10_the_best_period_of_a_sweep_is_daly_s_within_a_fifth_of_a_point(pause, mtbf):
    struck, end = arrivals(mtbf, 7)

    def share(period):
        plan = ProtectionPlan(0.1, 1.0, round(period / 0.1), pause, restore=10.0)
        return run_faults(terms_of(plan), struck, end)[1] * 0.1 / end

    best = daly_period(pause, mtbf)
    sweep = {best * 2**power: share(best * 2**power) for power in np.arange(-3, 3.5, 0.5)}
    assert max(sweep.values()) - share(best) <= 0.002
    assert max(sweep.values()) - share(young_period(pause, mtbf)) <= 0.004
    assert sweep[best / 8] < share(best) - 0.002 > sweep[best * 8]


def test_daly_approaches_young_for_short_pauses_and_stops_at_the_mtbf():
    assert daly_period(1e-3, 1e6) == pytest.approx(young_period(1e-3, 1e6), rel=1e-3)
    assert daly_period(100.0, 50.0) == 50.0


def test_without_faults_the_closed_form_is_the_share_of_training():
    assert effective(ProtectionPlan(2.0, 1.0, checkpoint_interval=10, pause=5.0), 1.5, float("inf"), 99.0) == 15 / 25


def test_the_interval_is_of_the_period_asked_for_or_the_customary_one_and_no_shorter_than_a_copy_takes():
    assert batches_between(12.0, 0.1, 0.0) == 120
    assert batches_between(None, 0.1, 0.0) == round(CUSTOMARY / 0.1)
    assert batches_between(None, 0.1, 0.0, customary=7.0) == 70
    assert batches_between(1.0, 0.1, 7.05) == 71  # as fast as the storage takes them
    assert batches_between(1e-9, 0.1, 0.0) == 1


@pytest.mark.parametrize(("gpus", "shape"), [(1, 0.7), (4, 1.0)])
def test_one_unit_fails_by_weibull_s_law_and_many_together_exponentially(gpus, shape):
    """The superposition of many renewal processes is nearly Poisson's (Palm, Khinchin)."""
    asked = {"faults.gpu_crash_mtbf_hours": 100.0, "faults.weibull_shape": 0.7, "machine.num_gpus": gpus}
    assert hazards_of(with_values(Scenario(system="all-hbm"), asked)) == {"gpu-crash": Hazard(100 * HOUR / gpus, shape)}


@pytest.mark.parametrize(("share", "calm", "failed"), [(0.25, 40 / 3, 40.0), (1.0, None, 10.0)])
def test_a_share_of_power_losses_also_fails_to_flush(share, calm, failed):
    found = hazards_of(with_values(Scenario(), {"faults.power_loss_mtbf_hours": 10.0, "faults.flush_failure_share": share}))
    assert found["power-loss"].mtbf == (calm and pytest.approx(calm * HOUR))
    assert found["flush-failure"].mtbf == pytest.approx(failed * HOUR)
