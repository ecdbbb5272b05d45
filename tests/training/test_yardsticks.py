"""What an AUC is held against: is the regression one, on the run's own batches, and is the model that clicks the hidden one?"""

from collections import defaultdict

import numpy as np
import pytest

from engine.errors import CannotRun
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import Scenario, per_table, with_values
from engine.simulate import simulate
from engine.training import yardsticks as asked
from engine.training.yardsticks import RATES, yardsticks
from engine.workload.source import source
from tests.cases import SELECTION, draw

FEW = {"run.batches": 30, "run.evaluations": 3, "data.held_out_samples": 600, "data.seed": 5}
SEEDS = (1, 2, 3, 4, 5) if SELECTION.all else (1, 2)
LEAST = {"dlrm-kaggle": 0.02, "dlrm-terabyte": 0.004, "tiny": 0.01}


def samples(batch, pooling):
    """Yield each sample's rows, dense features and click."""
    bags, at = [], 0
    for length in pooling:
        bags.append(batch.ids[at : at + length * len(batch.labels)].reshape(-1, length))
        at += bags[-1].size
    yield from zip(np.hstack(bags).tolist(), batch.dense.astype(float), batch.labels.tolist(), strict=True)


def plain_regression(scenario: Scenario, rate: float) -> list[float]:
    """Return the AUC after each tenth batch of Adagrad on a dictionary of weights, sample by sample."""
    weights, sums, scores = defaultdict(float), defaultdict(float), []
    origin, pooling = source(scenario), per_table(scenario.model, "pooling")

    def logit(rows, dense):
        return weights["constant"] + sum(weights[row] for row in rows) + sum(weights[f"x{n}"] * x for n, x in enumerate(dense))

    for number in range(scenario.run.batches):
        slopes = defaultdict(float)
        for rows, dense, click in samples(origin.batch(number), pooling):
            slope = (1 / (1 + np.exp(-logit(rows, dense))) - click) / scenario.data.batch_size
            for name, value in [("constant", 1.0), *((row, 1.0) for row in rows), *((f"x{n}", x) for n, x in enumerate(dense))]:
                slopes[name] += slope * value
        for name, slope in slopes.items():
            sums[name] += slope**2
            weights[name] -= rate * slope / (np.sqrt(sums[name]) + 1e-8)
        if number % 10 == 9:
            held_out = [(logit(rows, dense), click) for rows, dense, click in samples(origin.held_out(), pooling)]
            clicks, others = (np.array([value for value, click in held_out if click == kind]) for kind in (1.0, 0.0))
            scores.append(float(np.mean((clicks[:, None] > others) + 0.5 * (clicks[:, None] == others))))
    return scores


def test_the_regression_is_that_of_a_dictionary_of_weights_at_its_best_rate():
    scenario = with_values(preset("tiny").scenario, FEW)
    found = yardsticks(scenario)
    curves = {rate: plain_regression(scenario, rate) for rate in RATES}
    assert found.rate == max(RATES, key=lambda rate: curves[rate][-1])
    assert [n for n, _ in found.regression] == [10, 20, 30]
    assert [auc for _, auc in found.regression] == pytest.approx(curves[found.rate], abs=1e-9)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_model_that_clicks_reaches_the_auc_that_the_generator_is_made_for(seed):
    many = {"run.batches": 1, "data.held_out_samples": 40_000, "data.seed": seed}
    assert yardsticks(with_values(preset("tiny").scenario, many)).teacher == pytest.approx(0.8, abs=0.012)


def test_a_run_of_too_many_lookups_says_so(monkeypatch):
    monkeypatch.setattr(asked, "MAX_LOOKUPS", 1000)
    with pytest.raises(
        CannotRun, match=r"A logistic regression on 2,880 lookups would take too long; it is computed for up to 1,000\."
    ):
        yardsticks(with_values(preset("tiny").scenario, {**FEW, "data.seed": 6}))


@pytest.mark.slow
@pytest.mark.parametrize("seed", draw(SEEDS, 1))
@pytest.mark.parametrize("name", [name for name in preset_names() if preset(name).scenario.run.training])
def test_what_a_preset_learns_beats_a_logistic_regression_on_the_same_batches(name, seed):
    scenario = with_values(preset(name).scenario, {"data.seed": seed, "data.held_out_samples": 20_000})
    found, lines = simulate(scenario), yardsticks(scenario)
    assert found.ran and lines.regression[-1][1] + LEAST.get(name, 0.0) < found.results["AUC"] < (lines.teacher or 0.0)
