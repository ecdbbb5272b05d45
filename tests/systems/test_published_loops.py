"""Loops with published times: do they cost what their parts say, and does no GPU run ahead of the loop that launches it?"""

import numpy as np
import pytest

from engine.core.work import DriveBatch
from engine.estimate import estimate
from engine.hardware.device import seconds
from engine.hardware.framework import CAPTURED, EAGER, FRAMEWORKS, has_trait
from engine.registry import load_variant, variant_names
from engine.results.ledger import SECONDS, TRAINING, ledger_sum
from engine.scenario.machine import MachineKnobs
from engine.scenario.scenario import Scenario, per_table, with_values
from engine.schedule.machine import machine_of, settle
from engine.simulate import simulate
from engine.systems.loop import LANE, NAME
from tests.cases import each
from tests.machines import TINY, flow, line

MS, US, NS = 1e-3, 1e-6, 1e-9
NEW = ("hugectr", "tensorflow", "torchrec", "pytorch-graph", "stated")
LAUNCHED = {"kernels": 63.0, "collectives": 4.0, "tables": 26.0, "values": 81_920.0}
BY_HAND = {  # of 81,920 values, of which 20,480 are a feature's second or further ids: whole tensors are copied
    "pytorch-graph": 0.3 * MS + 4 * 0.05 * MS + 61_440 * 6.1 * NS,
    "hugectr": 0.3 * MS + 61_440 * 1.0 * NS,
    "tensorflow": 0.3 * MS + 61_440 * 5.4 * NS,
    "torchrec": 4.3 * MS + 63 * 10 * US + 4 * 0.5 * MS + 26 * 1.7 * US + 61_440 * 11.2 * NS,
    "stated": 0.3 * MS,
    "pytorch": 4.4 * MS + 63 * 10 * US + 4 * 0.74 * MS + 26 * 40 * US + 81_920 * 9.6 * NS,  # copies ids one by one
    "cuda-graph": 0.05 * MS + 81_920 * 1.0 * NS,
}
UNGATED = ("cpu-gpu", "cpu-only", "fae")  # their loop is a step of the batch, on the host's cores


def driven(scenario, batches=4):
    """Return what the loop of a scenario's plan does, and the machine."""
    m = machine_of(settle(scenario))
    graph = m.system.graph(m.settled, flow(m.scenario, batches))
    return graph.tasks[graph.index(NAME)].demands[0].work, m


@each("framework", BY_HAND)
def test_a_features_further_ids_cost_only_loops_that_copy_ids_one_by_one(framework):
    host = load_variant("devices", "host").build(MachineKnobs(framework=framework))
    assert seconds(host, DriveBatch(**LAUNCHED, further_ids=20_480.0)) == pytest.approx(BY_HAND[framework], rel=1e-12)


def test_an_assumption_about_further_ids_decides_what_they_cost():
    for assumed, further in (((("host.input-a-lookup", 2.0),), 2.0), ((("host.input-a-value", 3.0),), 0.0)):
        host = load_variant("devices", "host").build(MachineKnobs(framework="hugectr", assume=assumed))
        value = dict(assumed).get("host.input-a-value", 1.0)
        expected = 0.3 * MS + (61_440 * value + 20_480 * further) * NS
        assert seconds(host, DriveBatch(values=81_920.0, further_ids=20_480.0)) == pytest.approx(expected, rel=1e-12)


def test_a_plan_counts_the_ids_beyond_each_features_first():
    """A batch of 64 samples of three tables: bags of 1, 20 and 4 ids, 13 dense features and a label."""
    knobs = {"model.num_tables": 3, "model.num_embeddings": (1000,), "model.pooling": (1, 20, 4), "model.bottom_mlp": (13, 16)}
    base = with_values(Scenario(), {"system": "all-hbm", "data.batch_size": 64, **knobs})
    assert tuple(per_table(base.model, "features")) == (1, 1, 1)
    for gpus, samples in ((1, 64), (4, 16)):
        work, _ = driven(with_values(base, {"machine.num_gpus": gpus}))
        assert (work.values, work.further_ids) == (samples * (25 + 13 + 1), samples * (25 - 3))
    plain, _ = driven(with_values(base, {"model.pooling": (1,)}))
    assert plain.further_ids == 0


