"""Ladders: the values that are tried, and the first of them whose step meets a goal, for one machine or for many draws of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...hardware.devices.cxl import payload_rate, products
from ...hardware.devices.pmem import module_bytes
from ...insight.knob_stops import CAPACITY
from ...insight.relaxation import LINK
from ...registry import load
from ...scenario.scenario import KNOBS, Scenario
from ...systems.system import readers
from ...units import GB

Steps = Callable[[Sequence[tuple[int, int]]], Sequence[float]]  # seconds of (draw, rung), NaN where it cannot run


@dataclass
class Trace:
    """What is known of a ladder: seconds by rung, and the first rung among them that meets the goal."""

    goal: float
    seconds: dict[int, float] = field(default_factory=dict)

    @property
    def first(self) -> int | None:
        """The lowest rung known to meet the goal."""
        return min((rung for rung, seconds in self.seconds.items() if seconds <= self.goal), default=None)

    @property
    def below(self) -> int:
        """The highest rung known below the first, -1 if there is none."""
        first = self.first
        return max((rung for rung in self.seconds if first is not None and rung < first), default=-1)

    @property
    def best(self) -> int | None:
        """The lowest rung whose step is within 1 % of the shortest."""
        ran = {rung: seconds for rung, seconds in self.seconds.items() if seconds == seconds}
        return min((rung for rung, seconds in ran.items() if seconds <= 1.01 * min(ran.values())), default=None)


def search(coarse: Sequence[int], steps: Steps, goals: Sequence[float], between: int = 6) -> list[Trace]:
    """Find the first rung that meets the goal of each draw: over `coarse` rungs, then `between` neighbours until none is left.

    That more is better is not taken for granted: of several rungs that meet it the lowest counts, and all are returned.
    """
    traces = [Trace(goal) for goal in goals]
    pairs = [(draw, rung) for draw in range(len(goals)) for rung in coarse]
    while pairs:
        for (draw, rung), seconds in zip(pairs, steps(pairs), strict=True):
            traces[draw].seconds[rung] = seconds
        pairs = [(draw, rung) for draw, trace in enumerate(traces) for rung in _between(trace, between)]
    return traces


def _between(trace: Trace, many: int) -> list[int]:
    first, below = trace.first, trace.below
    return [] if first is None else spread(below + 1, first - 1, many)


def spread(low: int, high: int, many: int) -> list[int]:
    """Return about so many rungs from `low` to `high`, both included, in steps of equal ratio; none where high < low."""
    return sorted({round(one) - 1 for one in np.geomspace(low + 1, high + 1, many)}) if high >= low else []


def modules_of(s: Scenario) -> int:
    """Return how many modules a settled scenario can have at most on each node; 0 where its system uses none."""
    if not _uses(s, CAPACITY):
        return 0
    return max(1, int((KNOBS[CAPACITY].high or 1) * GB / module_bytes(s.machine)))


def links_of(s: Scenario) -> tuple[float, ...]:
    """Return links in GB/s, of two digits each, up to the fastest that cards have, or the scenario's own; none without CXL."""
    if not _uses(s, LINK):
        return ()
    knob = KNOBS[LINK]
    fastest = float(f"{max(payload for _, _, payload in products(s.machine)) / GB:.4g}")
    top = min(max(fastest, payload_rate(s.machine) / GB), knob.high or fastest)
    two = (float(f"{digits}e{power}") for power in range(-3, 3) for digits in range(10, 100))
    return (*(one for one in two if (knob.low or 0.0) <= one < top), top)


def product(s: Scenario, gbps: float) -> str:
    """Return the slowest card's link that carries so many GB/s, as "×8 Gen4"; "" where none does."""
    found = [(payload, name) for name, _, payload in products(s.machine) if payload >= gbps * GB * (1 - 1e-3)]
    return min(found)[1] if found else ""


def _uses(s: Scenario, path: str) -> bool:
    return bool(set(readers(path)) & set(load("systems", s.system).devices))
