"""Effect: does every knob change some result somewhere, and does one that changes none here say so, and why?"""

from dataclasses import replace
from functools import cache
from itertools import chain, product

import pytest

from engine.estimate import estimate
from engine.hardware.device import readers
from engine.insight.knobs.effect import NO_EFFECT, NO_OTHER_VALUE, KnobEffect, effect, equal_results, moved_scenarios
from engine.insight.running_costs import running_costs
from engine.registry import load_variant, variant_names
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import KNOBS, Scenario, values, with_values
from engine.schedule.machine import schedule
from engine.simulate import simulate
from pages.failures_page import campaigns
from tests import ROOT
from tests.cases import each
from tests.machines import TINY, counted_flow, ready
from tests.systems.test_scale_out import small

SYSTEMS = tuple(name for name in variant_names("systems") if load_variant("systems", name).family == "TrainingCXL")
PLACES = (
    {},
    {"data.popularity": "zipf"},
    {"model.interaction": "concat"},
    {"model.interaction": "cross"},
    {"model.num_embeddings": (1000,), "model.pooling": (1,)},
    {"machine.energy_level": "node"},
)
# A short run in which everything happens: it trains on few rows, loses power, and starts again.
EVENTFUL = {
    "system": "cxl",
    "run.batches": 12,
    "run.training": True,
    "run.evaluations": 2,
    "data.held_out_samples": 200,
    "faults.power_loss_at_seconds": (0.0005,),
    "faults.power_loss_mtbf_hours": 0.1,
    "model.optimizer": "rowwise-adagrad",
}
LONG_ROWS = {"model.interaction": "concat", "model.embedding_dim": 4096}  # more than the smallest memory budget
HISTORY_AND_BAG = with_values(preset("nvidia-hstu").scenario, {"model.pooling": 50})  # that could be two histories
READS_FILE = with_values(preset("optane-kaggle").scenario, {"run.batches": 3, "data.batch_size": 16, "data.held_out_samples": 20})
FILE = ROOT / "tests/data/made_up_criteo.csv"


def shows_in_an_estimate(path):
    """Return whether the knob changes a result of some preset under some system."""
    if path == "model.projection_dim":  # the bottom MLP must end in vectors as wide
        wide = with_values(TINY, {path: 8, "model.bottom_mlp": (5, 8, 8)})
        return not equal_results(estimate(wide).results, estimate(TINY).results)
    changed = product(("tiny", "trainingcxl-rm1", "dlrm-terabyte"), PLACES, SYSTEMS)
    bases = chain(
        (with_values(preset(name).scenario, {**changes, "system": system}) for name, changes, system in changed),
        (preset(name).scenario for name in preset_names()),
        (with_values(preset("dlrm-terabyte").scenario, {"system": "all-hbm", "machine.num_gpus": 16}), HISTORY_AND_BAG),
    )
    return any(effect(base, path) == KnobEffect(True) for base in bases)


@cache
def full(scenario, with_file=False):
    """Return all that a full run tells, the question aside."""
    return replace(simulate(scenario, FILE if with_file else None), scenario=Scenario())


def struck(path):
    """Return what else must be set for a fault's knob to show: its own class strikes, the knob that it needs is not 0."""
    knob, own = KNOBS[path], EVENTFUL["faults.power_loss_at_seconds"]
    if path in SHOWS:
        return SHOWS[path]
    if path.endswith("_at_seconds"):
        return {path: own}
    if path.endswith("_mtbf_hours"):
        return {path: 2e-7, "faults.detect_seconds": 0.0, "faults.restart_seconds": 0.0, "faults.power_loss_at_seconds": ()}
    return {f"faults.{knob.needs.replace('-', '_')}_at_seconds": own} if knob.needs in variant_names("faults") else {}


