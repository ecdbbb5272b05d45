"""Do full runs of many points together say what each says alone?"""

import numpy as np
import pytest

from engine.amounts import counted
from engine.caches.policies import lru
from engine.caches.row_index import EVICTED, MISSED_LOOKUPS, MISSES
from engine.caches.stack_distance import moved_rows, stack_distances
from engine.full_runs import full_runs
from engine.registry import variant_names
from engine.results.explanation import run_result
from engine.results.report import run_report
from engine.run.run import follow_run
from engine.run.shared_training import untrained_resolve
from engine.run.training_curve import TrainingOutcome
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import machine_of, settle
from engine.simulate import simulate
from engine.store.result_rows import result_text
from engine.training.loop import Scores
from tests.caches.reference_caches import followed
from tests.cases import each
from tests.machines import TINY

SHORT = {"run.training": False, "run.batches": 12}
CHANGES = (
    {},
    {"machine.cxl_bandwidth_GBps": 0.5, "machine.pcie_bandwidth_GBps": 2.0},
    {"data.locality": 0.4, "policy.cache_load_factor": 0.2, "machine.energy_level": "room", "machine.all_powered": True},
    {"data.sample_correlation": 0.5, "machine.constant_power": True, "policy.warm_caches": False, "run.batches": 2},
    {"data.bag_length_cv": (0.7, 1.0, 2.0), "policy.hot_rows_MiB": 0.01},
)


def same(found, wanted):
    assert result_text(found) == result_text(wanted)


def by_timeline(asked):
    """Return the result as runs with faults make it: from a timeline of each batch, its books closed batch by batch."""
    m = machine_of(settle(asked))
    amounts = counted.counted_traffic(m.settled)
    done, _ = follow_run(m, amounts, None, untrained_resolve(m))
    return run_result(asked, done, run_report(done, amounts, Scores()), TrainingOutcome(), ())


def close(found, wanted):
    """Compare JSON: numbers up to rounding, all else exactly."""
    if isinstance(wanted, dict):
        assert list(found) == list(wanted)
        for name in wanted:
            close(found[name], wanted[name])
    elif isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            close(one, other)
    else:
        assert found == (pytest.approx(wanted, rel=1e-9, abs=1e-11) if isinstance(wanted, float) else wanted)


@each("system", variant_names("systems"), few=8)
def test_each_point_says_what_simulate_says(system):
    asked = [with_values(TINY, {"system": system, **SHORT, **changes}) for changes in CHANGES]
    for found, scenario in zip(full_runs(asked, tables=True), asked, strict=True):
        same(found, simulate(scenario))
        if found.ran:
            close(found.as_json(), by_timeline(scenario).as_json())


@pytest.mark.parametrize(("bound", "lookup"), [(0, False), (1, True), (3, False), (100, True)])
def test_a_log_that_the_end_of_the_run_leaves_undone_is_charged_as_far_as_it_had_come(bound, lookup):
    knobs = {"policy.mlp_staleness_bound_batches": bound, "policy.relaxed_lookup": lookup, "run.batches": 30}
    asked = [
        with_values(preset("optane-rm4").scenario, {"system": "cxl", **SHORT, **knobs, "machine.cxl_bandwidth_GBps": bandwidth})
        for bandwidth in (0.5, 5.0, 50.0)
    ]
    for found, scenario in zip(full_runs(asked, tables=True), asked, strict=True):
        same(found, simulate(scenario))
        if found.ran:
            close(found.as_json(), by_timeline(scenario).as_json())


def test_points_that_are_struck_train_or_are_refused_go_their_own_way():
    base = with_values(TINY, SHORT)
    struck = with_values(base, {"faults.power_loss_at_seconds": (1e-4,)})
    trained = with_values(base, {"run.training": True})
    late = with_values(base, {"faults.power_loss_at_seconds": (1e3,)})
    small = with_values(base, {"system": "cached-embedding", "policy.cache_load_factor": 1e-6})
    for found, scenario in zip(
        full_runs([struck, trained, late, small], tables=True), (struck, trained, late, small), strict=True
    ):
        same(found, simulate(scenario))
    refused = with_values(base, {"system": "cxl-d", "policy.relaxed_lookup": True})
    (found,) = full_runs([refused])
    assert not found.ran and not found.results and "looks rows up after the update" in found.outcome


def test_ids_are_drawn_once_for_all_machines(monkeypatch):
    calls = []
    monkeypatch.setattr(counted, "tally_batch", lambda near, ids: calls.append(len(ids)) or tally(near, ids))
    tally = counted.recent.__globals__["tally_batch"]
    base = with_values(TINY, {**SHORT, "data.seed": 77})
    full_runs([with_values(base, {"machine.cxl_bandwidth_GBps": 1.0 + n}) for n in range(20)])
    assert len(calls) == SHORT["run.batches"]


@each("capacity", [0, 1, 2, 7, 40, 500])
def test_one_pass_over_ids_says_what_an_lru_cache_of_any_size_moves_in_each_batch(capacity):
    rng = np.random.default_rng(capacity)
    batches = [rng.zipf(1.3, size) % 97 for size in (30, 1, 50, 80, 3, 200)]
    wanted = [counts[[MISSES, EVICTED, MISSED_LOOKUPS]] for _, counts in followed(lru, lru.no_rows(capacity), batches)]
    assert np.array_equal(moved_rows(stack_distances(batches), capacity), np.array(wanted, dtype=np.float64).T)
