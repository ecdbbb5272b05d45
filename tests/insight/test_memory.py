"""Latency, near-data compute, latency under load: are knees where Little's law has them, and points what estimates say?"""

from math import ceil

import numpy as np
import pytest

from engine.estimate import estimate
from engine.hardware.devices.cxl import payload_rate
from engine.hardware.devices.expander_dram import EXPANDERS
from engine.insight.memory.latency import LATENCIES, LATENCY, LIMITS, LOSS, latency_sensitivity
from engine.insight.memory.near_data import CONTROLLERS, near_data
from engine.insight.memory.under_load import LOADS, loaded_latencies
from engine.insight.memory.working_set import ROWS, working_set
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.systems.traffic import mlp_bytes
from tests.cases import each

STEP = "Step time [ms]"
BASE = preset("trainingcxl-rm1").scenario


def step(scenario, **knobs):
    """Return one estimate's step in seconds."""
    return estimate(with_values(scenario, {name.replace("__", "."): value for name, value in knobs.items()})).results[STEP] / 1e3


def assuming(scenario, **values):
    return with_values(scenario, {"machine.assume": tuple({**dict(scenario.machine.assume), **values}.items())})


@each("in_flight", [256, 900, 2048])
def test_a_log_that_nothing_hides_waits_for_the_link_from_littles_latency_on(in_flight):
    direct = with_values(BASE, {"machine.cxl_switch_hops": 0, "machine.cxl_retimers": 0})
    base = assuming(direct, **{"cxl.latency-rise": 0.0, "cxl.lines-in-flight": in_flight})
    found = next(one for one in latency_sensitivity(base) if one.system == "cxl-d")
    rate = payload_rate(base.machine)
    knee = in_flight * 64 / rate * 1e9
    assert found.filling_latency == pytest.approx(knee) and found.link_tasks[0].task == "MLP log"

    n, service = mlp_bytes(base) / 64, 64 / rate
    k = ceil(n / in_flight)
    at, seconds = np.array(LATENCIES), np.array(found.own_curve.seconds)
    below, above = seconds[at < knee], at > knee
    assert np.ptp(below) < 0.001 * below[0]
    by_hand = at * 1e-9 - service + (k - 1) * at * 1e-9 + (n - (k - 1) * in_flight) * service
    assert np.diff(seconds[above]) == pytest.approx(np.diff(by_hand[above]), rel=0.01)
    assert found.own_curve.losing_latency == pytest.approx(knee + LOSS * seconds[0] / k * 1e9, rel=0.01)


@each("name", ["trainingcxl-rm2", "dlrm-terabyte"])
def test_a_point_is_one_estimate_and_the_loss_is_a_twentieth(name):
    base = preset(name).scenario
    for one in latency_sensitivity(base):
        own = with_values(base, {"system": one.system})
        assert one.own_curve.seconds[30] == pytest.approx(step(own, **{LATENCY: LATENCIES[30]}), rel=1e-12)
        ranges = {"cxl.lines-in-flight": 256.0, "near-data.accesses-in-flight-a-lane": 8.0}
        assert set(ranges) == set(LIMITS)
        assert one.fewest_curve.seconds[30] == pytest.approx(step(assuming(own, **ranges), **{LATENCY: LATENCIES[30]}), rel=1e-12)
        if one.own_curve.losing_latency:
            assert step(own, **{LATENCY: one.own_curve.losing_latency}) == pytest.approx(
                (1 + LOSS) * one.own_curve.seconds[0], rel=0.005
            )
        else:
            assert one.own_curve.seconds[-1] < (1 + LOSS) * one.own_curve.seconds[0]
        bands = np.array([one.most_curve.seconds, one.own_curve.seconds, one.fewest_curve.seconds])
        assert (np.diff(bands, axis=0) >= -1e-9).all() and (np.diff(bands, axis=1) >= -1e-9).all()


def test_relaxing_the_log_is_what_hides_the_link_and_who_cannot_run_says_so():
    found = {one.system: one for one in latency_sensitivity(BASE)}
    assert found["cxl-b"].own_curve.losing_latency and not found["cxl"].own_curve.losing_latency
    found = {one.system: one for one in latency_sensitivity(with_values(BASE, {"policy.relaxed_lookup": True}))}
    assert "choose system=cxl" in found["dram"].refused and not found["dram"].own_curve.seconds
    assert found["cxl"].own_curve.seconds and not found["cxl"].refused and len(found) == 4


