"""The effect of uncertain constants: tornados, bands, and constants that turn a verdict.

A tornado changes one constant at a time, a band changes all together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isclose
from typing import NamedTuple

import numpy as np

from ..core.constants import Constant
from ..errors import CannotRun
from ..estimates import estimates
from ..scenario.scenario import Scenario, with_values
from ..systems.kernels.in_force import system_in_force
from ..systems.sizing import with_sizes_chosen
from ..systems.system import constants

PURPOSE = 103
SAMPLES = 64
QUANTILES = (0.05, 0.95)
HALVINGS = 12  # halvings of a range: to a four-thousandth
Results = Mapping[str, float | None]


@dataclass(frozen=True)
class Swing:
    """A metric's number with one constant at its lowest and at its highest plausible value."""

    name: str
    constant: Constant
    at_low: float
    at_high: float

    @property
    def width(self) -> float:
        """The difference between the metric's numbers at both ends of the constant's range."""
        return abs(self.at_high - self.at_low)


def uncertain_constants(scenario: Scenario) -> dict[str, Constant]:
    """Return the constants of the scenario's machine that have a range, by name.

    Constants that the scenario sets (`machine.assume`) are left out. So are constants that vendors offer in several values, such
    as a capacity or a number of lanes: they are choices.
    """
    assumptions, all_constants = dict(scenario.machine.assume), constants(scenario)
    return {
        name: constant
        for name, constant in all_constants.items()
        if constant.low < constant.high and not constant.choice and name not in assumptions
    }


def tornado(scenario: Scenario, metric: str) -> tuple[Swing, ...]:
    """Return how far each constant moves a metric of the estimate, the largest move first.

    Constants without effect are left out.
    """
    swings = (
        Swing(name, constant, _metric_number(scenario, low, metric), _metric_number(scenario, high, metric))
        for name, constant, low, high in _results_at_ends(scenario)
    )
    return tuple(sorted((swing for swing in swings if swing.width > 0), key=lambda swing: -swing.width))


@lru_cache(maxsize=64)
def _results_at_ends(scenario: Scenario) -> tuple[tuple[str, Constant, Results, Results], ...]:
    """Return every result at the low and the high end of each constant, for all metrics."""
    ranges = uncertain_constants(scenario)
    lows, highs = (
        _results(scenario, [{name: getattr(constant, end)} for name, constant in ranges.items()]) for end in ("low", "high")
    )
    return tuple(zip(ranges, ranges.values(), lows, highs, strict=True))


@lru_cache(maxsize=64)
def bands(scenario: Scenario, samples: int = SAMPLES) -> Mapping[str, tuple[float, float]]:
    """Return the 5 % and 95 % quantiles of every metric, over draws of all constants.

    A draw lies below the catalogue's value as often as above it, uniformly on each side. So a range whose ends are not equally
    far from the catalogue's value does not move the median of the constant.
    """
    results = _results(scenario, draws(scenario, samples))
    names = [name for name, number in results[0].items() if number is not None]
    ends = {name: np.quantile([row[name] for row in results if row[name] is not None], QUANTILES) for name in names}
    return {name: (float(low), float(high)) for name, (low, high) in ends.items()}


def draws(scenario: Scenario, samples: int = SAMPLES, *other_scenarios: Scenario) -> list[dict[str, float]]:
    """Return draws of the scenario's constants by name.

    `other_scenarios` add the constants that the scenario lacks.
    """
    other_ranges = {
        name: constant for other_scenario in other_scenarios for name, constant in uncertain_constants(other_scenario).items()
    }
    own_ranges = uncertain_constants(scenario)
    added_ranges = {name: constant for name, constant in other_ranges.items() if name not in own_ranges}
    streams = ((own_ranges, (scenario.data.seed, PURPOSE)), (added_ranges, (scenario.data.seed, PURPOSE, 1)))
    sample_draws: list[dict[str, float]] = [{} for _ in range(samples)]
    for ranges, seed in streams:
        rng = np.random.default_rng(seed)
        for draw in sample_draws:
            draw.update({name: drawn_constant(constant, rng.uniform(-1, 1)) for name, constant in ranges.items()})
    return sample_draws


