"""Do faults strike as often as they should, each class and node on its own, and is a bad trace refused?"""

from itertools import islice
from math import exp, gamma, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadKnob
from engine.faults.fault import Hazard, Strike, active_faults, instants, published_mtbfs, published_rates, strikes
from engine.faults.fault import repair_times as repairs
from engine.registry import NO_RATES, all_variants, rate_names
from engine.scenario.fault_knobs import read_trace
from engine.scenario.scenario import KNOBS, Scenario, with_values
from tests.cases import each
from tests.machines import TINY

DRAWN = 4000
RANDOM = tuple(name for name in all_variants("faults") if f"faults.{name.replace('-', '_')}_mtbf_hours" in KNOBS)


def asking(**knobs):
    """Return preset tiny with these fault knobs."""
    return with_values(TINY, {f"faults.{name}": value for name, value in knobs.items()})


def hourly(*names):
    """Return knobs that let each of these faults strike once an hour."""
    return {f"{name.replace('-', '_')}_mtbf_hours": 1.0 for name in names}


@pytest.mark.parametrize("shape", [0.5, 1.0, 2.0])
def test_a_weibull_hazard_keeps_its_mean_and_its_distribution(shape):
    drawn = np.fromiter(instants(Hazard(100.0, shape), 1, "some"), float, DRAWN)
    gaps = np.diff(drawn, prepend=0.0)
    deviation = 100 * sqrt(gamma(1 + 2 / shape) / gamma(1 + 1 / shape) ** 2 - 1)
    assert abs(gaps.mean() - 100) < 3 * deviation / sqrt(DRAWN)
    from scipy.stats import kstest  # late, since importing it takes a second

    assert kstest(gaps, "weibull_min", (shape, 0, 100 / gamma(1 + 1 / shape))).pvalue > 0.001


def test_repair_times_are_lognormal_about_their_median():
    drawn = np.log(np.fromiter(repairs(600.0, 0.8, 1, "some"), float, DRAWN))
    from scipy.stats import kstest

    assert kstest(drawn, "norm", (log(600), 0.8)).pvalue > 0.001
    assert list(islice(repairs(600.0, 0.0, 1, "some"), 3)) == [600.0] * 3


@given(at=st.lists(st.floats(0, 1e6), max_size=6), mtbf=st.none() | st.floats(1, 1e6), seed=st.integers(0, 99))
def test_strikes_rise_hold_the_listed_instants_and_come_again_with_the_seed(at, mtbf, seed):
    hazard = Hazard(mtbf, listed_seconds=tuple(at))
    found = list(islice(instants(hazard, seed, "some", 2), 20))
    assert found == sorted(found) == list(islice(instants(hazard, seed, "some", 2), 20))
    assert mtbf is not None or found == sorted(at)


def test_classes_nodes_and_seeds_have_streams_of_their_own():
    streams = [(1, "one", 0), (1, "one", 1), (1, "two", 0), (1, "other", 0), (2, "one", 0)]
    firsts = {next(instants(Hazard(1.0), *stream)) for stream in streams}
    assert len(firsts) == len(streams)


@each("off", RANDOM)
def test_switching_one_class_off_moves_no_other_strike(off):
    knobs = {**hourly(*RANDOM), "repair_median_seconds": 9.0, "repair_sigma": 0.5, "detect_sigma": 0.3}
    every_class = [one for one in islice(strikes(asking(**knobs)), 300) if one.fault != off]
    knobs[f"{off.replace('-', '_')}_mtbf_hours"] = None
    assert list(islice(strikes(asking(**knobs)), len(every_class))) == every_class


def test_a_share_of_power_losses_fails_to_flush_at_the_instants_of_all():
    plain = [one.seconds for one in islice(strikes(asking(**hourly("power-loss"))), 400)]
    both = list(islice(strikes(asking(**hourly("power-loss"), flush_failure_share=0.25)), 400))
    assert [one.seconds for one in both] == plain
    failed = sum(one.fault == "flush-failure" for one in both)
    assert abs(failed - 100) < 3 * sqrt(400 * 0.25 * 0.75)
    all_fail = islice(strikes(asking(**hourly("power-loss"), flush_failure_share=1.0)), 9)
    assert {one.fault for one in all_fail} == {"flush-failure"}


