"""Ladders of values to try, and each draw's first value that meets a goal.

A rung is a value's index on the ladder.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...hardware.device import expanders, readers
from ...hardware.devices.cxl import payload_rate, products
from ...hardware.devices.pmem import module_bytes, modules, own_link
from ...insight.knobs.stops import CAPACITY, capacity_of_modules
from ...insight.relaxation import LINK
from ...scenario.scenario import KNOBS, Scenario
from ...systems.kernels.in_force import system_in_force
from ...systems.sizing import NUM_EXPANDERS
from ...units import GB

Steps = Callable[[Sequence[tuple[int, int]]], Sequence[float]]  # seconds of (draw, rung), NaN where it cannot run


@dataclass
class Trace:
    """The rungs of a ladder that were tried for one draw of the constants.

    goal: the goal in seconds of a step. seconds: the step's seconds by rung.
    """

    goal: float
    seconds: dict[int, float] = field(default_factory=dict)

    @property
    def first_rung(self) -> int | None:
        """The lowest tried rung that meets the goal, None if none does."""
        return min((rung for rung, seconds in self.seconds.items() if seconds <= self.goal), default=None)

    @property
    def rung_below(self) -> int:
        """The highest tried rung below the first that meets the goal, or -1."""
        first_rung = self.first_rung
        return max((rung for rung in self.seconds if first_rung is not None and rung < first_rung), default=-1)

    @property
    def best_rung(self) -> int | None:
        """The lowest tried rung whose step is within 1 % of the shortest; None without a step."""
        seconds_by_rung = {rung: seconds for rung, seconds in self.seconds.items() if seconds == seconds}
        return min(
            (rung for rung, seconds in seconds_by_rung.items() if seconds <= 1.01 * min(seconds_by_rung.values())), default=None
        )


def search_ladder(coarse: Sequence[int], steps: Steps, goals: Sequence[float], num_neighbours: int = 6) -> list[Trace]:
    """Find the first rung that meets the goal, for each draw; return all tried rungs.

    The search tries the `coarse` rungs, then `num_neighbours` rungs at once below the first that meets the goal, until no rung is
    left there. A higher rung may be slower; if several tried rungs meet the goal, the lowest counts.
    """
    return _trace_rungs(coarse, lambda trace: _next_between(trace, num_neighbours), steps, goals)


def search_near(start: int, sizes: Sequence[float], steps: Steps, goals: Sequence[float]) -> list[Trace]:
    """Find each draw's first rung that meets the goal, near `start`; return all tried rungs.

    The search tries `start`, then half and twice its size, then the ends, then rungs between. Between two rungs it first supposes
    that seconds are linear in the inverse of `sizes`, as they are for rates.
    """
    return _trace_rungs([start], lambda trace: _next_near(trace, start, sizes), steps, goals)


def _trace_rungs(
    start_rungs: Sequence[int], next_rungs: Callable[[Trace], list[int]], steps: Steps, goals: Sequence[float]
) -> list[Trace]:
    """Try `start_rungs` for each draw, then `next_rungs` while there are any; all draws at once."""
    traces = [Trace(goal) for goal in goals]
    pairs = [(draw, rung) for draw in range(len(goals)) for rung in start_rungs]
    while pairs:
        for (draw, rung), seconds in zip(pairs, steps(pairs), strict=True):
            traces[draw].seconds[rung] = seconds
        pairs = [(draw, rung) for draw, trace in enumerate(traces) for rung in next_rungs(trace)]
    return traces


def _next_near(trace: Trace, start: int, sizes: Sequence[float]) -> list[int]:
    first_rung, rung_below = trace.first_rung, trace.rung_below
    half, twice = (bisect_left(sizes, part * sizes[start]) for part in (0.5, 2.0))
    if first_rung is None or rung_below < 0:
        top_rung = len(sizes) - 1
        untried_first = (half, 0) if first_rung is not None else (min(twice, top_rung), top_rung, half, 0)
        return [rung for rung in untried_first if rung not in trace.seconds and (first_rung is None or rung < first_rung)][:1]
    open_rungs = range(rung_below + 1, first_rung)
    slow_seconds, fast_seconds = trace.seconds[rung_below], trace.seconds[first_rung]
    if (
        not open_rungs or slow_seconds != slow_seconds or len(trace.seconds) % 3 == 0
    ):  # the middle now and then, where seconds are far from linear
        return spread_rungs(rung_below + 1, first_rung - 1, 3)[1:2] or [*open_rungs]
    part = (trace.goal - fast_seconds) / (slow_seconds - fast_seconds)
    guess = bisect_left(sizes, 1 / (1 / sizes[first_rung] + part * (1 / sizes[rung_below] - 1 / sizes[first_rung])))
    return [rung for rung in (guess - 1, guess) if rung in open_rungs] or [
        open_rungs[0] if guess <= rung_below else open_rungs[-1]
    ]


def _next_between(trace: Trace, num_rungs: int) -> list[int]:
    first_rung, rung_below = trace.first_rung, trace.rung_below
    return [] if first_rung is None else spread_rungs(rung_below + 1, first_rung - 1, num_rungs)


def spread_rungs(low: int, high: int, num_rungs: int) -> list[int]:
    """Return about `num_rungs` rungs from `low` to `high` in steps of equal ratio.

    Both ends are included; the result is empty if high < low.
    """
    return sorted({round(number) - 1 for number in np.geomspace(low + 1, high + 1, num_rungs)}) if high >= low else []


def modules_of(s: Scenario) -> int:
    """Return the largest number of PMEM modules on a node; 0 for a system without PMEM.

    The scenario must be settled.
    """
    if not _uses(s, CAPACITY):
        return 0
    max_modules = max(1, int((KNOBS[CAPACITY].high or 1) * GB / module_bytes(s.machine)))
    return min(max_modules, int(KNOBS[NUM_EXPANDERS].high or max_modules)) if _has_own_links(s) else max_modules


def module_knobs(s: Scenario, count: int) -> dict[str, Any]:
    """Return the knobs for `count` modules in a settled scenario.

    If each module has its own link, the number of links is set too.
    """
    return {CAPACITY: capacity_of_modules(s, count), **({NUM_EXPANDERS: count} if _has_own_links(s) else {})}


def _has_own_links(s: Scenario) -> bool:
    """Return whether each module of a settled scenario has a link of its own."""
    return _uses(s, LINK) and own_link(s.machine) is not None and expanders(s.machine) == modules(s.machine)


def links_of(s: Scenario) -> tuple[float, ...]:
    """Return the link bandwidths to try [GB/s], of two digits each; empty without CXL.

    The last one is the fastest link of a card, or the scenario's own link. If each module has its own link, no faster link is
    tried.
    """
    if not _uses(s, LINK):
        return ()
    knob = KNOBS[LINK]
    fastest = float(f"{max(payload for _, _, payload in products(s.machine)) / GB:.4g}")
    own_gbps = payload_rate(s.machine) / GB
    top = own_gbps if _has_own_links(s) else min(max(fastest, own_gbps), knob.high or fastest)
    two_digit_links = (float(f"{digits}e{power}") for power in range(-3, 3) for digits in range(10, 100))
    return (*(gbps for gbps in two_digit_links if (knob.low or 0.0) <= gbps < top), top)


def card_link(s: Scenario, gbps: float) -> tuple[str, float] | None:
    """Return the slowest card's link that carries `gbps`, such as "×8 Gen4", and its GB/s.

    Return None where no card's link is fast enough.
    """
    fast_cards = [(payload / GB, name) for name, _, payload in products(s.machine) if payload >= gbps * GB * (1 - 1e-3)]
    return min(fast_cards)[::-1] if fast_cards else None


def _uses(s: Scenario, path: str) -> bool:
    return bool(set(readers(path)) & set(system_in_force(s).devices))