CRASH = {"faults.gpu_crash_at_seconds": (1.0,)}
SLOW = {"faults.fail_slow_at_seconds": (0.0,), "faults.fail_slow_device": "gpu"}
# What shows only together with another knob, or where power is lost at the right moment.
SHOWS = {
    "faults.repair_sigma": {"faults.repair_median_seconds": 1.0},
    "faults.late_detection_seconds": {"faults.late_detection_share": 1.0},
    "faults.correlated_shock_nodes": {
        "faults.correlated_shock_at_seconds": (0.0003,),
        "faults.repair_median_seconds": 10.0,
        "faults.repair_sigma": 1.0,
    },
    "faults.lemon_factor": {"faults.gpu_crash_mtbf_hours": 0.1},
    "faults.weibull_shape": {"faults.gpu_crash_mtbf_hours": 0.1},
    "faults.rates": {"faults.lemon_factor": 300.0, "faults.detect_seconds": 1e5, "faults.power_loss_mtbf_hours": None},
    "faults.machines": {
        "faults.machines": 300,
        "faults.rates": "llama3",
        "faults.detect_seconds": 1e5,
        "faults.power_loss_mtbf_hours": None,
    },
    "faults.fault_in_recovery_at_seconds": {"faults.fault_in_recovery_at_seconds": (20.0,)},
    "faults.fail_slow_bandwidth": SLOW,
    "faults.fail_slow_latency": SLOW,
}


def in_a_commit():
    """Yield runs that lose power while a commit is under way, torn by different seeds."""
    base = with_values(TINY, {"system": "cxl-b", "run.training": False})
    line = schedule(ready(base), counted_flow(base, 40))
    commit = line.graph.index("Commit")
    for n in range(4, 36, 2):
        at = float(line.start[n, commit] + line.end[n, commit]) / 2
        yield with_values(base, {"faults.power_loss_at_seconds": (at,)})


def shows_in_a_full_run(path):
    """Return whether the knob, moved, changes anything that a full run tells."""
    if path == "data.digest":
        return full(READS_FILE, True) != full(READS_FILE)
    if KNOBS[path].acts == "campaign":
        asked = with_values(TINY, {"run.batches": 10, "faults.power_loss_mtbf_hours": 10.0})
        return any(
            campaigns.simulate_campaigns(other).protections != campaigns.simulate_campaigns(asked).protections
            for other in moved_scenarios(asked, KNOBS[path])
        )
    if KNOBS[path].acts == "running costs":
        costs = running_costs(estimate(TINY))
        return all(running_costs(estimate(other)) != costs for other in moved_scenarios(TINY, KNOBS[path]))
    if path == "faults.trace":
        return full(with_values(READS_FILE, {path: "0.0001 gpu-crash"})) != full(READS_FILE)
    if KNOBS[path].acts == "memories":
        return full(small("mtrains")) != full(small("mtrains", **{path: False}))
    if path == "data.id_numbering":
        return full(READS_FILE, True) != full(with_values(READS_FILE, {path: "hashed"}), True)
    if path == "model.field_copies":
        copies = {"model.num_tables": 52, "model.num_embeddings": (1000,), "model.interaction": "concat", path: 2}
        return full(with_values(READS_FILE, copies), True) != full(READS_FILE, True)
    if KNOBS[path].acts == "file":
        return full(with_values(READS_FILE, {path: 1}), True) != full(with_values(READS_FILE, {path: 2}), True)
    bases = (with_values(TINY, {**EVENTFUL, **struck(path), **changes}) for changes in ({}, LONG_ROWS))
    return any(full(other) != full(base) for base in chain(bases, in_a_commit()) for other in moved_scenarios(base, KNOBS[path]))


@pytest.mark.slow
@each("path", [path for path in KNOBS if KNOBS[path].acts == "always"], few=16)
def test_no_knob_is_dead_everywhere(path):
    assert shows_in_an_estimate(path)


@each("path", [path for path in KNOBS if KNOBS[path].acts != "always"], few=8)
def test_a_knob_that_acts_in_a_full_run_changes_what_some_full_run_tells(path):
    assert shows_in_a_full_run(path)


@each("name", preset_names(), few=8)
def test_knobs_that_act_in_a_full_run_move_no_estimate(name):
    """All are moved at once, each as far as it goes, since one estimate tells as much as a hundred."""
    base = other = preset(name).scenario
    for path in (path for path in KNOBS if KNOBS[path].acts != "always"):
        ways = [with_values(other, {path: "ab" * 32})] if path == "data.digest" else moved_scenarios(other, KNOBS[path])
        *_, other = (other, *ways)
    assert values(other)["faults.seed"] != values(base)["faults.seed"]
    assert equal_results(estimate(other).results, estimate(base).results)


