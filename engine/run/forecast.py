"""Forecasts of a computation's time on a typical computer, to show before it starts.

No forecast is part of a result.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from ..core.arithmetic import total
from ..core.figures import count
from ..scenario.keys import Fidelity
from ..scenario.scenario import Scenario, per_table, with_values
from ..training.shape import full_shape, step_flop
from ..training.trained_batches import num_trained
from .shared_training import functional_class

# Measured on one 2.x GHz server core; a forecast is right within a factor of two on comparable cores.
STEP_FLOP_PER_SECOND = 300e9  # of a step, forward and backward
ROWS_PER_SECOND = 20e6
GATHERED_ROWS_PER_SECOND = 10e6  # of batches that are not trained; measured 8e6 (multi-hot) to 18e6
START_SECONDS = 1.0  # of a worker
PREPARE_SECONDS = 1.0  # before a training's first batch: its rows, its teacher, held-out samples
POINT_SECONDS = 0.02  # of a point whose training and counts are known: schedule, metrics, its row in the store
BATCH_SECONDS = 1e-3
ESTIMATE_SECONDS = 0.5e-3  # of a point, kept in the store
LAW_SECONDS = 4e-3  # more for the first point of a system, model, data and policy
SAMPLE = 200


def run_seconds(scenario: Scenario) -> float:
    """Return the seconds that a full run is likely to take on one core."""
    return START_SECONDS + counting_seconds(scenario) + training_seconds(scenario)


def counting_seconds(scenario: Scenario) -> float:
    """Return the likely seconds of a full run without training, on one core."""
    samples = scenario.data.batch_size * scenario.run.batches
    lookups: int = total(per_table(scenario.model, "pooling"))
    return POINT_SECONDS + scenario.run.batches * BATCH_SECONDS + samples * lookups / ROWS_PER_SECOND


def training_seconds(scenario: Scenario) -> float:
    """Return the likely seconds of a full run's training, on one core.

    Return 0 if training is off.
    """
    if not scenario.run.training:
        return 0.0
    run, batch_size = scenario.run, scenario.data.batch_size
    trained_batches = num_trained(run.batches, run.train_every)
    samples = batch_size * trained_batches
    elements: int = total(map(mul, *(per_table(scenario.model, name) for name in ("pooling", "embedding_dim"))))
    held_out = scenario.data.held_out_samples * min(run.evaluations, trained_batches)
    step = min(step_flop(full_shape(scenario), batch_size), run.step_budget_GFLOP * 1e9) / batch_size  # of a sample
    trained = (3 * samples + held_out) * step / STEP_FLOP_PER_SECOND
    lookups: int = total(per_table(scenario.model, "pooling"))
    gathered = (run.batches - trained_batches) * batch_size * lookups / GATHERED_ROWS_PER_SECOND
    return PREPARE_SECONDS + gathered + trained + (3 * samples + held_out) * elements / 16 / ROWS_PER_SECOND


@dataclass(frozen=True)
class AffordableRun:
    """The sampled run that fits into a time on one core.

    train_every: N, if each N-th batch is trained; None if the time is too short for any training.
    seconds: the likely seconds of that run; without training if no training fits.
    """

    train_every: int | None
    seconds: float


def affordable_run(scenario: Scenario, seconds: float) -> AffordableRun:
    """Return the sampled run with the smallest N that fits into `seconds`.

    The forecast is for one core, with training switched on. N is 1 or a power of two, and below the number of batches, so that at
    least two batches are trained.
    """
    train_every = 1
    while train_every == 1 or train_every < scenario.run.batches:
        sampled = with_values(scenario, {"run.training": True, "run.train_every": train_every})
        if (expected := run_seconds(sampled)) <= seconds:
            return AffordableRun(train_every, expected)
        train_every *= 2
    return AffordableRun(None, run_seconds(with_values(scenario, {"run.training": False})))


def sweep_seconds(scenarios: Sequence[Scenario], mode: Fidelity, cores: int = 1) -> float:
    """Return the seconds that a sweep is likely to take on `cores` cores.

    Each functional class is trained once; the longest training has a core of its own.
    """
    if mode == "estimate":
        return (len(scenarios) * ESTIMATE_SECONDS + _laws(scenarios) * LAW_SECONDS) / cores
    representatives = distinct_runs(scenarios)
    trained = [training_seconds(scenario) for scenario in representatives]
    longest, rest = max(trained, default=0.0), POINT_SECONDS * (len(scenarios) - len(representatives))
    return START_SECONDS + longest + (total(trained) - longest + total(map(counting_seconds, representatives)) + rest) / cores


def distinct_runs(scenarios: Sequence[Scenario]) -> list[Scenario]:
    """Return one full run of each functional class, and all runs without a class.

    The runs of a class share one training. Runs without training share their counts if they have the same system, model, data,
    policy and run knobs.
    """
    runs_by_class: dict[object, Scenario] = {}
    for number, s in enumerate(scenarios):
        counted_by = None if s.run.training else (s.system, s.model, s.data, s.policy, s.run)
        runs_by_class.setdefault(functional_class(s) or counted_by or number, s)
    return list(runs_by_class.values())


def shared_training_note(scenarios: Sequence[Scenario]) -> str:
    """Return the sentence that says how many trainings these full runs share.

    Return "" if each run needs a training of its own.
    """
    trained = [scenario for scenario in scenarios if scenario.run.training]
    num_trainings = len(distinct_runs(trained))
    if num_trainings == len(trained):
        return ""
    return f"{count(len(trained), 'point')} share {count(num_trainings, 'training')}."


def _laws(scenarios: Sequence[Scenario]) -> float:
    """Return the number of different traffic laws among the points, from a sample.

    A sweep of machines has few laws.
    """
    sample = [scenarios[i] for i in range(0, len(scenarios), max(1, len(scenarios) // SAMPLE))]
    different = len({(scenario.system, scenario.model, scenario.data, scenario.policy) for scenario in sample})
    return different if 2 * different <= len(sample) else len(scenarios) * different / len(sample)
