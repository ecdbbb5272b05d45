"""The stops of a numeric knob in a scenario: round values over its range, or what is sold, whole modules."""

from functools import cache
from math import log10

from ..hardware.devices.pmem import module_bytes
from ..insight.knob_stops import CAPACITY
from ..scenario import knobs
from ..scenario.knobs import Knob
from ..scenario.scenario import Scenario
from ..units import GB

MANTISSAS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0), (1, 2, 5)


def stops(scenario: Scenario, knob: Knob) -> tuple[float, ...]:
    """Return the values in rising order: of the PMEM capacity 1, 2, 4, ... modules of the medium in use."""
    return _doubled(module_bytes(scenario.machine) / GB, knob) if knob.path == CAPACITY else _round(knob)


def stop_label(scenario: Scenario, knob: Knob, value: float) -> str:
    """Return how a value reads on a slider: whole PMEM modules as 4 × 128 GB, other numbers without their unit."""
    if knob.path != CAPACITY:
        return f"{value:.15g}"
    module = module_bytes(scenario.machine) / GB
    count = value / module
    return f"{count:,.0f} × {module:g} GB" if count == int(count) else f"{value:,.15g} GB"


@cache
def _doubled(module: float, knob: Knob) -> tuple[float, ...]:
    low, high = knob.low or 0.0, knob.high or module
    found = (module * 2.0**power for power in range(40))
    return tuple(value for value in found if low <= value <= high)


@cache
def _round(knob: Knob) -> tuple[float, ...]:
    low, high = knob.low or 0.0, knob.high or 1.0
    mantissas = MANTISSAS[knob.kind == "int"]
    first = int(log10(low)) - 1 if low > 0 else 0 if knob.kind == "int" else -3
    ladder = [mantissa * 10.0**power for power in range(first, int(log10(high)) + 1) for mantissa in mantissas]
    doubling = [
        base * 2.0**power for power in range(-4, 40) for base in (1.0, 1.5) if knob.kind != "int" or base * 2.0**power % 1 == 0
    ]
    rounded = sorted({low, high, *(value for value in (doubling if knob.log else ladder) if low <= value <= high)})
    return tuple(knobs.check(knob, value) for value in rounded)
