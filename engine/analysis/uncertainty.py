"""Uncertainty from the constants: each moved over its range, alone for a tornado, together for a band, until a verdict turns."""

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
from ..systems.sizing import sized
from ..systems.system import constants

PURPOSE = 103
SAMPLES = 64
QUANTILES = (0.05, 0.95)
STEPS = 12  # halvings of a range: to a four-thousandth
Results = Mapping[str, float | None]


@dataclass(frozen=True)
class Swing:
    """What a metric becomes when one constant takes its lowest and its highest plausible value."""

    name: str
    constant: Constant
    at_low: float
    at_high: float

    @property
    def width(self) -> float:
        """How far the metric moves."""
        return abs(self.at_high - self.at_low)


def uncertain(scenario: Scenario) -> dict[str, Constant]:
    """Return the constants of the scenario's machine whose range is uncertainty, and which it does not assume itself.

    A capacity or a number of lanes that vendors offer several of is a choice, and stays.
    """
    given, every = dict(scenario.machine.assume), constants(scenario)
    return {name: one for name, one in every.items() if one.low < one.high and not one.choice and name not in given}


def tornado(scenario: Scenario, metric: str) -> tuple[Swing, ...]:
    """Return every constant's swing of a metric of the estimate, the widest first; those without effect are left out."""
    swings = (
        Swing(name, one, _value(scenario, low, metric), _value(scenario, high, metric))
        for name, one, low, high in _ends(scenario)
    )
    return tuple(sorted((swing for swing in swings if swing.width > 0), key=lambda swing: -swing.width))


@lru_cache(maxsize=64)
def _ends(scenario: Scenario) -> tuple[tuple[str, Constant, Results, Results], ...]:
    """Return every result at the low and the high end of each constant: one tornado's work serves all metrics."""
    ranges = uncertain(scenario)
    lows, highs = (_results(scenario, [{name: getattr(one, end)} for name, one in ranges.items()]) for end in ("low", "high"))
    return tuple(zip(ranges, ranges.values(), lows, highs, strict=True))


@lru_cache(maxsize=64)
def bands(scenario: Scenario, samples: int = SAMPLES) -> Mapping[str, tuple[float, float]]:
    """Return the 5 % and 95 % quantiles of every metric, all constants drawn from their ranges.

    A draw lies below the catalogue's value as often as above it, evenly on each side, so that a range whose ends are
    not equally far away does not move the middle.
    """
    results = _results(scenario, draws(scenario, samples))
    names = [name for name, value in results[0].items() if value is not None]
    ends = {name: np.quantile([row[name] for row in results if row[name] is not None], QUANTILES) for name in names}
    return {name: (float(low), float(high)) for name, (low, high) in ends.items()}


def draws(scenario: Scenario, samples: int = SAMPLES, *others: Scenario) -> list[dict[str, float]]:
    """Return so many draws of the scenario's constants by name; `others` add those that their machines alone have."""
    rest = {name: one for other in others for name, one in uncertain(other).items()}
    own = uncertain(scenario)
    more = {name: one for name, one in rest.items() if name not in own}
    streams = ((own, (scenario.data.seed, PURPOSE)), (more, (scenario.data.seed, PURPOSE, 1)))
    found: list[dict[str, float]] = [{} for _ in range(samples)]
    for ranges, seed in streams:
        rng = np.random.default_rng(seed)
        for draw in found:
            draw.update({name: drawn(one, rng.uniform(-1, 1)) for name, one in ranges.items()})
    return found


def drawn(one: Constant, way: float) -> float:
    """Return the value that lies `way`, from -1 to 1, towards the lower or the upper end of a constant's range."""
    return one.value + abs(way) * ((one.high if way > 0 else one.low) - one.value)


def _results(scenario: Scenario, draws: Sequence[Mapping[str, float]]) -> list[Results]:
    """Return the estimate's results with some constants assumed, by draw; a machine settled once keeps its sizes."""
    settled, own = sized(scenario, system_in_force(scenario)), scenario.machine.assume
    found = estimates([with_values(settled, {"machine.assume": (*own, *values.items())}) for values in draws])
    for result in found:
        if not result.ran:
            raise CannotRun(result.outcome)
    return [result.results for result in found]


def _value(scenario: Scenario, results: Results, metric: str) -> float:
    value = results[metric]
    if value is None:
        raise CannotRun(
            f"{metric} is not known here, for system {scenario.system} or for lack of a price; choose another result."
        )
    return value


class TurningPoint(NamedTuple):
    """A constant that turns a verdict alone: as it is, the verdict holds while the constant is above, or below, `at`."""

    name: str
    constant: Constant
    at: float
    above: bool


def turns(one: Scenario, other: Scenario, metric: str) -> tuple[TurningPoint, ...]:
    """Return the constants of either machine that alone turn which of both has less of a metric; none where both have the same.

    Raises CannotRun where an end of some range cannot run.
    """
    moved = [_ends(each) for each in (one, other)]
    ends = [{name: (low, high) for name, _, low, high in each} for each in moved]
    own, found = _ahead(one, other, metric, {}), []
    for name, constant in {name: constant for each in moved for name, constant, _, _ in each}.items():
        for end, limit in enumerate((constant.low, constant.high)):
            mine, theirs = (
                _value(scenario, each[name][end], metric) if name in each else _assumed(scenario, metric, {})
                for each, scenario in zip(ends, (one, other), strict=True)
            )
            if (mine - theirs) * own < 0 and not isclose(mine, theirs, rel_tol=1e-9):
                found.append(TurningPoint(name, constant, _where(one, other, metric, name, constant.value, limit), end == 0))
    return tuple(found)


def _where(one: Scenario, other: Scenario, metric: str, name: str, holds: float, turned: float) -> float:
    """Return the value of a constant at which the verdict turns, between one at which it holds and one at which it does not."""
    own = _ahead(one, other, metric, {})
    for _ in range(STEPS):
        middle = (holds + turned) / 2
        still = _ahead(one, other, metric, {name: middle}) * own > 0
        holds, turned = (middle, turned) if still else (holds, middle)
    return holds


def _ahead(one: Scenario, other: Scenario, metric: str, assumed: dict[str, float]) -> float:
    return _assumed(one, metric, assumed) - _assumed(other, metric, assumed)


def _assumed(scenario: Scenario, metric: str, assumed: dict[str, float]) -> float:
    return _value(scenario, _results(scenario, [assumed])[0], metric)
