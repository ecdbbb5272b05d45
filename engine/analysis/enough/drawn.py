"""How sure the answer is: the same search for each draw of the constants, those of the bands of `uncertainty`.

The baseline takes the same draw, so that what both machines share moves both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...estimates import step_seconds
from ...insight.knob_stops import CAPACITY
from ...insight.relaxation import LINK
from ...scenario.scenario import Scenario, with_checked, with_values
from ...schedule.machine import settle
from ..uncertainty import QUANTILES, SAMPLES, draws
from .ladder import links_of, modules_of, narrow
from .question import Question
from .smallest import Enough, Found, changes_of

ASSUME = "machine.assume"


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


def bands(answer: Enough, samples: int = SAMPLES) -> Bands:
    """Return the answer's bands, from so many draws."""
    q = answer.question
    asked, base = q.scenario, settle(q.baseline.scenario).scenario if q.baseline.ran else q.baseline.scenario
    best = with_values(asked, answer.both.machine.changes)
    drawn = draws(asked, samples, best, base)
    timed = q.target.milliseconds is not None
    references = [q.reference] * samples if timed else step_seconds(_assuming(base, one) for one in drawn)
    d = Drawn(q, tuple(_assuming(asked, one).machine.assume for one in drawn), tuple(references))
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
    made: dict[int, Scenario] = {}

    def steps(pairs: Sequence[tuple[int, int]]) -> list[float]:
        for rung in {rung for _, rung in pairs} - made.keys():
            made[rung] = with_values(drawn.question.scenario, machine(ladder[rung]))
        return step_seconds(with_checked(made[rung], {ASSUME: drawn.assumed[draw]}) for draw, rung in pairs)

    goals = [drawn.question.goal_of(reference) for reference in drawn.references]
    own = ladder.index(found.machine.modules if isinstance(ladder, range) else found.machine.gbps)
    if found.meets:
        traces = narrow(own, ladder, steps, goals)
        seconds = [one.seconds[own] for one in traces]
        each = [float("inf") if one.first is None else float(ladder[one.first]) for one in traces]
    else:
        seconds = steps([(draw, own) for draw in range(len(goals))])
        each = [one / reference for one, reference in zip(seconds, drawn.references, strict=True)]
    low, high = np.quantile(each, QUANTILES, method="nearest")
    meets = float(np.mean([one <= goal for one, goal in zip(seconds, goals, strict=True)]))
    return Band(float(low), float(high), tuple(each), meets)


def _assuming(scenario: Scenario, draw: Mapping[str, float]) -> Scenario:
    """Return the scenario with a draw assumed, beside what it assumes itself."""
    return with_values(scenario, {ASSUME: tuple({**draw, **dict(scenario.machine.assume)}.items())})
