"""Is the advice against a falling AUC right: does whoever takes it end no lower, on files that differ in all that matters?"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.core.arrays import Row
from engine.insight.fitting.shape import shape_of
from engine.results import falling_auc
from engine.results.falling_auc import PASSES, RATES
from engine.results.result import Result
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.simulate import simulate
from engine.workload.readers.formats import digest_of
from tests.cases import each

TINY = preset("tiny").scenario
REPEATS, TOO_HIGH, NEITHER = "overfits by passes", "learning rate too high", "neither"
LEARNING_RATES = {
    REPEATS: {"rowwise-adagrad": (0.2, 0.6), "adagrad": (0.3, 0.6), "adam": (0.005, 0.02)},
    TOO_HIGH: {"adam": (0.09, 0.25)},
    NEITHER: {"rowwise-adagrad": (0.01, 0.05), "adagrad": (0.01, 0.03), "sgd": (0.05, 0.2)},
}
PASSES_OF = {REPEATS: (3, 6), TOO_HIGH: (1, 2), NEITHER: (1, 4)}
RATE = RATES[0]
# Ten drawn files: how each is drawn, its seed, and the knob that is advised; "" for none. A rate can be too high in 3 passes too.
BY_DAY = [(REPEATS, 1, PASSES), (TOO_HIGH, 10, RATE), (NEITHER, 0, "")]
SLOW = [(REPEATS, 2, PASSES), (REPEATS, 6, PASSES), (REPEATS, 35, PASSES), (REPEATS, 28, RATE), (TOO_HIGH, 25, RATE)]
SLOW += [(NEITHER, 5, ""), (NEITHER, 8, "")]
SAMPLES = {REPEATS: 8000, TOO_HIGH: 12_000, NEITHER: 8000}


def write_clicks(path: Path, rng: np.random.Generator, samples: int) -> None:
    """Write a file of clicks on ids of three or four tables, with a popularity and a label noise."""
    skew, noise = rng.uniform(0.5, 1.2), rng.uniform(0.1, 0.5)
    columns, score = [], np.zeros(samples)
    for rows in rng.choice([200, 1000, 4000], rng.integers(3, 5)):
        shares = np.arange(1, rows + 1) ** -skew
        columns.append(rng.choice(rows, samples, p=shares / shares.sum()))
        score += rng.normal(size=rows)[columns[-1]]
    score *= 2 * (1 - noise) / score.std()
    clicks = rng.random(samples) < 1 / (1 + np.exp(score.mean() - score))
    names = [f"id{number}" for number in range(len(columns))]
    lines = [",".join(["click", *names]), *(",".join(map(str, row)) for row in zip(clicks.astype(int), *columns, strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    Path(f"{path}.toml").write_text(f'label = "click"\nids = {names}\n'.replace("'", '"'), encoding="utf-8")


def drawn_run(path: Path, kind: str, seed: int, samples: int) -> tuple[Scenario, int]:
    """Write a file, and return a scenario that trains on it, with the samples of a pass."""
    rng = np.random.default_rng([seed, 2026])
    write_clicks(path, rng, samples)
    digest = digest_of(path)
    shape = shape_of(str(path), digest)
    optimizer = str(rng.choice(list(LEARNING_RATES[kind])))
    low, high = LEARNING_RATES[kind][optimizer]
    knobs: dict[str, Any] = {
        **shape.changes(TINY),
        "data.digest": digest,
        "data.batch_size": int(rng.choice([50, 100])),
        "model.optimizer": optimizer,
        "model.learning_rate": round(float(rng.uniform(low, high)), 4),
        "model.embedding_learning_rate": None,
        "run.passes": int(rng.integers(*PASSES_OF[kind])),
    }
    return with_values(TINY, knobs), shape.training_samples


def auc(result: Result) -> float:
    assert result.ran and result.results["AUC"] is not None
    return result.results["AUC"]


@pytest.mark.parametrize(("kind", "seed", "advised"), [*BY_DAY, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)])
def test_whoever_takes_the_advice_ends_no_lower(kind: str, seed: int, advised: str, tmp_path: Path) -> None:
    path = tmp_path / "clicks.csv"
    scenario, samples = drawn_run(path, kind, seed, SAMPLES[kind])
    before = simulate(scenario, path)
    changes = falling_auc.remedy(before.training, scenario, samples)
    sentence = falling_auc.falling_auc_advice(before.training, scenario, samples)
    assert set(changes) == {advised} - {""}
    assert ("set Passes" in sentence, "lower Learning rate" in sentence) == (advised == PASSES, advised == RATE)
    if changes:
        assert auc(simulate(with_values(scenario, changes), path)) >= auc(before)


def curve(*aucs: float) -> list[Row]:
    """Return a training curve with these AUCs after every 10 batches."""
    return [{"Batch": 10 * number - 1, "AUC": auc, "AUC error": 0.004} for number, auc in enumerate(aucs, 1)]


def on_file(**knobs: Any) -> Scenario:
    return with_values(TINY, {"data.digest": "ab" * 32, "data.batch_size": 100, **knobs})


# AUCs after every 10 batches of 100, the samples of a pass, and the advised knobs.
CURVES = {
    "highest at the last evaluation of the first pass, then a steep fall": (
        (0.68, 0.71, 0.725, 0.708, 0.705, 0.711, 0.706, 0.708, 0.707, 0.709),
        3300,
        {PASSES: 1},
    ),
    "highest at the end of the second pass": ((0.70, 0.72, 0.73, 0.74, 0.72, 0.70), 2000, {PASSES: 2}),
    "highest within the second pass, and both pass ends are higher than the last": (
        (0.70, 0.73, 0.76, 0.74, 0.72, 0.70),
        2000,
        {PASSES: 2},
    ),
    "falls within the only pass": ((0.70, 0.75, 0.74, 0.70, 0.66), 5000, {RATES[0]: 0.01, RATES[1]: 0.01}),
    "falls within the first of two passes, and does not come back": (
        (0.70, 0.75, 0.72, 0.68, 0.66, 0.70, 0.69, 0.69),
        4000,
        {RATES[0]: 0.01, RATES[1]: 0.01},
    ),
    "falls within the first pass, whose end is still higher than the last": (
        (0.70, 0.75, 0.73, 0.72, 0.70, 0.69, 0.68, 0.67),
        4000,
        {PASSES: 1},
    ),
    "highest within the last pass: no evaluation tells": ((0.60, 0.62, 0.64, 0.66, 0.70, 0.66), 4000, {}),
    "has learned nothing": ((0.50, 0.511, 0.50, 0.49, 0.50, 0.50), 6000, {}),
    "rises": ((0.60, 0.62, 0.64, 0.66), 2000, {}),
    "falls within chance": ((0.60, 0.62, 0.64, 0.638), 2000, {}),
}


@each("name", CURVES)
def test_a_curve_advises_what_it_shows_and_nothing_else(name: str) -> None:
    aucs, samples, changes = CURVES[name]
    training, scenario = curve(*aucs), on_file()
    assert falling_auc.remedy(training, scenario, samples) == changes
    sentence = falling_auc.falling_auc_advice(training, scenario, samples)
    assert bool(sentence) == falling_auc.has_fallen(max(aucs), aucs[-1], 0.004)
    assert ("set Passes" in sentence, "lower Learning rate" in sentence) == (PASSES in changes, RATES[0] in changes)
    assert "fewer batches" not in sentence


def test_passes_are_known_from_the_knob_where_the_samples_are_not() -> None:
    training = curve(0.70, 0.72, 0.73, 0.74, 0.72, 0.70)
    assert falling_auc.remedy(training, on_file(**{"run.passes": 3})) == {PASSES: 2}
    assert falling_auc.remedy(training, on_file()) == {}
    told = falling_auc.falling_auc_advice(training, on_file())
    assert told.endswith("has fallen by 0.0400 since.") and "0.740" in told and "after 40 batches" in told


def test_generated_data_are_never_repeated_so_that_its_passes_are_not_advised() -> None:
    training = curve(0.70, 0.72, 0.73, 0.74, 0.72, 0.70)
    assert set(falling_auc.remedy(training, TINY)) == set(RATES)
    assert falling_auc.falling_auc_advice(training, TINY).endswith(
        ": train fewer batches, 40 of them, or lower Learning rate to 0.01 and Embedding learning rate to 0.01."
    )
