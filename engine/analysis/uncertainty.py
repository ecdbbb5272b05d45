"""Uncertainty from the constants: each moved over its plausible range, alone for a tornado, together for a band."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..core.constants import Constant
from ..errors import CannotRun
from ..estimates import estimates
from ..scenario.scenario import Scenario, with_values
from ..systems.capacity import fit
from ..systems.system import constants

PURPOSE = 103
SAMPLES = 64
QUANTILES = (0.05, 0.95)
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
    """Return the constants of the scenario's machine that have a range and are not assumed by the scenario itself."""
    given = dict(scenario.machine.assume)
    return {name: one for name, one in constants(scenario).items() if one.low < one.high and name not in given}


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
            draw.update({name: _drawn(one, rng.uniform(-1, 1)) for name, one in ranges.items()})
    return found


def _drawn(one: Constant, way: float) -> float:
    """Return the value that lies `way`, from -1 to 1, towards the lower or the upper end of a constant's range."""
    return one.value + abs(way) * ((one.high if way > 0 else one.low) - one.value)


def _results(scenario: Scenario, draws: Sequence[Mapping[str, float]]) -> list[Results]:
    """Return the estimate's results with some constants assumed, by draw; a machine settled once keeps its modules."""
    settled, own = _settled(scenario).scenario, scenario.machine.assume
    found = estimates([with_values(settled, {"machine.assume": (*own, *values.items())}) for values in draws])
    for result in found:
        if not result.ran:
            raise CannotRun(result.outcome)
    return [result.results for result in found]


_settled = lru_cache(maxsize=64)(fit)


def _value(scenario: Scenario, results: Results, metric: str) -> float:
    value = results[metric]
    if value is None:
        raise CannotRun(f"{metric} does not apply to system {scenario.system}; choose another result.")
    return value
