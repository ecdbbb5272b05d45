"""Insights: do the steps add up, does the log need what a formula and a full run say, and where does the link stop to matter?"""

from functools import cache
from itertools import pairwise
from math import ceil, inf, prod

import numpy as np
import pytest

from engine.core.work import Persist, Pool, RowLog, RowReads, TopPart
from engine.errors import CannotRun
from engine.estimate import estimate
from engine.hardware.device import seconds
from engine.insight import planner_gap
from engine.insight.cost import cost
from engine.insight.decomposition import BOUND, NEAR_DATA, RELAXED, decompose, in_other_order
from engine.insight.relaxation import (
    ENDLESS_BATCHES,
    LINK,
    UNLIMITED_BOUND,
    WIDEST_LINK,
    log_rates,
    machine_with_log_rate,
    mlp_log,
    relaxable,
    relaxation,
)
from engine.insight.saturation import saturation
from engine.scenario.scenario import with_values
from engine.simulate import simulate
from engine.systems.traffic import mlp_bytes, top_widths
from engine.workload import spectrum
from engine.workload.accesses import expected_accesses
from engine.workload.popularity import Popularity
from pages.why_page import sentences
from tests.cases import each
from tests.machines import PRESETS, ready, scenario

STEP, JOULES = "Step time [ms]", "Energy per batch [J]"
# One Optane module, where six would hide what is asked about, and a port that lets all links through.
ONE = {"machine.pmem_capacity_GB": 128.0, "machine.assume": (("gpu.port", 1000.0), ("gpu-port.host-port-of-PCIe-3", 1000.0))}
LADDER = ["pcie", "cxl-d", "cxl-b", "cxl", "cxl"]
VARIED = [
    *((name, {}) for name in PRESETS),
    ("tiny", {NEAR_DATA: False}),
    ("optane-rm2", {"machine.pmem": "cxl-flash", BOUND: 3}),
]
steps_of, relaxation_of, saturation_of = cache(decompose), cache(relaxation), cache(saturation)


def steps(name, **knobs):
    return steps_of(scenario(name, "cxl", **knobs))


@each(("name", "knobs"), VARIED)
def test_the_steps_sum_to_the_difference_and_multiply_to_the_speed_up(name, knobs):
    found = steps(name, **knobs)
    asked = {path: value for path, value in knobs.items() if path != BOUND}
    first, last = estimate(scenario(name, "pmem", **asked)).results, estimate(scenario(name, "cxl", **knobs)).results
    assert [step.scenario.system for step in found.steps] == LADDER and not any(step.refused for step in found.steps)
    assert 1e3 * sum(step.saved.seconds for step in found.steps) == pytest.approx(first[STEP] - last[STEP], abs=1e-9)
    assert sum(step.saved.joules for step in found.steps) == pytest.approx(first[JOULES] - last[JOULES], abs=1e-9)
    assert prod(step.factor for step in found.steps) == pytest.approx(first[STEP] / last[STEP], rel=1e-12)
    assert found.speedup == pytest.approx(first[STEP] / last[STEP], rel=1e-12)
    for step in found.steps:
        assert sum(step.saved.stages) == pytest.approx(step.saved.seconds, abs=1e-12)


@each("name", [name for name in PRESETS if scenario(name, "cxl").machine.near_data_compute])
def test_both_orders_of_a_pair_save_the_same_together(name):
    found = steps(name).steps
    assert [step.swapped is not None for step in found] == [True, True, False, True, True]
    for one, two in (found[:2], found[3:]):
        both = one.saved.seconds + two.saved.seconds
        assert one.swapped.saved.seconds + two.swapped.saved.seconds == pytest.approx(both, abs=1e-12)
        assert one.mean_seconds + two.mean_seconds == pytest.approx(both, abs=1e-12)
    middle = estimate(scenario(name, "cxl-d", **{NEAR_DATA: False})).results[STEP]
    assert 1e3 * found[0].swapped.cost_before.seconds == pytest.approx(middle, rel=1e-12)
    for way in (steps(name), in_other_order(steps(name))):
        assert all(one.cost_after == two.cost_before for one, two in pairwise(way.steps))
        assert (way.steps[0].cost_before, way.steps[-1].cost_after) == (way.start_cost, way.end_cost)
        assert all(cost(step.scenario) == step.cost_after for step in way.steps)
    assert in_other_order(in_other_order(steps(name))) == steps(name)
    lookup_last = estimate(scenario(name, "cxl", **{RELAXED: False})).results[STEP]
    assert 1e3 * found[3].swapped.cost_before.seconds == pytest.approx(lookup_last, rel=1e-12)