def test_near_data_on_and_off_are_two_estimates_and_each_controllers_logic_passes_every_lookup():
    base = preset("trainingcxl-rm2").scenario
    found = {(one.memory, one.controllers): one for one in near_data(base)}
    one, two = found["expander-dram", 1], found["expander-dram", 2]
    own = with_values(base, {"system": "dram", "machine.expander_dram_channels": 1})
    assert (one.step_with, one.step_without) == pytest.approx(
        [step(own, machine__near_data_compute=near) for near in (True, False)], rel=1e-9
    )
    assert one.logic_busy == pytest.approx(2 * two.logic_busy)
    passed = 2 * (128 * 80 * 80) * 32 * 4 / 64e9  # samples, tables, lookups and bytes of a row, there and back
    assert passed < one.logic_busy < 1.1 * passed
    assert one.added_share > 0.1 and found["expander-dram", 32].added_share < 0 and not one.crosses_more
    assert ("trainingcxl", 1) not in found and {count for _, count in found} == set(CONTROLLERS)


def test_where_little_is_pooled_near_data_compute_costs_since_more_crosses_the_link():
    slow = with_values(preset("dlrm-terabyte").scenario, {"machine.expander_dram": "ddr4-3200"})
    worst = max(near_data(slow), key=lambda one: one.added_share)
    assert worst.added_share > 0.1 and worst.crosses_more and worst.logic_busy < 0.2 * worst.link_busy[0]


@each(("name", "pmem"), [("trainingcxl-rm1", "flat"), ("optane-rm1", "rises")])
def test_latency_under_load_begins_idle_passes_published_points_and_effective_rates_have_none(name, pmem):
    found = {one.part: one for one in loaded_latencies(preset(name).scenario)}
    assert found["CXL link"].latencies[0] == 250 and found["CXL link"].latencies[-1] > 450
    assert (found["PMEM"].latencies[-1] > found["PMEM"].latencies[0]) == (pmem == "rises")
    published = [one for one in found.values() if one.published]
    assert sum(len(one.published) for one in published) == 10
    for one in published:
        for load, ns in one.published:
            assert np.interp(load, LOADS, one.latencies) == pytest.approx(ns, rel=0.03) and one.source


def test_tables_beyond_a_mediums_cache_make_it_slow_and_no_other_medium_minds_their_size():
    found = working_set(with_values(BASE, {"data.popularity": "uniform"}))
    steps = {(one.memory, round(one.nbytes / 1e9)): one.seconds for one in found}
    assert {one.cache for one in found if one.memory == "cxl-flash"} == {48e9}
    assert 1 < steps["cxl-flash", 40] / steps["cxl-flash", 8] < 1.06  # its dirty set of 2 GB holds a smaller part of the rows
    assert steps["cxl-flash", 64] > 2 * steps["cxl-flash", 48] and steps["cxl-flash", 256] > 2 * steps["cxl-flash", 64]
    assert steps["optane-100", 256] == pytest.approx(steps["optane-100", 8], rel=0.01)  # an interleave set at either size
    assert steps["trainingcxl", 256] < steps["trainingcxl", 8] / 2  # 16 modules, and each with its bandwidth
    point = with_values(BASE, {"data.popularity": "uniform", "machine.pmem": "cxl-flash", ROWS: (round(6e6 * 96 / 15.36),)})
    assert steps["cxl-flash", 96] == pytest.approx(
        estimate(with_values(point, {"run.batches": 1000})).results[STEP] / 1e3, rel=0.02
    )


@each("card", ["cmm-d-256", "ddr5-card", "fpga-card"], few=3)
def test_a_cards_latency_under_load_begins_at_its_own_and_a_measured_one_ends_as_measured(card):
    asked = with_values(preset("dlrm-kaggle").scenario, {"system": "dram", "machine.expander": card})
    found = {one.part: one.latencies for one in loaded_latencies(asked)}
    link = found["CXL link"]
    assert link[-1] / link[0] == pytest.approx(951 / 584 if card == "fpga-card" else 2.0, abs=0.4 * (card != "fpga-card"))
    if card == "fpga-card":
        assert np.interp(0.7523, LOADS, link) == pytest.approx(663, rel=0.01) and link[0] == pytest.approx(584)
    assert found["Expander DRAM"][0] == pytest.approx(EXPANDERS[card].latency.value)