def test_published_rates_give_a_cluster_its_published_interruptions():
    """Llama 3: 419 in 54 days on 16,384 GPUs, so a quarter of them in as long on a quarter of the machine."""
    quarter = with_values(Scenario(), {"faults.rates": "llama3", "machine.num_gpus": 4096})
    count = sum(1 for _ in takewhile_before(strikes(quarter), 54 * 24 * 3600.0))
    assert abs(count - 419 / 4) < 3 * sqrt(419 / 4)
    per_gpu = sum(
        1 / seconds / (1 if name in ("gpu-crash", "silent-corruption") else 8)
        for name, seconds in published_mtbfs("llama3").items()
    )
    assert 1 / per_gpu / 3600 == pytest.approx(50_700, rel=1e-3)


def takewhile_before(found, end):
    """Yield the strikes before `end` seconds."""
    for one in found:
        if one.seconds >= end:
            return
        yield one


@pytest.mark.parametrize("name", [name for name in rate_names() if name != NO_RATES])
def test_published_rates_name_known_faults_and_can_be_overruled(name):
    assert set(published_mtbfs(name)) <= set(RANDOM) and all(seconds > 0 for seconds in published_mtbfs(name).values())
    assert set(published_mtbfs(name)) == active_faults(asking(rates=name))
    assert all(one["source"] for one in (published_rates(name), *published_rates(name)["faults"].values()))
    own = next(strikes(asking(rates="rsc1", host_crash_mtbf_hours=2.0)))
    assert own == next(strikes(asking(host_crash_mtbf_hours=2.0)))


def test_more_gpus_nodes_and_lemons_are_struck_more_often():
    def count(**knobs):
        given = with_values(asking(**hourly("gpu-crash")), {"machine.gpus_per_node": 4, **knobs})
        return sum(1 for _ in takewhile_before(strikes(given), 100 * 3600.0))

    for number, expected in {"1": 100, "4": 400, "6": 600}.items():
        assert abs(count(**{"machine.num_gpus": int(number)}) - expected) < 3.5 * sqrt(expected)
    assert abs(count(**{"machine.num_gpus": 8, "faults.lemon_factor": 5.0}) - 2400) < 3.5 * sqrt(2400)
    assert {one.node for one in islice(strikes(with_values(asking(**hourly("gpu-crash")), {"machine.num_gpus": 24})), 50)} == {
        0,
        1,
        2,
    }


def test_a_shock_waits_for_the_slowest_of_its_repairs():
    def median(nodes):
        knobs = {**hourly("correlated-shock"), "repair_median_seconds": 100.0, "repair_sigma": 1.0}
        found = islice(strikes(asking(**knobs, correlated_shock_nodes=nodes)), 800)
        return np.median([one.repair for one in found])

    assert median(1) == pytest.approx(100, rel=0.15)
    assert median(4) == pytest.approx(100 * exp(0.998), rel=0.15), "the median of the largest of 4 has probability 0.5 ** (1 / 4)"


def test_late_detection_delays_its_share_of_faults():
    knobs = {**hourly("gpu-crash"), "late_detection_share": 0.3, "late_detection_seconds": 1000.0, "detect_seconds": 5.0}
    found = [one.detect for one in islice(strikes(asking(**knobs)), 500)]
    assert set(found) == {5.0, 1005.0}
    assert abs(found.count(1005.0) - 150) < 3 * sqrt(500 * 0.3 * 0.7)


def test_a_trace_is_replayed_beside_the_lists():
    found = list(strikes(asking(trace=" 2.5 gpu-crash 3;1 link-down ; 2.5 gpu-crash;", gpu_crash_at_seconds=(0.5,))))
    assert [(one.seconds, one.fault, one.node) for one in found] == [
        (0.5, "gpu-crash", 0),
        (1.0, "link-down", 0),
        (2.5, "gpu-crash", 0),
        (2.5, "gpu-crash", 3),
    ]
    assert isinstance(found[0], Strike) and read_trace("") == ()


BAD = {
    "5": "seconds class",
    "1 gpu-crash 0 0": "seconds class",
    "-1 gpu-crash": "'-1'",
    "nan gpu-crash": "'nan'",
    "1 gpu-crush": "did you mean gpu-crash?",
    "1 late-detection": "late-detection",
    "1 gpu-crash -1": "'-1'",
    "1 gpu-crash ²": "'²'",
    ";".join(["1 gpu-crash"] * 2001): "at most 2000",
}


@each("trace", BAD)
def test_a_bad_trace_is_refused_with_a_sentence(trace):
    with pytest.raises(BadKnob) as refused:
        read_trace(trace, tuple(name for name in RANDOM if name != "late-detection"))
    sentence = str(refused.value)
    assert (
        sentence.startswith("faults.trace ")
        and BAD[trace] in sentence
        and sentence.endswith((".", "?"))
        and sentence.isprintable()
    )
    if len(trace) < 6000:
        with pytest.raises(BadKnob):
            asking(trace=trace)
