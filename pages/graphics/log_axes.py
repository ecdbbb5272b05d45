"""Logarithmic axes as values: when to use one, its scale, ticks at 1, 2, 5."""

from collections.abc import Iterable
from math import ceil, floor, isfinite, log10
from typing import Any

from pages.graphics.charts import SHORT_LABEL, Spec, axis

STEPS = (1, 2, 5)
MIN_LOG_RATIO = 8.0  # times the least number from which equal ratios read better than equal steps
LEAST_POWER, LARGEST_POWER = -9, 15
EVERY_TICK = [float(f"{step}e{power}") for power in range(LEAST_POWER, LARGEST_POWER + 1) for step in STEPS]
EDGES = {"zero": False, "nice": False, "padding": 12}  # fitted to the points, which stay whole at the picture's edges
# Pixels of a decade from which 2 and 5 are written too, and labels that fit into the axis at most.
ROOM = {"x": 120, "y": 50}
MOST_DECADES = 3  # decades of which all ticks are written, ten at most
SIZES = {"x": "width", "y": "height"}
POWER = "log(datum.value) / LN10"
IS_POWER = f"abs({POWER} - round({POWER})) < 1e-9"


def log_ticks(values: Iterable[float], steps: tuple[int, ...] = STEPS) -> tuple[float, ...]:
    """Return the steps times powers of ten in the range of positive values."""
    positive = [number for number in values if number > 0 and isfinite(number)]
    if not positive:
        return ()
    low, high = min(positive) * (1 - 1e-9), max(positive) * (1 + 1e-9)
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    return tuple(tick for power in powers for step in steps if low <= (tick := float(f"{step}e{power}")) <= high)


def wants_log(values: Iterable[float]) -> bool:
    """Return whether numbers are all above 0 and span about a decade or more."""
    finite = [number for number in values if isfinite(number)]
    return bool(finite) and min(finite) > 0 and max(finite) >= MIN_LOG_RATIO * min(finite)


def fitted_scale(log: bool) -> Spec:
    """Return a scale fitted to its points, with room for marks at its ends."""
    return {"type": "log", **EDGES} if log else {**EDGES}


def log_axis(title: str, channel: str, **options: Any) -> Spec:
    """Return a logarithmic axis with ticks at 1, 2, 5, or at powers of ten if crowded.

    If the powers are crowded too, labels that would overlap are left out.
    """
    ends = f"domain('{channel}')"
    in_domain = f"inrange(datum.value, [{ends}[0] * (1 - 1e-9), {ends}[1] * (1 + 1e-9)])"  # a clamped scale draws all ticks
    decades = f"max(log({ends}[1] / {ends}[0]) / LN10, 0.01)"
    roomy = f"{decades} <= {MOST_DECADES} && {SIZES[channel]} / {decades} >= {ROOM[channel]}"
    label = f"{in_domain} && ({IS_POWER} || {roomy}) ? ({SHORT_LABEL}) : ''"
    return axis(
        title,
        **{
            "values": EVERY_TICK,
            "tickCount": len(EVERY_TICK),  # Vega leaves out every second one of more
            "format": ",~r",
            "labelExpr": label,
            "labelOverlap": "greedy",
            **options,
        },
    )
