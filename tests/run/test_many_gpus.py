"""Runs on all GPUs of a node: do they train what one GPU trains, also after a fault?"""

from dataclasses import replace
from functools import cache

import pytest

from engine.run.progress import Meter
from engine.run.run import follow_run
from engine.run.shared_training import functional_class
from engine.run.training_curve import initial_state, scaled_learner, train_segment
from engine.scenario.scenario import Scenario, with_values
from engine.simulate import simulate
from engine.training.loop import train
from engine.training.weights import Weights, trained_arrays
from engine.workload.source import shared_source
from tests.cases import each
from tests.machines import STRICT, SYSTEMS, counted_flow, ready, scenario

BATCHES = 12
SHORT = {"run.batches": BATCHES, "run.evaluations": 3, "faults.detect_seconds": 1e-3, "faults.restart_seconds": 1e-3}
CACHES = ("cached-embedding", "scratchpipe")


def short(system: str, gpus: int, **knobs: object) -> Scenario:
    """Return a short run of preset tiny on some GPUs."""
    return scenario("tiny", system, **{**SHORT, "machine.num_gpus": gpus, "policy.cache_load_factor": 0.5, **knobs})


@cache
def seconds(system: str, gpus: int) -> float:
    """Return the simulated seconds of the short run without a fault."""
    return float(simulate(short(system, gpus, **{"run.training": False})).results["Elapsed [s]"] or 0.0)


def with_bytes(weights: Weights) -> list[bytes]:
    """Return all that training changes, as bytes."""
    return [array.tobytes() for _, array in trained_arrays(weights)]


def trained(asked: Scenario) -> tuple[list[bytes], list[object]]:
    """Return the final weights of a run as bytes, and where each crash resumes."""
    m, origin, resumed = ready(asked), shared_source(asked, file=None), []

    def resolve(segment, outage, state):
        resumption, state = train_segment(segment, outage, state)
        resumed.extend([resumption] if outage else [])
        return resumption, state

    traffic = counted_flow(m.scenario, BATCHES)
    _, state = follow_run(m, traffic, initial_state(m, origin, BATCHES, Meter(None, BATCHES)), resolve)
    return with_bytes(state.learner.weights), resumed


@each("system", [*SYSTEMS, *CACHES])
def test_without_a_fault_weights_are_those_of_one_gpu(system):
    one, eight = short(system, 1), short(system, 8)
    assert functional_class(one) == functional_class(eight) is not None
    assert trained(one)[0] == trained(eight)[0]


@each("system", [*STRICT, "dram", "cached-embedding"])
@pytest.mark.parametrize("fault", ["power_loss", "gpu_crash"])
def test_after_a_fault_under_a_strict_log_or_a_new_start_weights_are_those_of_one_gpu(system, fault):
    whole = trained(short(system, 1))[0]
    for share in (0.15, 0.5, 0.83):
        struck = short(system, 2, **{f"faults.{fault}_at_seconds": (share * seconds(system, 2),)})
        weights, resumed = trained(struck)
        assert resumed and weights == whole, (system, fault, share)


@pytest.mark.parametrize("gpus", [1, 2, 8])
def test_after_a_fault_under_a_relaxed_log_weights_depend_on_batch_and_age_of_the_mlps_alone(gpus):
    knobs = {"policy.mlp_staleness_bound_batches": 6, "machine.cxl_bandwidth_GBps": 0.3, "model.pooling": 1}
    asked = short("cxl", gpus, **knobs, **{"policy.relaxed_lookup": False})
    end = float(simulate(with_values(asked, {"run.training": False})).results["Elapsed [s]"] or 0.0)
    origin, ages = shared_source(asked, file=None), set()
    for share in (0.3, 0.5, 0.7, 0.9):
        m = ready(with_values(asked, {"faults.power_loss_at_seconds": (share * end,)}))
        recovered = []

        def resolve(segment, outage, state, recovered=recovered):
            resumption, state = train_segment(segment, outage, state)
            recovered.append((resumption, state.learner))
            return resumption, state

        follow_run(m, counted_flow(m.scenario, BATCHES), initial_state(m, origin, BATCHES, Meter(None, BATCHES)), resolve)
        resumption, learner = recovered[0]
        start = scaled_learner(m.scenario, origin, BATCHES, Meter(None, BATCHES), False)
        rows, mlps = (
            train(start.shape, start.weights, origin.batch, 0, n).weights
            for n in (resumption.embedding_batch, resumption.mlp_batch)
        )
        assert with_bytes(learner.weights) == with_bytes(replace(rows, mlp=mlps.mlp, mlp_state=mlps.mlp_state))
        ages.add(resumption.embedding_batch - resumption.mlp_batch)
    assert max(ages) > 0


@each("system", ["cxl-b", "cxl", "pcie", "pmem"])
def test_a_run_on_two_gpus_with_a_fault_goes_on_to_its_end(system):
    result = simulate(short(system, 2, **{"faults.power_loss_at_seconds": (0.5 * seconds(system, 2),)}))
    assert result.ran and result.results["Recovery time [s]"]
    assert result.results["AUC"] == simulate(short(system, 1)).results["AUC"] or system == "cxl"
