"""Ladders: the values that are tried, and the first of them whose step meets a goal, for one machine or for many draws of it."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...hardware.device import expanders
from ...hardware.devices.cxl import payload_rate, products
from ...hardware.devices.pmem import module_bytes, modules, own_link
from ...insight.knob_stops import CAPACITY, capacity
from ...insight.relaxation import LINK
from ...scenario.scenario import KNOBS, Scenario
from ...systems.kernels.in_force import system_in_force
from ...systems.sizing import NUMBER
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
    return _traced(coarse, lambda trace: _between(trace, between), steps, goals)


def narrow(start: int, sizes: Sequence[float], steps: Steps, goals: Sequence[float]) -> list[Trace]:
    """Find the same for many draws from one rung, near which most lie: half and twice its size, then the ends, then between.

    Between two rungs, what is tried first supposes that seconds are linear in the inverse of `sizes`, as rates make them.
    """
    return _traced([start], lambda trace: _nearer(trace, start, sizes), steps, goals)


def _traced(begin: Sequence[int], further: Callable[[Trace], list[int]], steps: Steps, goals: Sequence[float]) -> list[Trace]:
    """Try the rungs to begin with for each draw, and `further` ones as long as there are any; all draws at once."""
    traces = [Trace(goal) for goal in goals]
    pairs = [(draw, rung) for draw in range(len(goals)) for rung in begin]
    while pairs:
        for (draw, rung), seconds in zip(pairs, steps(pairs), strict=True):
            traces[draw].seconds[rung] = seconds
        pairs = [(draw, rung) for draw, trace in enumerate(traces) for rung in further(trace)]
    return traces


def _nearer(trace: Trace, start: int, sizes: Sequence[float]) -> list[int]:
    first, below = trace.first, trace.below
    half, twice = (bisect_left(sizes, part * sizes[start]) for part in (0.5, 2.0))
    if first is None or below < 0:
        last = len(sizes) - 1
        tried = (half, 0) if first is not None else (min(twice, last), last, half, 0)
        return [rung for rung in tried if rung not in trace.seconds and (first is None or rung < first)][:1]
    left = range(below + 1, first)
    slow, quick = trace.seconds[below], trace.seconds[first]
    if not left or slow != slow or len(trace.seconds) % 3 == 0:  # the middle now and then, where seconds are far from linear
        return spread(below + 1, first - 1, 3)[1:2] or [*left]
    part = (trace.goal - quick) / (slow - quick)
    guess = bisect_left(sizes, 1 / (1 / sizes[first] + part * (1 / sizes[below] - 1 / sizes[first])))
    return [rung for rung in (guess - 1, guess) if rung in left] or [left[0] if guess <= below else left[-1]]


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
    most = max(1, int((KNOBS[CAPACITY].high or 1) * GB / module_bytes(s.machine)))
    return min(most, int(KNOBS[NUMBER].high or most)) if _linked(s) else most


def module_knobs(s: Scenario, count: int) -> dict[str, Any]:
    """Return the knobs of so many modules in a settled scenario: those with links of their own bring as many links."""
    return {CAPACITY: capacity(s, count), **({NUMBER: count} if _linked(s) else {})}


def _linked(s: Scenario) -> bool:
    """Whether each module of a settled scenario has a link of its own."""
    return _uses(s, LINK) and own_link(s.machine) is not None and expanders(s.machine) == modules(s.machine)


def links_of(s: Scenario) -> tuple[float, ...]:
    """Return links in GB/s, of two digits each, up to the fastest that cards have, or the scenario's own; none without CXL.

    Modules with links of their own have no faster ones.
    """
    if not _uses(s, LINK):
        return ()
    knob = KNOBS[LINK]
    fastest = float(f"{max(payload for _, _, payload in products(s.machine)) / GB:.4g}")
    own = payload_rate(s.machine) / GB
    top = own if _linked(s) else min(max(fastest, own), knob.high or fastest)
    two = (float(f"{digits}e{power}") for power in range(-3, 3) for digits in range(10, 100))
    return (*(one for one in two if (knob.low or 0.0) <= one < top), top)


def product(s: Scenario, gbps: float) -> tuple[str, float] | None:
    """Return the slowest card's link that carries so many GB/s, as "×8 Gen4", with its own GB/s; None where none does."""
    found = [(payload / GB, name) for name, _, payload in products(s.machine) if payload >= gbps * GB * (1 - 1e-3)]
    return min(found)[::-1] if found else None


def _uses(s: Scenario, path: str) -> bool:
    return bool(set(readers(path)) & set(system_in_force(s).devices))