def drawn_constant(constant: Constant, direction: float) -> float:
    """Return a value in a constant's range: `direction` -1 is the lower end, 1 the upper end.

    0 is the catalogue's value.
    """
    return constant.value + abs(direction) * ((constant.high if direction > 0 else constant.low) - constant.value)


def _results(scenario: Scenario, draws: Sequence[Mapping[str, float]]) -> list[Results]:
    """Return the estimate's results for each draw of constants; the machine keeps its settled sizes."""
    settled, assumptions = with_sizes_chosen(scenario, system_in_force(scenario)), scenario.machine.assume
    results = estimates([with_values(settled, {"machine.assume": (*assumptions, *values.items())}) for values in draws])
    for result in results:
        if not result.ran:
            raise CannotRun(result.outcome)
    return [result.results for result in results]


def _metric_number(scenario: Scenario, results: Results, metric: str) -> float:
    number = results[metric]
    if number is None:
        raise CannotRun(
            f"{metric} is not known for system {scenario.system}, or a part has no published price; choose another result."
        )
    return number


class TurningPoint(NamedTuple):
    """A constant that turns a verdict by itself when it crosses `turning_value`.

    holds_above: whether the verdict holds while the constant is above that value; else it holds below.
    """

    name: str
    constant: Constant
    turning_value: float
    holds_above: bool


def find_turning_points(first_scenario: Scenario, second_scenario: Scenario, metric: str) -> tuple[TurningPoint, ...]:
    """Return the constants that by themselves turn a comparison of two scenarios.

    The comparison is which scenario has less of the metric. The result is empty where both have the same number. Raises CannotRun
    where a scenario cannot run at an end of a range.
    """
    end_results = [_results_at_ends(compared_scenario) for compared_scenario in (first_scenario, second_scenario)]
    ends = [{name: (low, high) for name, _, low, high in constant_rows} for constant_rows in end_results]
    difference, turning_points = _difference(first_scenario, second_scenario, metric, {}), []
    for name, constant in {name: constant for constant_rows in end_results for name, constant, _, _ in constant_rows}.items():
        for end, limit in enumerate((constant.low, constant.high)):
            first_number, second_number = (
                _metric_number(scenario, scenario_ends[name][end], metric)
                if name in scenario_ends
                else _number_assuming(scenario, metric, {})
                for scenario_ends, scenario in zip(ends, (first_scenario, second_scenario), strict=True)
            )
            if (first_number - second_number) * difference < 0 and not isclose(first_number, second_number, rel_tol=1e-9):
                turning_points.append(
                    TurningPoint(
                        name,
                        constant,
                        _turning_value(first_scenario, second_scenario, metric, name, constant.value, limit),
                        end == 0,
                    )
                )
    return tuple(turning_points)


def _turning_value(
    first_scenario: Scenario, second_scenario: Scenario, metric: str, name: str, holding_value: float, turned_value: float
) -> float:
    """Return a constant's value at which the verdict turns, by halving between two values."""
    difference = _difference(first_scenario, second_scenario, metric, {})
    for _ in range(HALVINGS):
        middle = (holding_value + turned_value) / 2
        verdict_holds = _difference(first_scenario, second_scenario, metric, {name: middle}) * difference > 0
        holding_value, turned_value = (middle, turned_value) if verdict_holds else (holding_value, middle)
    return holding_value


def _difference(first_scenario: Scenario, second_scenario: Scenario, metric: str, assumptions: dict[str, float]) -> float:
    return _number_assuming(first_scenario, metric, assumptions) - _number_assuming(second_scenario, metric, assumptions)


def _number_assuming(scenario: Scenario, metric: str, assumptions: dict[str, float]) -> float:
    return _metric_number(scenario, _results(scenario, [assumptions])[0], metric)
