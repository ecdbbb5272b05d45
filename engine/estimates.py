"""Estimates of many design points at once: what points share is computed once, the rest for all of them in one kernel.

A point is settled, given its devices and its plan, each of them remembered by the knobs that it depends on (`core/memo.py`);
points with the same plan are then scheduled and averaged together. One point alone goes the same way.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat
from math import nan

import numpy as np

from .amounts.expected import expected_amounts
from .core import process
from .core.arrays import Number
from .core.memo import remembered
from .registry import load
from .results.explanation import ESTIMATED, passes, report_results, rounded_up, too_late, unscheduled_result
from .results.report import undisturbed_report
from .results.result import Result
from .scenario.scenario import Scenario
from .schedule.evaluate import AVERAGES, DesignPoint, NotScheduled, Observed, PlannedBatches, Whole, design_point, evaluate, plan
from .schedule.machine import window
from .schedule.steady_state import Steady
from .schedule.timeline import Worked
from .systems.system import log_policy
from .systems.traffic import steady as repeated

process.without_scipy()


def estimates(scenarios: Sequence[Scenario]) -> list[Result]:
    """Estimate many scenarios, in order; results are without tables, which `estimate` of one makes.

    A scenario that is refused gives a result that did not run, without numbers, and with the sentence as its outcome.
    """
    return [unscheduled_result(one) if isinstance(one, NotScheduled) else one for one in results(scenarios, AVERAGES)]


def results(scenarios: Iterable[Scenario], what: int) -> list[Result | NotScheduled]:
    """Return each scenario's steady state as a result, with tables if timelines are observed, or why there is none."""
    return evaluate((design_point(scenario, _planned) for scenario in scenarios), _results, what)


def steady_states(scenarios: Iterable[Scenario]) -> list[Steady | NotScheduled]:
    """Return each scenario's averages alone, or why there are none."""
    found = (design_point(scenario, _planned) for scenario in scenarios)
    return evaluate(found, lambda points, seen: [seen.average.at(i) for i in range(len(points))])


def step_seconds(scenarios: Iterable[Scenario]) -> list[float]:
    """Return each scenario's seconds of a batch alone, NaN where it cannot run."""
    found = (design_point(scenario, _planned) for scenario in scenarios)
    steps = evaluate(found, lambda points, seen: np.atleast_1d(seen.average.step).tolist())
    return [nan if isinstance(one, NotScheduled) else float(one) for one in steps]


def _results(points: Sequence[DesignPoint], seen: Observed) -> list[Result]:
    scenarios = [point.scenario for point in points]
    batches = np.array([scenario.run.batches for scenario in scenarios])
    report = undisturbed_report(points, seen, _scaled(seen.average, batches), batches)
    lines = seen.whole.lines if seen.whole else repeat(None)
    notes = [_notes(point, step) for point, step in zip(points, np.atleast_1d(seen.average.step).tolist(), strict=True)]
    return report_results(scenarios, report, ESTIMATED, notes, lines)


def _notes(point: DesignPoint, step: float) -> tuple[str, ...]:
    s = point.scenario
    guessed = f"Estimated with the generator's popularity {s.data.popularity!r}; a full run counts the file's own ids."
    return (
        *((guessed,) if s.data.digest else ()),
        *passes(s),
        *rounded_up(s, point.machine),
        *too_late(s, s.run.batches * step, step),
    )


@remembered(most=256)
def _planned(s: Scenario, system: str) -> PlannedBatches:
    amounts = expected_amounts(s, system)
    batches = window(log_policy(s, load("systems", system)))
    return plan(s, system, amounts, repeated(amounts, batches))


def _scaled(average: Steady, batches: Number) -> Whole:
    """Scale steady states to so many batches."""
    busy, joules = (np.array([*some.values()]) * batches for some in (average.busy, average.dynamic))
    work = Worked(busy, joules, average.written * batches, average.media_written * batches)
    logs = sum([joules for stage, _, _, _, joules in average.cells if stage == "Checkpoint"])
    return Whole(average.step * batches, work, average.stage("Checkpoint") * batches, logs * batches)