REFUSED = [
    ({RELAXED: False}, "Relaxed lookup", "set it to on or auto"),
    ({BOUND: 0}, "Relaxed MLP log", "raise it or set it to auto"),
]


@pytest.mark.parametrize(("knobs", "name", "sentence"), REFUSED)
def test_a_step_that_cannot_be_taken_says_why_and_the_others_go_on(knobs, name, sentence):
    found = steps("dlrm-kaggle", **knobs)
    refused = [step for step in found.steps if step.refused]
    assert [step.name for step in refused] == [name] and sentence in refused[0].refused
    assert refused[0].saved.seconds == 0 and refused[0].factor == 1
    assert 1e3 * found.end_cost.seconds == pytest.approx(
        estimate(scenario("dlrm-kaggle", "cxl", **knobs)).results[STEP], rel=1e-12
    )


def test_without_near_data_logic_the_first_step_pools_on_the_gpu_and_has_no_other_order():
    found = steps("trainingcxl-rm1", **{NEAR_DATA: False})
    assert found.steps[0].name == "Pooling on the GPU" and [step.swapped for step in found.steps[:2]] == [None, None]


def test_tables_that_do_not_fit_leave_nothing_to_take_apart():
    small = scenario("dlrm-kaggle", "cxl", **{"machine.pmem_capacity_GB": 1.0, "machine.pmem_module_GB": 1.0})
    for insight in (decompose, relaxation, saturation):
        with pytest.raises(CannotRun, match="cannot hold"):
            insight(small)


def test_a_step_that_costs_time_is_told_with_the_stages_that_grow():
    found = steps("trainingcxl-rm1")
    assert found.steps[3].saved.seconds < 0 < found.steps[3].swapped.saved.seconds
    (told,) = sentences.cost_sentences(found)
    assert told.startswith("Relaxed lookup costs 0.147 ms") and "exposed Checkpoint grows by 0.401 ms" in told
    assert sentences.cost_sentences(steps("optane-rm1", **ONE)) == ()


def test_the_findings_name_the_step_that_saves_most_and_whether_order_matters():
    one, four = steps("trainingcxl-rm1"), steps("optane-rm4")
    assert (
        sentences.headline(one)
        == "CXL is 4.28 × faster than PMEM; largest saving: near-data processing and hardware hand-offs, 13.9 ms of 20.6 ms"
    )
    assert "12.1 ms before hardware hand-offs, but 84.4 µs after" in sentences.order_matters(one)
    assert "by more than 0.5 % of the step on PMEM" in sentences.order_matters(four)
    assert "largest saving: relaxed MLP log, 10.1 ms of 13.5 ms" in sentences.headline(four)


def gate_left(base, medium):
    """Return the seconds that a top MLP leaves of PMEM, or of a link: from the devices alone, nothing scheduled."""
    m, s = ready(base), base
    rows, r = expected_accesses(s).unique_rows.sum(), 4 * s.model.embedding_dim
    top = seconds(m.devices["gpu"], TopPart(s.data.batch_size, top_widths(s), (s.model.num_tables + 1) * s.model.embedding_dim))
    log, read, flags = RowLog(rows, r, r + 8, "near-data"), RowReads(rows, r, requester="near-data"), Persist(4)
    pooled = seconds(m.devices["near-data"], Pool(expected_accesses(s).lookups.sum() * r, "pmem"))
    looked_up = max(seconds(m.devices["pmem"], read), pooled)
    return float(top - looked_up - sum(seconds(m.devices["pmem"], work) for work in (log, flags)) if medium == "pmem" else top)


SLOWER = [(f"trainingcxl-rm{n}", "pmem", factor) for n in (1, 2, 3, 4) for factor in (10, 30, 100)]
SLOWER += [("trainingcxl-rm4", "cxl", 1), ("trainingcxl-rm3", "cxl", 1), ("trainingcxl-rm1", "pmem", 1000)]


