"""How long a computation takes on this kind of computer: a forecast for buttons, never part of a result."""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from engine.groups import Model
from engine.keys import How
from engine.scenario import Scenario, per_table

# Measured on one 2.x GHz server core; a forecast is right within a factor of two on comparable ones.
MULTIPLICATIONS_PER_SECOND = 50e9
ROWS_PER_SECOND = 20e6
START_SECONDS = 1.5
BATCH_SECONDS = 1e-3
ESTIMATE_SECONDS = 0.5e-3  # of a point, kept in the store
LAW_SECONDS = 4e-3  # more for the first point of a system, model, data and policy
SAMPLE = 200


def multiplications(model: Model) -> int:
    """Return the multiplications of one sample's forward pass through both MLPs."""
    widths = model.bottom_mlp, (_interaction_width(model), *model.top_mlp)
    return sum(prod(pair) for layers in widths for pair in pairwise(layers))


def _interaction_width(model: Model) -> int:
    vectors = model.num_tables + 1
    return model.embedding_dim * vectors if model.interaction == "concat" else model.embedding_dim + vectors * (vectors - 1) // 2


def seconds(scenario: Scenario) -> float:
    """Return the seconds that a full run is likely to take on one core."""
    samples = scenario.data.batch_size * scenario.run.batches
    lookups = sum(per_table(scenario.model, "pooling"))
    held_out = scenario.data.held_out_samples * scenario.run.evaluations
    counting = START_SECONDS + scenario.run.batches * BATCH_SECONDS + samples * lookups / ROWS_PER_SECOND
    if not scenario.run.training:
        return counting
    step = min(multiplications(scenario.model), scenario.run.step_budget_GFLOP * 1e9 / (6 * scenario.data.batch_size))
    trained = (3 * samples + held_out) * step / MULTIPLICATIONS_PER_SECOND
    return counting + trained + (3 * samples + held_out) * lookups * scenario.model.embedding_dim / 16 / ROWS_PER_SECOND


def sweep_seconds(scenarios: Sequence[Scenario], how: How, cores: int = 1) -> float:
    """Return the seconds that many points are likely to take on so many cores."""
    if how == "estimate":
        return (len(scenarios) * ESTIMATE_SECONDS + _laws(scenarios) * LAW_SECONDS) / cores
    return sum(map(seconds, scenarios)) / cores


def _laws(scenarios: Sequence[Scenario]) -> float:
    """Return how many points share nothing with others, by a sample: a sweep of machines has few different laws."""
    some = [scenarios[i] for i in range(0, len(scenarios), max(1, len(scenarios) // SAMPLE))]
    different = len({(one.system, one.model, one.data, one.policy) for one in some})
    return different if 2 * different <= len(some) else len(scenarios) * different / len(some)
