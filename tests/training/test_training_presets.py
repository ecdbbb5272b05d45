"""Do TrainingCXL's four models learn when their training is switched on, by a twin that says its scale?"""

from functools import cache

import numpy as np
import pytest

from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.simulate import simulate
from engine.workload.source import source
from tests.cases import each

MODELS = ("rm1", "rm2", "rm3", "rm4")
PRESETS = [f"{machine}-{model}" for machine in ("trainingcxl", "optane") for model in MODELS]
FEW, MANY = 6, 150


def switched_on(name: str, batches: int, **more) -> Scenario:
    changes = {"run.training": True, "run.batches": batches, "run.evaluations": 1, "data.held_out_samples": 4096, **more}
    return with_values(preset(name).scenario, changes)


def base_rate_loss(scenario: Scenario) -> float:
    """Return the loss of a model that knows nothing but the held-out samples' click rate."""
    rate = float(np.mean(held_out(scenario).labels))
    return -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate))


@cache
def held_out(scenario: Scenario):
    return source(scenario).held_out()


@each("model", MODELS, few=1)
def test_no_batch_is_worse_than_the_untrained_first_by_a_fifth(model):
    found = simulate(switched_on(f"trainingcxl-{model}", FEW, **{"data.held_out_samples": 256}))
    losses = [row["Loss"] for row in found.training]
    assert found.ran and len(losses) == FEW and max(losses) <= 1.2 * losses[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_training_beats_the_base_rate_and_says_the_scale_of_its_twin(name):
    scenario = switched_on(name, MANY)
    found = simulate(scenario)
    assert found.ran and found.results["Loss"] < base_rate_loss(scenario) and found.results["AUC"] > 0.55
    losses = [row["Loss"] for row in found.training]
    assert len(losses) == MANY and np.mean(losses[-50:]) < np.mean(losses[:50])
    assert any("hidden MLP widths divided by" in sentence for sentence in found.warnings)