@each("framework", NEW)
def test_a_loop_with_a_published_time_costs_a_gpu_three_tenths_of_a_millisecond_and_says_whence(framework):
    base = with_values(TINY, {"system": "all-hbm", "machine.framework": framework, "run.training": False})
    work, m = driven(base)
    loop = float(np.max(seconds(m.devices["host"], work)))
    assert loop >= 0.3 * MS and estimate(base).results["Step time [ms]"] * MS >= loop * (1 - 1e-9)
    constant = FRAMEWORKS[framework].fixed
    assert (constant.name, constant.unit) == ("training loop", "ms") and constant.source
    assert (constant.confidence == "unsourced") == (framework == "stated")
    assert constant.low <= constant.value <= constant.high
    assert MachineKnobs().framework == "pytorch-graph"


def test_kernels_of_captured_loops_follow_each_other_sooner_and_eager_loops_slow_a_hosts_tables():
    captured = {name for name in FRAMEWORKS if has_trait(name, CAPTURED)}
    assert captured == {"pytorch-graph", "hugectr", "cuda-graph"}
    assert {name for name in FRAMEWORKS if has_trait(name, EAGER)} == {"torchrec", "pytorch", "pytorch-early"}
    launches = {name: load_variant("devices", "gpu").build(MachineKnobs(framework=name)).rates.launch for name in FRAMEWORKS}
    assert {launches[name] for name in captured} == {1.25 * US}
    assert {launches[name] for name in set(FRAMEWORKS) - captured} == {2.6 * US}


def slow(system, **knobs):
    """Return a run whose loop takes far longer than its hardware."""
    own = {"system": system, "machine.framework": "pytorch", "run.training": False, "policy.cache_load_factor": 0.5}
    return with_values(TINY, {**own, "machine.pmem_capacity_GB": 128.0, **knobs})


@each("system", sorted(set(variant_names("systems")) - set(UNGATED)), few=30)
def test_a_gpu_begins_no_batch_before_the_loop_turns_to_it(system):
    found = line(slow(system), batches=20)
    names = [task.name for task in found.graph.tasks]
    loop = found.graph.tasks[names.index(NAME)]
    assert loop.server == ("host", LANE)
    layers = [
        k for k, task in enumerate(found.graph.tasks) if task.stage == "Bottom MLP" and NAME in task.previous_batch_predecessors
    ]
    ended = found.end[:, names.index(NAME)]
    begun = found.start[:, layers].min(axis=1)
    assert layers and (begun[1:] >= ended[:-1] * (1 - 1e-12)).all() and begun[-1] > 19 * 4.4 * MS


@each("system", ["cxl-b", "cxl-d", "cxl", "dram", "all-hbm"])
def test_a_power_loss_takes_a_run_no_further_than_its_loop_was(system):
    """Batches that nothing has launched are neither trained nor logged when power is lost."""
    base = slow(system, **{"run.batches": 100})
    whole = simulate(base).results
    step, span = whole["Step time [ms]"] * MS, whole["Elapsed [s]"]
    assert span == pytest.approx(100 * step, rel=0.02)
    struck = simulate(with_values(base, {"faults.power_loss_at_seconds": (0.3 * span,)}))
    again = struck.results["Lost batches"]
    assert again <= 2 or 29 <= again <= 32
    trained = ledger_sum(struck.ledger, SECONDS, TRAINING)
    assert trained == pytest.approx((100 + again) * step, abs=2 * step)


def test_a_loop_ahead_of_its_gpus_delays_them_by_nothing():
    base = with_values(TINY, {"system": "cxl-b", "run.training": False})
    steps = [estimate(with_values(base, {"machine.framework": name})).results["Step time [ms]"] for name in ("lean", "none")]
    assert steps[0] == pytest.approx(steps[1], rel=1e-9)
