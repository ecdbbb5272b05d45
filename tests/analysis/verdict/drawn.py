"""Drawn questions for tests of the verdict: models, requirements and small spaces with ladders of drawn stops."""

from collections.abc import Mapping, Sequence
from itertools import product
from math import exp, log, prod
from random import Random
from typing import Any

from engine.analysis.verdict.requirement import Requirement
from engine.analysis.verdict.space import (
    BOUND,
    CACHE_SHARE,
    CAPACITY,
    CHASSIS,
    DRIVES,
    GPUS,
    GPUS_PER_NODE,
    HOT_ROWS,
    NUM_EXPANDERS,
    RESET_KNOBS,
    SERVERS,
    Stops,
)
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.scenario.storage import PRECISIONS
from tests.oracles.every_machine import Machine

POPULARITIES = ("kaggle", "terabyte", "avazu", "meta", "zipf", "uniform")
# Ladders of amounts: the least and the most that is drawn; a ladder of automatic sizes has that stop too.
LADDERS: Mapping[str, tuple[float, float]] = {
    GPUS: (1, 128),
    GPUS_PER_NODE: (1, 16),  # more than any chassis takes
    SERVERS: (1, 64),
    CAPACITY: (128, 16_000),
    NUM_EXPANDERS: (1, 16),
    DRIVES: (1, 16),
    CACHE_SHARE: (0.001, 0.9),
    HOT_ROWS: (16, 65_536),
    BOUND: (0, 1000),
}
AUTOMATIC = (CAPACITY, NUM_EXPANDERS, DRIVES)


def amount(random: Random, low: float, high: float) -> float:
    """Return a number whose magnitude is drawn evenly."""
    return exp(random.uniform(log(low), log(high)))


def whole_number(random: Random, low: float, high: float) -> int:
    """Return a whole number whose magnitude is drawn evenly."""
    return min(max(round(amount(random, low, high)), round(low)), round(high))


def model(random: Random) -> Scenario:
    """Return a drawn model with its data on the default machine, all that is searched left free."""
    tables, dim = whole_number(random, 1, 200), 4 * whole_number(random, 1, 64)
    largest = amount(random, 1e3, 1e9)
    skewed = random.random() < 0.5
    rows = tuple(max(1000, round(largest * random.random() ** 6)) for _ in range(tables)) if skewed else (round(largest),)
    pooling = (
        tuple(whole_number(random, 1, 100) for _ in range(tables)) if random.random() < 0.3 else (whole_number(random, 1, 100),)
    )
    base = preset(random.choice(("dlrm-kaggle", "dlrm-terabyte"))).scenario
    return with_values(
        base,
        {
            **RESET_KNOBS,
            "machine.prices": "2026",
            "model.num_tables": tables,
            "model.num_embeddings": rows,
            "model.pooling": pooling,
            "model.embedding_dim": dim,
            "model.bottom_mlp": (*base.model.bottom_mlp[:-1], dim),
            "model.row_precision": random.choice(PRECISIONS),
            "machine.matrix_precision": random.choice(("fp32", "bf16")),
            "data.batch_size": whole_number(random, 128, 65_536),
            "data.popularity": random.choice(POPULARITIES),
        },
    )


def space(random: Random, stops: Stops, max_machines: int) -> Stops:
    """Return a small space of a system with at most so many machines: first four stops of each drawn knob, then a fifth."""
    ladders = {knob: tuple(values) if knob == CHASSIS else _ladder(random, knob, values) for knob, values in stops.items()}
    subspace = {knob: values if knob == CHASSIS else values[:1] for knob, values in ladders.items()}
    knobs = random.sample(sorted(ladders), len(ladders))
    for knob, count in [*product(sorted(knobs, key=lambda knob: len(ladders[knob]) < 4), (4,)), *product(knobs, (2, 3, 4, 5))]:
        grown = {**subspace, knob: ladders[knob][:count]}
        if len(grown[knob]) > len(subspace[knob]) and prod(map(len, grown.values())) <= max_machines:
            subspace = grown
    return subspace


def _ladder(random: Random, knob: str, stops: Sequence[Any]) -> tuple[Any, ...]:
    """Return up to five stops in any order: a part of those that there are, or drawn amounts."""
    if knob not in LADDERS or len(stops) < 2:
        return tuple(random.sample(stops, min(len(stops), 5)))
    low, high = LADDERS[knob]
    if knob in (CACHE_SHARE, HOT_ROWS):
        values: list[Any] = [float(f"{amount(random, low, high):.3g}") for _ in range(5)]
    else:
        values = sorted({whole_number(random, max(low, 1), high) for _ in range(8)})
        values = random.sample(values, min(5, len(values)))
    if knob in AUTOMATIC:
        values = [None, *values[:4]]
    return tuple(values)


def requirement(random: Random, scenario: Scenario, candidates: Sequence[Machine]) -> Requirement:
    """Return a drawn requirement near what one of the machines reaches or costs, or none."""
    kind, times = random.choice(("none", "throughput", "step", "budget")), random.uniform(0.7, 1.2)
    target = random.choice(candidates) if candidates else None
    if target and kind == "throughput":
        return Requirement(throughput=times / target.time)
    if target and kind == "step":
        return Requirement(step_ms=times * 1e3 * target.time * scenario.data.batch_size)
    return Requirement(budget=times * target.capital) if target and kind == "budget" and target.capital else Requirement()