@each(("name", "limit", "factor"), SLOWER)
def test_the_log_needs_the_staleness_of_the_closed_form(name, limit, factor):
    base = relaxable(scenario(name, "cxl"))
    rate = 67.3e9 / factor
    slow = machine_with_log_rate(base, limit, rate / 1e9)
    found, gate = mlp_log(slow, 100), gate_left(slow, limit)
    assert found.limit == limit and found.rate == pytest.approx(rate)
    if gate <= 0:  # slow appends make row logs that last longer than the top MLP leaves
        assert found.gate_seconds == 0 and found.batches == inf and found.unlimited_step > mlp_log(base, 100).unlimited_step
        return
    assert found.gate_seconds == pytest.approx(gate, rel=1e-3)
    assert found.batches == pytest.approx(mlp_bytes(base) / (rate * gate), rel=2e-3)
    bound = ceil(2 * mlp_bytes(base) / rate / (gate + 0.01 * found.unlimited_step)) - 1
    assert found.needed_bound == pytest.approx(bound, abs=1 + 0.005 * bound)


@each(("name", "factor"), [("trainingcxl-rm4", 1), ("trainingcxl-rm4", 10), ("trainingcxl-rm3", 10)], few=1)
def test_a_full_run_without_a_bound_has_an_mlp_log_twice_as_old_as_its_writing_takes(name, factor):
    knobs = {BOUND: UNLIMITED_BOUND, "run.training": False, "run.batches": 160}
    base = relaxable(scenario(name, "cxl"))
    slow = machine_with_log_rate(base, "pmem" if factor > 1 else "cxl", 67.3 / factor)
    gate = gate_left(slow, "pmem" if factor > 1 else "cxl")
    age = simulate(with_values(slow, knobs)).results["MLP staleness [batches]"]
    assert abs(age - 2 * mlp_bytes(base) / (67.3e9 / factor) / gate) <= 2
    assert mlp_log(slow, 100).needed_bound <= age


@each("name", ["trainingcxl-rm3", "optane-kaggle", "optane-rm2"], few=1)
def test_the_needed_bound_is_the_smallest_that_hides_the_log(name):
    found, base = relaxation_of(scenario(name, "cxl")), relaxable(scenario(name, "cxl"))
    enough, short = (estimate(with_values(base, {BOUND: found.present_log.needed_bound - less})).results[STEP] for less in (0, 1))
    assert enough <= 1.01e3 * found.present_log.unlimited_step < short


@each(("name", "knobs"), [("trainingcxl-rm2", {}), ("optane-rm2", ONE)], few=1)
def test_relaxing_pays_up_to_a_log_bandwidth_and_not_beyond(name, knobs):
    found, base = relaxation_of(scenario(name, "cxl", **knobs)), relaxable(scenario(name, "cxl", **knobs))
    assert mlp_log(machine_with_log_rate(base, found.present_log.limit, 0.95 * found.sufficient_rate / 1e9), 0).pays
    assert not mlp_log(machine_with_log_rate(base, found.present_log.limit, 1.02 * found.sufficient_rate / 1e9), 0).pays
    assert (
        mlp_log(machine_with_log_rate(base, found.present_log.limit, 0.9 * found.hundred_batches_rate / 1e9), 0).needed_bound
        >= 100
    )
    assert (
        mlp_log(machine_with_log_rate(base, found.present_log.limit, 1.1 * found.hundred_batches_rate / 1e9), 0).needed_bound
        <= 100
    )


@each("name", ["trainingcxl-rm1", "optane-rm4", "dlrm-terabyte"], few=1)
def test_a_slower_medium_never_needs_less_staleness(name):
    found = relaxation_of(scenario(name, "cxl"))
    needs = [one.needed_bound for one in found.curves if one.limit == "pmem"]
    assert needs == sorted(needs, reverse=True) and needs[0] > 100
    assert all(one.unlimited_step <= 1.005 * one.own_step for one in found.curves)


def test_relaxation_is_told_with_what_it_needs_and_saves():
    told = " ".join(sentences.relaxation_sentence(relaxation_of(scenario("trainingcxl-rm3", "cxl"))))
    assert (
        "has 1.27 ms of each batch: the log needs a staleness of 3 batches. "
        "The staleness bound of 100 batches saves 1.63 ms (22.3 %)" in told
    )
    busy = " ".join(sentences.relaxation_sentence(relaxation_of(scenario("optane-rm3", "cxl"))))
    assert "is busy all the time beside the top MLP" in busy and "Even at 400 GB/s a strict log costs" in busy
    assert "saves nothing" in sentences.relaxation_sentence(relaxation_of(scenario("tiny", "cxl")))[0]


