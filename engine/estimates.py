"""Estimates of many design points at once: what points share is computed once, the rest for all of them in one kernel.

A point is settled, given its devices and its plan, each of them remembered by the knobs that it depends on (`core/memo.py`);
points with the same plan are then scheduled and averaged together. One point alone goes the same way.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import nan

import numpy as np

from .amounts.expected import dealt, expected_amounts, unlike
from .core.memo import remembered
from .hardware.prices import unpriced
from .results.explanation import ESTIMATED, passes, report_results, rounded_up, too_late, unscheduled_result
from .results.report import undisturbed_report
from .results.result import Result
from .scenario.scenario import Scenario
from .scenario.sequences import sequence_notes
from .schedule.evaluate import RUNS, DesignPoint, NotScheduled, Observed, PlannedBatches, design_point, evaluate, plan
from .schedule.steady_state import Steady
from .schedule.window import run_window
from .systems.system import Settled, system_of


def estimates(scenarios: Sequence[Scenario]) -> list[Result]:
    """Estimate many scenarios, in order; results are without tables, which `estimate` of one makes.

    A scenario that is refused gives a result that did not run, without numbers, and with the sentence as its outcome.
    """
    return [unscheduled_result(one) if isinstance(one, NotScheduled) else one for one in results(scenarios, RUNS)]


def results(scenarios: Iterable[Scenario], what: int) -> list[Result | NotScheduled]:
    """Return each scenario's steady state as a result, with tables if timelines are observed, or why there is none."""
    return evaluate(design_points(scenarios), _results, what)


def design_points(scenarios: Iterable[Scenario]) -> Iterator[DesignPoint | NotScheduled]:
    """Yield each scenario ready to be scheduled, or why it cannot be."""
    return (design_point(scenario, _planned) for scenario in scenarios)


def steady_states(scenarios: Iterable[Scenario]) -> list[Steady | NotScheduled]:
    """Return each scenario's averages alone, or why there are none."""
    return evaluate(design_points(scenarios), averages)


def averages(points: Sequence[DesignPoint], seen: Observed) -> list[Steady]:
    """Return the averages of points that were observed together, one by one."""
    return [seen.average.at(i) for i in range(len(points))]


def step_seconds(scenarios: Iterable[Scenario]) -> list[float]:
    """Return each scenario's seconds of a batch alone, NaN where it cannot run."""
    steps = evaluate(design_points(scenarios), lambda points, seen: np.atleast_1d(seen.average.step).tolist())
    return [nan if isinstance(one, NotScheduled) else float(one) for one in steps]


def _results(points: Sequence[DesignPoint], seen: Observed) -> list[Result]:
    if seen.whole is None:
        raise ValueError("whole runs have to be observed.")
    scenarios = [point.scenario for point in points]
    batches = np.array([scenario.run.batches for scenario in scenarios])
    report = undisturbed_report(points, seen, seen.whole, batches)
    models = {id(s.model): s for s in scenarios}  # few: looking at 856 tables of each point anew takes a tenth of its time
    cautions = {key: sequence_notes(s) for key, s in models.items()}
    notes = [
        (*cautions[id(point.scenario.model)], *_notes(point, seconds))
        for point, seconds in zip(points, seen.whole.elapsed.tolist(), strict=True)
    ]
    return report_results(scenarios, report, ESTIMATED, notes, seen.whole.lines)


def _notes(point: DesignPoint, elapsed: float) -> tuple[str, ...]:
    s = point.scenario
    guessed = f"Estimated with the generator's popularity {s.data.popularity!r}; a full run counts the file's own ids."
    return (
        *((guessed,) if s.data.digest else ()),
        *passes(s),
        *rounded_up(s, point.machine),
        *unpriced(s.machine, point.machine.devices),
        *too_late(s, elapsed),
    )


def _planned(settled: Settled) -> PlannedBatches:
    """Plan a scenario's batches; an MLP log that may be older than the run is planned as one as old as the run."""
    asked, batches = settled.scenario.policy.mlp_staleness_bound_batches or 0, settled.scenario.run.batches
    if asked > batches:
        settled = replace(settled, log_policy=replace(settled.log_policy, mlp_staleness_bound=batches))
    return _laid_out(settled)


@remembered(most=256, by=system_of)
def _laid_out(settled: Settled) -> PlannedBatches:
    amounts, samples = expected_amounts(settled), settled.scenario.data.batch_size
    batches, stretch = run_window(settled.log_policy, settled.scenario.run.batches, unlike(amounts, samples))
    return plan(settled, amounts, dealt(amounts, samples, batches), stretch)