@each("all_powered", [False, True], few=1)
@each("system", SYSTEMS)
def test_a_device_said_not_to_be_used_moves_no_result(system, all_powered):
    base = with_values(TINY, {"system": system, "machine.all_powered": all_powered})
    unused = [path for path in KNOBS if readers(path) and not effect(base, path).acts]
    assert unused
    for path in unused:
        assert effect(base, path).sentence.startswith(NO_EFFECT)
        assert all(equal_results(estimate(other).results, estimate(base).results) for other in moved_scenarios(base, KNOBS[path]))


@each(
    ("changes", "path", "sentence"),
    [
        ({"system": "pmem"}, "machine.cxl_bandwidth_GBps", f"{NO_EFFECT}: system pmem uses no CXL link."),
        ({"system": "cxl"}, "policy.warm_caches", f"{NO_EFFECT}: system cxl has no cache that a run could begin with filled."),
        ({"system": "cxl"}, "machine.ssd", f"{NO_EFFECT}: system cxl uses no SSD."),
        ({"machine.near_data_compute": False}, "machine.near_data_lanes", f"{NO_EFFECT}: near-data compute is off."),
        (
            {"system": "pmem", "machine.all_powered": True},
            "machine.cxl_latency_ns",
            f"{NO_EFFECT}: CXL link is powered and paid for, but system pmem does not use it.",
        ),
        (
            {},
            "data.zipf_exponent",
            f"{NO_EFFECT}: neither half, double nor the ends of its range change a result of the estimate.",
        ),
        ({"run.training": False}, "model.learning_rate", f"{NO_EFFECT}: functional training is off."),
        ({}, "faults.detect_seconds", f"{NO_EFFECT}: no fault is asked for."),
        (CRASH, "faults.repair_sigma", f"{NO_EFFECT}: faults.repair_median_seconds is 0."),
        (CRASH, "faults.fail_slow_seconds", f"{NO_EFFECT}: no fail-slow is asked for."),
        ({"faults.rates": "llama3"}, "faults.late_detection_seconds", f"{NO_EFFECT}: faults.late_detection_share is 0."),
        ({"faults.rates": "llama3"}, "faults.flush_failure_share", f"{NO_EFFECT}: no power loss is asked for."),
        ({}, "run.passes", f"{NO_EFFECT}: it acts on a data file, and there is none."),
    ],
)
def test_a_knob_without_effect_says_why(changes, path, sentence):
    assert effect(with_values(TINY, changes), path) == KnobEffect(False, sentence)


def test_a_knob_that_only_refuses_says_with_which_words():
    found = effect(with_values(TINY, {"system": "pcie"}), "policy.relaxed_lookup")
    assert found.sentence.startswith(f"{NO_EFFECT}: policy.relaxed_lookup=on is not possible: system=pcie")
    log = effect(with_values(TINY, {"system": "dram"}), "policy.log")
    assert not log.acts and log.sentence.startswith(
        f"{NO_OTHER_VALUE}: policy.log=undo is not possible: system=dram keeps no log"
    )


def test_under_a_machine_that_cannot_run_a_knob_helps_or_says_that_it_does_not():
    refused = with_values(TINY, {"system": "cxl", "machine.num_gpus": 16})
    bandwidth = effect(refused, "machine.cxl_bandwidth_GBps")
    assert bandwidth == KnobEffect(False, f"{NO_EFFECT}: the machine cannot run, and no other value that was tried changes that.")
    assert effect(refused, "machine.num_gpus").acts


def test_a_knob_that_can_only_move_with_others_is_not_called_idle():
    assert effect(TINY, "model.embedding_dim").acts


def test_a_list_with_a_value_per_table_is_moved_as_a_whole_and_acts():
    lists = {
        "model.embedding_dim": (8, 4, 4),
        "model.row_precision": ("fp16", "fp32", "fp32"),
        "model.optimizer": ("sgd", "adam", "sgd"),
    }
    listed = with_values(TINY, {**lists, "model.interaction": "concat"})
    assert [one.model.embedding_dim for one in moved_scenarios(listed, KNOBS["model.embedding_dim"])] == [(16, 8, 8), (4, 2, 2)]
    for path in lists:
        assert effect(listed, path) == KnobEffect(True), path


def test_a_knob_that_decides_whether_the_run_fits_has_an_effect():
    small = with_values(TINY, {"system": "pmem", "machine.pmem_capacity_GB": 1e6})
    assert effect(small, "model.num_embeddings") == KnobEffect(True)
