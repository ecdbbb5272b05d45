"""How sure the answer is: the same search for each draw of the constants, those of the bands of `uncertainty`.

The baseline takes the same draw, so that what both machines share moves both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...estimates import step_seconds
from ...insight.relaxation import LINK
from ...scenario.scenario import Scenario, with_checked, with_values
from ...schedule.machine import sized_scenario
from ..uncertainty import QUANTILES, SAMPLES, draws
from .ladder import links_of, module_knobs, modules_of, narrow
from .question import Question
from .smallest import Enough, Found

ASSUME = "machine.assume"
Assumed = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Band:
    """The 5 % and 95 % quantiles over draws: of the smallest value, infinite where none is enough; or of the nearest ratio."""

    low: float
    high: float


@dataclass(frozen=True)
class Bands:
    """Bands of the modules, of the link in GB/s, and of the cheapest machine's modules beside its own link.

    Where a target is out of reach its band is of how many times as long as the reference the nearest machine's step is.
    """

    capacity: Band | None
    bandwidth: Band | None
    both: Band | None


def bands(answer: Enough, samples: int = SAMPLES) -> Bands:
    """Return the answer's bands, from so many draws."""
    q, machine = answer.question, answer.both.machine
    asked, base = q.scenario, sized_scenario(q.baseline.scenario) if q.baseline.ran else q.baseline.scenario
    drawn = draws(asked, samples, with_values(asked, machine.changes), base)
    timed = q.target.milliseconds is not None
    references = [q.reference] * samples if timed else step_seconds(_assuming(base, one) for one in drawn)
    counts, links = range(1, modules_of(asked) + 1), links_of(asked)
    band = partial(_band, q, [_assuming(asked, one).machine.assume for one in drawn], references)
    return Bands(
        band(answer.capacity, counts, lambda count: module_knobs(asked, int(count))),
        band(answer.bandwidth, links, lambda gbps: {LINK: gbps}),
        band(answer.both, counts, lambda count: {**machine.changes, **module_knobs(asked, int(count))})
        if counts
        else band(answer.both, links, lambda gbps: {**machine.changes, LINK: gbps}),
    )


def _band(
    q: Question,
    assumed: Sequence[Assumed],
    references: Sequence[float],
    found: Found | None,
    ladder: Sequence[float],
    changes: Callable[[float], Mapping[str, Any]],
) -> Band | None:
    """Search the ladder for every draw; where the answer misses its target, take that machine alone."""
    if found is None or not ladder or not found.machine.result.ran:
        return None
    made: dict[int, Scenario] = {}

    def steps(pairs: Sequence[tuple[int, int]]) -> list[float]:
        for rung in {rung for _, rung in pairs} - made.keys():
            made[rung] = with_values(q.scenario, changes(ladder[rung]))
        return step_seconds(with_checked(made[rung], {ASSUME: assumed[draw]}) for draw, rung in pairs)

    own = ladder.index(found.machine.modules if isinstance(ladder, range) else found.machine.gbps)
    if found.meets:
        firsts = (one.first for one in narrow(own, ladder, steps, [q.goal_of(reference) for reference in references]))
        each = [float("inf") if first is None else float(ladder[first]) for first in firsts]
    else:
        seconds = steps([(draw, own) for draw in range(len(references))])
        each = [one / reference for one, reference in zip(seconds, references, strict=True)]
    low, high = np.quantile(each, QUANTILES, method="nearest")
    return Band(float(low), float(high))


def _assuming(scenario: Scenario, draw: Mapping[str, float]) -> Scenario:
    """Return the scenario with a draw assumed, beside what it assumes itself."""
    return with_values(scenario, {ASSUME: tuple({**draw, **dict(scenario.machine.assume)}.items())})