@each("name", ["trainingcxl-rm1", "trainingcxl-rm4", "optane-rm3", "dlrm-kaggle"], few=1)
def test_beyond_its_saturation_a_doubled_link_saves_less_than_one_percent(name):
    held = {"machine.pmem_capacity_GB": ready(scenario(name, "cxl")).scenario.machine.pmem_capacity_GB}  # whatever the link
    for found in saturation_of(scenario(name, "cxl")):

        def saves(bandwidth, system=found.system):
            endless = {"run.batches": ENDLESS_BATCHES}  # as the curve has it: a short run ends before a log is waited for
            one, two = (
                estimate(scenario(name, system, **endless, **held, **{LINK: b})).results[STEP] for b in (bandwidth, 2 * bandwidth)
            )
            return 1 - two / one

        if found.sufficient_bandwidth is None:  # the widest link is too narrow, as where lines in flight bound it
            assert saves(found.curve[-1][0] / 2) >= 0.01
            continue
        assert saves(found.sufficient_bandwidth) < 0.01 <= saves(found.sufficient_bandwidth / 1.04)
        assert all(
            saves(bandwidth) < 0.01 for bandwidth, _ in found.curve if found.sufficient_bandwidth <= bandwidth <= WIDEST_LINK / 2
        )


def test_a_log_on_slow_memory_wants_no_link_faster_than_the_memory():
    redo, undo, _ = saturation_of(scenario("optane-rm3", "cxl"))
    assert (redo.sufficient_bandwidth, undo.sufficient_bandwidth) == pytest.approx((6 * 2.28, 6 * 2.28), rel=0.03)


def test_relaxation_saves_link_bandwidth():
    for number in (1, 2, 3, 4):
        redo, undo, relaxed = saturation_of(scenario(f"trainingcxl-rm{number}", "cxl"))
        assert relaxed.sufficient_bandwidth < 5 < 50 < undo.sufficient_bandwidth < (redo.sufficient_bandwidth or WIDEST_LINK)


def test_the_links_work_adds_up_to_its_busy_time_and_something_hides_it():
    for found in saturation_of(scenario("trainingcxl-rm1", "cxl")):
        at_last = {
            LINK: 2 * found.sufficient_bandwidth,
            "run.batches": 305 if found.system == "cxl" else 66,
        }  # as many as are looked at
        doubled = estimate(scenario("trainingcxl-rm1", found.system, **at_last))
        busy = next(row["Busy [%]"] for row in doubled.devices if row["Device"] == "cxl")
        assert 100 * found.busy_seconds / found.step == pytest.approx(
            busy, rel=0.1 if found.system == "cxl" else 0.02
        )  # a window counts whole logs, of some 17
        by_direction = {
            one.direction: sum(task.busy_seconds for task in found.link_tasks if task.direction == one.direction)
            for one in found.link_tasks
        }
        assert found.busy_seconds == max(by_direction.values()) < sum(by_direction.values())
    assert "1.09 ms of MLP log beside Top MLP" in sentences.saturation_sentence(found)


def test_links_of_several_expanders_count_as_one_of_their_joint_bandwidth():
    one = scenario("trainingcxl-rm2", "cxl", **{"machine.cxl_bandwidth_GBps": 20.0})
    four = with_values(one, {"machine.cxl_bandwidth_GBps": 5.0, "machine.num_expanders": 4})
    automatic = with_values(one, {"machine.cxl_bandwidth_GBps": None, "machine.cxl_lanes": 8, "machine.num_expanders": 2})
    assert log_rates(relaxable(four)) == log_rates(relaxable(one)) and relaxation(four).present_log == relaxation(one).present_log
    assert log_rates(relaxable(automatic))["cxl"] == pytest.approx(16 * 63e9 / 16 * 0.82)
    assert [found.sufficient_bandwidth for found in saturation(four)] == [found.sufficient_bandwidth for found in saturation(one)]


def test_the_planner_is_28_times_off_on_a_million_zipf_rows_ten_of_it_by_derating():
    rows = 10**6
    share = 1 / np.arange(1, rows + 1) ** 1.05
    hit_rate = share[:15_000].sum() / share.sum()
    found = planner_gap.overlay(0.015, hit_rate)
    assert found.planner == pytest.approx((0.015 * 897e9 + 0.985 * 32e9) / 10)
    assert found.real / found.planner == pytest.approx(28, abs=0.7)
    assert prod(found.factors) == pytest.approx(found.real / found.planner)
    derating, hits, mixing = found.factors
    assert derating == pytest.approx(10) and hits * mixing == pytest.approx(2.8, abs=0.07) and hits > 15 and mixing < 0.2
    space = spectrum.spectrum(Popularity((), 1.0, 1.05, 0.0, rows, rows))
    assert float(spectrum.head_mass(space, 15_000)) == pytest.approx(hit_rate, abs=1e-3)
