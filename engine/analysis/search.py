"""The search for the Pareto front of a box of knobs that is too large to be computed whole.

NSGA-II (Deb et al., IEEE TEVC 6(2), 2002; Optuna's) breeds generations of points; every point is estimated once, and the
answer is the front of all that were, so nothing that was found is lost again.
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
from ..scenario.scenario import Scenario, known
from ..sweep.axes import Axis
from ..sweep.sweep import RefusedPlace, made
from .objective import NUMERIC, Array, Constraint, Objective
from .over_weeks import number
from .pareto import different, ranks

GENERATIONS = 12  # about so many, each of LEAST to MOST points
LEAST, MOST = 16, 100
MOST_IN_VAIN = 20  # generations without a point that had not been tried: then the box is known
WORST = 1e30  # what a point that cannot run gets for everything, and for how far it is from keeping its bounds
Watch = Callable[[int], None]
Place = tuple[float, ...]  # per axis the index of a listed value, or a number of its range


@dataclass(frozen=True)
class SearchedPoints:
    """All points that a search has estimated, in the order in which it came to them; `interrupted` before the last one."""

    wanted: tuple[Objective, ...]
    bounds: tuple[Constraint, ...]
    results: tuple[Result, ...]
    interrupted: bool = False

    @cached_property
    def columns(self) -> dict[str, Array]:
        """What objectives and bounds ask of each point, NaN where it has no number."""
        return _columns(self.results, self.wanted, self.bounds)

    @cached_property
    def rank(self) -> Array:
        """Each point's Pareto front among those that keep all bounds, 0 for the others."""
        return ranks(self.columns, self.wanted, self.bounds)

    @property
    def front(self) -> tuple[Result, ...]:
        """The points that nothing beats, the best by the first objective first, of equal ones the one found first."""
        return tuple(self.results[index] for index in different(self.columns, self.wanted, self.rank))


def search(
    base: Scenario,
    axes: Sequence[Axis],
    wanted: Sequence[Objective],
    bounds: Sequence[Constraint] = (),
    evaluations: int = 500,
    settings: Sequence[tuple[str, Any]] = (),
    watch: Watch | None = None,
) -> SearchedPoints:
    """Search the box of the axes with so many estimates at most, drawn by the data seed; `watch` hears how many there were.

    A range is searched anywhere between its ends. Combinations that no scenario can have cost no estimate. An interrupt ends
    it with what has been found so far. Raises BadInput.
    """
    if not axes or not wanted:
        raise BadInput("A search needs an axis to move along and an objective; give --axis and --objective.")
    seed = int(dict(settings).get("data.seed", base.data.seed))
    tried: dict[Place, Result | RefusedPlace] = {}
    generation = min(max(evaluations // GENERATIONS, LEAST), MOST)
    study, in_vain, interrupted = _study(len(wanted), generation, seed), 0, False
    try:
        while (room := evaluations - _estimates(tried)) > 0 and in_vain < MOST_IN_VAIN:
            trials = [study.ask() for _ in range(generation)]
            places = [tuple(_suggested(trial, axis) for axis in axes) for trial in trials]
            fresh = [place for place in dict.fromkeys(places) if place not in tried][:room]
            tried |= _tried(base, axes, settings, fresh)
            for trial, place in zip(trials, places, strict=True):
                _tell(study, trial, tried.get(place), wanted, bounds)
            in_vain = 0 if fresh else in_vain + 1
            if watch:
                watch(_estimates(tried))
    except KeyboardInterrupt:
        interrupted = True
    found = tuple(one for one in tried.values() if isinstance(one, Result))
    if interrupted and not found:
        raise KeyboardInterrupt
    if not found:
        raise BadInput(next(one.sentence for one in tried.values() if isinstance(one, RefusedPlace)))
    return SearchedPoints(tuple(wanted), tuple(bounds), found, interrupted)


def _study(objectives: int, population: int, seed: int) -> Any:
    import optuna  # late, since only a search needs it

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings(action="ignore"):  # bounds are said to be experimental there
        sampler = optuna.samplers.NSGAIISampler(
            population_size=population, seed=seed, constraints_func=lambda trial: trial.user_attrs["excess"]
        )
        return optuna.create_study(directions=["minimize"] * objectives, sampler=sampler)


def _suggested(trial: Any, axis: Axis) -> float:
    """Return a number of the axis: words are crossed as words, numbers along their scale, lists by their order."""
    if axis.span is None and known(axis.path).kind not in NUMERIC:
        return float(trial.suggest_categorical(axis.path, list(range(len(axis.values)))))
    if axis.span is None:
        return float(trial.suggest_int(axis.path, 0, len(axis.values) - 1))
    if axis.levels:
        return float(trial.suggest_int(axis.path, int(axis.span.low), int(axis.span.high), log=axis.span.log))
    return float(trial.suggest_float(axis.path, axis.span.low, axis.span.high, log=axis.span.log))


def _tried(
    base: Scenario, axes: Sequence[Axis], settings: Sequence[tuple[str, Any]], places: Sequence[Place]
) -> dict[Place, Result | RefusedPlace]:
    """Estimate the places together; two that round to one scenario are one estimate."""
    chosen = {place: {axis.path: axis.value(one) for axis, one in zip(axes, place, strict=True)} for place in places}
    points = {place: made(base, values, settings) for place, values in chosen.items()}
    scenarios = list(dict.fromkeys(point for point in points.values() if isinstance(point, Scenario)))
    results = dict(zip(scenarios, estimates(scenarios), strict=True))
    return {place: results[point] if isinstance(point, Scenario) else point for place, point in points.items()}


def _estimates(tried: dict[Place, Result | RefusedPlace]) -> int:
    return sum(isinstance(one, Result) for one in tried.values())


def _tell(
    study: Any, trial: Any, ended: Result | RefusedPlace | None, wanted: Sequence[Objective], bounds: Sequence[Constraint]
) -> None:
    """Tell the numbers of a point; one that has none is worst in everything and far from all bounds."""
    results = [ended] if isinstance(ended, Result) and ended.ran else []
    columns = _columns(results, wanted, bounds)
    losses = [_first(one.losses(columns)) for one in wanted]
    excess = [_first(one.excess(columns)) / max(abs(one.bound), 1e-12) for one in bounds]
    trial.set_user_attr("excess", excess)
    study.tell(trial, losses)


def _first(numbers: Array) -> float:
    return float(numbers[0]) if len(numbers) and isfinite(numbers[0]) else WORST


def _columns(results: Sequence[Result], wanted: Sequence[Objective], bounds: Sequence[Constraint]) -> dict[str, Array]:
    names = (*(one.name for one in wanted), *(one.name for one in bounds))
    return {name: np.array([number(result, name) for result in results], dtype=float) for name in names}
