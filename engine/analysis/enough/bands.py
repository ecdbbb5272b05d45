"""Bands of the answer: the search is repeated for each draw of the uncertain constants.

The baseline gets the same draw, so that a constant of both machines changes both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...estimates import step_seconds
from ...insight.relaxation import LINK
from ...scenario.scenario import Scenario, with_checked_values, with_values
from ...schedule.machine import sized_scenario
from ..uncertainty import QUANTILES, SAMPLES, draws
from .ladder import links_of, module_knobs, modules_of, search_near
from .question import TargetQuestion
from .smallest import SmallestMachine, SmallestMachines

ASSUME = "machine.assume"
Assumptions = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class DrawBand:
    """The 5 % and 95 % quantiles of an answer over draws of the constants.

    The answer is the smallest value that meets the target, infinite where no value does. If the target is out of reach, it is the
    nearest machine's step divided by the reference.
    """

    low: float
    high: float


@dataclass(frozen=True)
class Bands:
    """Bands of the three answers; None for an answer that is not asked.

    capacity: band of the number of modules.
    bandwidth: band of the link [GB/s].
    cheapest: band of the cheapest machine's modules at its own link; of its link without PMEM.
    Where a target is out of reach, the band is of the nearest machine's step divided by the reference.
    """

    capacity: DrawBand | None
    bandwidth: DrawBand | None
    cheapest: DrawBand | None


def bands(answer: SmallestMachines, samples: int = SAMPLES) -> Bands:
    """Return the bands of an answer over `samples` draws of the constants."""
    q, machine = answer.question, answer.cheapest.machine
    scenario, base = q.scenario, sized_scenario(q.baseline.scenario) if q.baseline.ran else q.baseline.scenario
    sample_draws = draws(scenario, samples, with_values(scenario, machine.changes), base)
    timed = q.target.milliseconds is not None
    references = [q.reference] * samples if timed else step_seconds(_assuming(base, draw) for draw in sample_draws)
    counts, links = range(1, modules_of(scenario) + 1), links_of(scenario)
    band = partial(_band, q, [_assuming(scenario, draw).machine.assume for draw in sample_draws], references)
    return Bands(
        band(answer.capacity, counts, lambda count: module_knobs(scenario, int(count))),
        band(answer.bandwidth, links, lambda gbps: {LINK: gbps}),
        band(answer.cheapest, counts, lambda count: {**machine.changes, **module_knobs(scenario, int(count))})
        if counts
        else band(answer.cheapest, links, lambda gbps: {**machine.changes, LINK: gbps}),
    )


def _band(
    q: TargetQuestion,
    assumptions: Sequence[Assumptions],
    references: Sequence[float],
    smallest: SmallestMachine | None,
    ladder: Sequence[float],
    changes: Callable[[float], Mapping[str, Any]],
) -> DrawBand | None:
    """Search the ladder for every draw; where the answer misses its target, take that machine alone."""
    if smallest is None or not ladder or not smallest.machine.result.ran:
        return None
    scenario_by_rung: dict[int, Scenario] = {}

    def steps(pairs: Sequence[tuple[int, int]]) -> list[float]:
        for rung in {rung for _, rung in pairs} - scenario_by_rung.keys():
            scenario_by_rung[rung] = with_values(q.scenario, changes(ladder[rung]))
        return step_seconds(with_checked_values(scenario_by_rung[rung], {ASSUME: assumptions[draw]}) for draw, rung in pairs)

    start_rung = ladder.index(smallest.machine.modules if isinstance(ladder, range) else smallest.machine.gbps)
    if smallest.meets:
        first_rungs = (
            trace.first_rung
            for trace in search_near(start_rung, ladder, steps, [q.goal_of(reference) for reference in references])
        )
        drawn_values = [float("inf") if first_rung is None else float(ladder[first_rung]) for first_rung in first_rungs]
    else:
        seconds = steps([(draw, start_rung) for draw in range(len(references))])
        drawn_values = [step / reference for step, reference in zip(seconds, references, strict=True)]
    low, high = np.quantile(drawn_values, QUANTILES, method="nearest")
    return DrawBand(float(low), float(high))


def _assuming(scenario: Scenario, draw: Mapping[str, float]) -> Scenario:
    """Return the scenario with a draw assumed; its own assumptions stay."""
    return with_values(scenario, {ASSUME: tuple({**draw, **dict(scenario.machine.assume)}.items())})
