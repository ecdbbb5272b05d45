"""How sure the answer is: the same search for each draw of the constants, those of the bands of `uncertainty`.

The baseline takes the same draw, so that what both machines share moves both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...estimates import estimates
from ...insight.knob_stops import CAPACITY
from ...insight.relaxation import LINK
from ...results.result import Result
from ...scenario.scenario import Scenario, with_values
from ...schedule.machine import settle
from ...units import MS
from ..uncertainty import QUANTILES, SAMPLES, draws
from .ladder import links_of, modules_of, search
from .question import Question
from .smallest import Enough, Found, changes_of

ASSUME = "machine.assume"
AROUND, BETWEEN = (0.5, 1.0, 2.0), 2  # times the answer: rungs tried first, with both ends of the ladder; then so many at once


@dataclass(frozen=True)
class Band:
    """The 5 % and 95 % quantiles over draws: of the smallest value, infinite where none is enough; or of the nearest ratio.

    `each` are the values by draw; `meets` is the share of draws in which the answer's own machine meets the target.
    """

    low: float
    high: float
    each: tuple[float, ...]
    meets: float


@dataclass(frozen=True)
class Bands:
    """Bands of the modules, of the link in GB/s, and of the cheapest machine's modules beside its own link.

    Where a target is out of reach its band is of how many times as long as the reference the nearest machine's step is.
    """

    capacity: Band | None
    bandwidth: Band | None
    both: Band | None


@dataclass(frozen=True)
class Drawn:
    """Draws of one question: the assumptions of each, and the baseline's seconds under them."""

    question: Question
    assumed: tuple[tuple[tuple[str, float], ...], ...]
    references: tuple[float, ...]

    def seconds(self, pairs: Sequence[tuple[int, Mapping[str, Any]]]) -> list[float]:
        """Return the step of machines, given by draw and the knobs that differ; NaN where one cannot run."""
        machines = [{**changes, ASSUME: self.assumed[draw]} for draw, changes in pairs]
        return _seconds(estimates([with_values(self.question.scenario, some) for some in machines]))


def bands(answer: Enough, samples: int = SAMPLES) -> Bands:
    """Return the answer's bands, from so many draws."""
    q = answer.question
    asked, base = q.scenario, settle(q.baseline.scenario).scenario if q.baseline.ran else q.baseline.scenario
    best = with_values(asked, answer.both.machine.changes)
    drawn = tuple(tuple(one.items()) for one in draws(asked, samples, best, base))
    others = [with_values(base, {ASSUME: (*base.machine.assume, *_new(base, one))}) for one in drawn]
    references = [q.reference] * samples if q.target.milliseconds is not None else _seconds(estimates(others))
    d = Drawn(q, tuple((*asked.machine.assume, *_new(asked, one)) for one in drawn), tuple(references))
    counts, links, machine = range(1, modules_of(asked) + 1), links_of(asked), answer.both.machine
    choice = tuple((path, value) for path, value in machine.changes.items() if path not in (CAPACITY, LINK))
    return Bands(
        _band(d, answer.capacity, counts, lambda count: changes_of(q, int(count), None, ())),
        _band(d, answer.bandwidth, links, lambda gbps: changes_of(q, None, gbps, ())),
        _band(d, answer.both, counts, lambda count: changes_of(q, int(count), machine.gbps, choice))
        if counts
        else _band(d, answer.both, links, lambda gbps: changes_of(q, None, gbps, choice)),
    )


def _band(
    drawn: Drawn, found: Found | None, ladder: Sequence[float], machine: Callable[[float], Mapping[str, Any]]
) -> Band | None:
    """Search the ladder for every draw; where the answer misses its target, take that machine alone."""
    if found is None or not ladder or not found.machine.result.ran:
        return None
    goals = [drawn.question.goal_of(reference) for reference in drawn.references]
    own = found.machine.changes
    seconds = drawn.seconds([(draw, own) for draw in range(len(goals))])
    meets = float(np.mean([one <= goal for one, goal in zip(seconds, goals, strict=True)]))
    if not found.meets:
        return _quantiles([one / reference for one, reference in zip(seconds, drawn.references, strict=True)], meets)
    value = found.machine.modules if isinstance(ladder, range) else found.machine.gbps
    near = {min(range(len(ladder)), key=lambda rung: abs(ladder[rung] - part * (value or 1.0))) for part in AROUND}

    def steps(pairs: Sequence[tuple[int, int]]) -> list[float]:
        return drawn.seconds([(draw, machine(ladder[rung])) for draw, rung in pairs])

    traces = search(sorted({0, *near, len(ladder) - 1}), steps, goals, BETWEEN)
    return _quantiles([float("inf") if one.first is None else float(ladder[one.first]) for one in traces], meets)


def _quantiles(each: Sequence[float], meets: float) -> Band:
    low, high = np.quantile(each, QUANTILES, method="nearest")
    return Band(float(low), float(high), tuple(each), meets)


def _new(scenario: Scenario, draw: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return what a draw says beside what the scenario itself assumes."""
    given = dict(scenario.machine.assume)
    return [pair for pair in draw if pair[0] not in given]


def _seconds(results: Sequence[Result]) -> list[float]:
    return [(one.results["Step time [ms]"] or np.nan) * MS if one.ran else np.nan for one in results]
