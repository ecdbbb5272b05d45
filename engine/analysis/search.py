"""The search for the Pareto front of a box: all combinations of some knobs' ranges.

The box may have too many points to compute all of them.
NSGA-II (Deb et al., IEEE TEVC 6(2), 2002; Optuna's) breeds generations of points. Each point is estimated once, and the answer is
the front of all estimated points.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from ..errors import BadInput
from ..estimates import estimates
from ..results.result import Result
from ..scenario.scenario import Scenario, declaration
from ..sweep.axes import Axis
from ..sweep.sweep import RefusedPlace, scenario_at
from .objective import NUMERIC, Array, Constraint, Objective
from .over_weeks import result_number
from .pareto import distinct_front, ranks

GENERATIONS = 12  # approximate number of generations, of LEAST to MOST points each
MIN_POPULATION, MAX_POPULATION = 16, 100
MAX_IDLE_GENERATIONS = 20  # generations without a new point, after which the box counts as known
WORST_LOSS = 1e30  # loss by every objective and excess over every bound of a point that cannot run
ProgressCallback = Callable[[int], None]
AxisPositions = tuple[float, ...]  # per axis the index of a listed value, or a number of its range


@dataclass(frozen=True)
class SearchedPoints:
    """All points that a search has estimated, in order.

    objectives, bounds: objectives and bounds of the search.
    results: the estimates.
    interrupted: whether the search ended early.
    """

    objectives: tuple[Objective, ...]
    bounds: tuple[Constraint, ...]
    results: tuple[Result, ...]
    interrupted: bool = False

    @cached_property
    def columns(self) -> dict[str, Array]:
        """The numbers of each point by objective and bound, NaN where a point has none."""
        return _columns(self.results, self.objectives, self.bounds)

    @cached_property
    def rank(self) -> Array:
        """Each point's Pareto front among those that keep all bounds, 0 for the others."""
        return ranks(self.columns, self.objectives, self.bounds)

    @property
    def front(self) -> tuple[Result, ...]:
        """The points that no other point beats, sorted by the first objective.

        Of equal points only the earliest is included.
        """
        return tuple(self.results[index] for index in distinct_front(self.columns, self.objectives, self.rank))


def search(
    base: Scenario,
    axes: Sequence[Axis],
    objectives: Sequence[Objective],
    bounds: Sequence[Constraint] = (),
    evaluations: int = 500,
    settings: Sequence[tuple[str, Any]] = (),
    watch: ProgressCallback | None = None,
) -> SearchedPoints:
    """Search the box of the axes for its Pareto front; raises BadInput.

    `evaluations` limits the estimates, the data seed draws the points, and `watch` is called with the number of estimates so far.
    A range is searched anywhere between its ends. Combinations that no scenario can have cost no estimate. An interrupt ends the
    search; the result then has the points so far.
    """
    if not axes or not objectives:
        raise BadInput("A search needs at least one axis, the knob to vary, and one objective; give --axis and --objective.")
    seed = int(dict(settings).get("data.seed", base.data.seed))
    outcomes: dict[AxisPositions, Result | RefusedPlace] = {}
    generation = min(max(evaluations // GENERATIONS, MIN_POPULATION), MAX_POPULATION)
    study, idle_generations, interrupted = _study(len(objectives), generation, seed), 0, False
    try:
        while (budget := evaluations - _num_estimates(outcomes)) > 0 and idle_generations < MAX_IDLE_GENERATIONS:
            trials = [study.ask() for _ in range(generation)]
            places = [tuple(_suggest_position(trial, axis) for axis in axes) for trial in trials]
            new_places = [place for place in dict.fromkeys(places) if place not in outcomes][:budget]
            outcomes |= _estimate_places(base, axes, settings, new_places)
            for trial, place in zip(trials, places, strict=True):
                _tell(study, trial, outcomes.get(place), objectives, bounds)
            idle_generations = 0 if new_places else idle_generations + 1
            if watch:
                watch(_num_estimates(outcomes))
    except KeyboardInterrupt:
        interrupted = True
    results = tuple(outcome for outcome in outcomes.values() if isinstance(outcome, Result))
    if interrupted and not results:
        raise KeyboardInterrupt
    if not results:
        raise BadInput(next(outcome.sentence for outcome in outcomes.values() if isinstance(outcome, RefusedPlace)))
    return SearchedPoints(tuple(objectives), tuple(bounds), results, interrupted)


def _study(objectives: int, population: int, seed: int) -> Any:
    import optuna  # late, since only a search needs it

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings(action="ignore"):  # bounds are said to be experimental there
        sampler = optuna.samplers.NSGAIISampler(
            population_size=population, seed=seed, constraints_func=lambda trial: trial.user_attrs["excess"]
        )
        return optuna.create_study(directions=["minimize"] * objectives, sampler=sampler)


def _suggest_position(trial: Any, axis: Axis) -> float:
    """Return the position on an axis that the study suggests.

    Words are categories, lists of numbers are ordered, ranges follow their scale.
    """
    if axis.span is None and declaration(axis.path).kind not in NUMERIC:
        return float(trial.suggest_categorical(axis.path, list(range(len(axis.values)))))
    if axis.span is None:
        return float(trial.suggest_int(axis.path, 0, len(axis.values) - 1))
    if axis.has_levels:
        return float(trial.suggest_int(axis.path, int(axis.span.low), int(axis.span.high), log=axis.span.log))
    return float(trial.suggest_float(axis.path, axis.span.low, axis.span.high, log=axis.span.log))


def _estimate_places(
    base: Scenario, axes: Sequence[Axis], settings: Sequence[tuple[str, Any]], places: Sequence[AxisPositions]
) -> dict[AxisPositions, Result | RefusedPlace]:
    """Estimate the places together; two that round to one scenario are one estimate."""
    values_by_place = {
        place: {axis.path: axis.setting(position) for axis, position in zip(axes, place, strict=True)} for place in places
    }
    points = {place: scenario_at(base, values, settings) for place, values in values_by_place.items()}
    scenarios = list(dict.fromkeys(point for point in points.values() if isinstance(point, Scenario)))
    results = dict(zip(scenarios, estimates(scenarios), strict=True))
    return {place: results[point] if isinstance(point, Scenario) else point for place, point in points.items()}


def _num_estimates(outcomes: dict[AxisPositions, Result | RefusedPlace]) -> int:
    return sum(isinstance(outcome, Result) for outcome in outcomes.values())


def _tell(
    study: Any, trial: Any, outcome: Result | RefusedPlace | None, objectives: Sequence[Objective], bounds: Sequence[Constraint]
) -> None:
    """Tell the study the numbers of a point; a point that cannot run has WORST in everything."""
    results = [outcome] if isinstance(outcome, Result) and outcome.ran else []
    columns = _columns(results, objectives, bounds)
    losses = [_finite_or_worst(objective.losses(columns)) for objective in objectives]
    excess = [_finite_or_worst(constraint.excess(columns)) / max(abs(constraint.bound), 1e-12) for constraint in bounds]
    trial.set_user_attr("excess", excess)
    study.tell(trial, losses)


def _finite_or_worst(numbers: Array) -> float:
    return float(numbers[0]) if len(numbers) and isfinite(numbers[0]) else WORST_LOSS


def _columns(results: Sequence[Result], objectives: Sequence[Objective], bounds: Sequence[Constraint]) -> dict[str, Array]:
    names = (*(objective.name for objective in objectives), *(constraint.name for constraint in bounds))
    return {name: np.array([result_number(result, name) for result in results], dtype=float) for name in names}
