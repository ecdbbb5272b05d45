"""Estimates of many design points at once, with shared stages computed once.

A point gets its settled knobs, its devices and its plan, each remembered by the knobs that it depends on (`core/memo.py`);
points with the same plan are then scheduled and averaged together. A single point takes the same way.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import nan

import numpy as np

from .amounts.expected import deal_batches, expected_amounts, unlike_batch_shares
from .core.memo import memoised
from .hardware.prices import unpriced_sentences
from .results.explanation import ESTIMATED, passes_note, report_results, rounded_up_note, too_late_notes, unscheduled_result
from .results.report import undisturbed_report
from .results.result import Result
from .scenario.scenario import Scenario
from .scenario.sequences import sequence_notes
from .schedule.evaluate import RUNS, DesignPoint, NotScheduled, Observations, PlannedBatches, design_point, evaluate, plan
from .schedule.steady_state import Steady
from .schedule.window import run_window
from .systems.system import Settled, system_of


def estimates(scenarios: Sequence[Scenario]) -> list[Result]:
    """Return the estimates of many scenarios in order, without tables, which `estimate` of one has.

    A scenario that is refused gives a result that did not run, without numbers, and with the sentence as its outcome.
    """
    return [unscheduled_result(result) if isinstance(result, NotScheduled) else result for result in results(scenarios, RUNS)]


def results(scenarios: Iterable[Scenario], detail: int) -> list[Result | NotScheduled]:
    """Return each scenario's steady state as a result, or why there is none.

    Timelines give tables.
    """
    return evaluate(design_points(scenarios), _results, detail)


def design_points(scenarios: Iterable[Scenario]) -> Iterator[DesignPoint | NotScheduled]:
    """Yield each scenario as a design point, or why it cannot be scheduled."""
    return (design_point(scenario, _planned_batches) for scenario in scenarios)


def steady_states(scenarios: Iterable[Scenario]) -> list[Steady | NotScheduled]:
    """Return each scenario's averages in the steady state, or why there are none."""
    return evaluate(design_points(scenarios), averages_of_points)


def averages_of_points(points: Sequence[DesignPoint], observed: Observations) -> list[Steady]:
    """Return the averages of points that were observed together, one for each point."""
    return [observed.average.point(i) for i in range(len(points))]


def step_seconds(scenarios: Iterable[Scenario]) -> list[float]:
    """Return each scenario's seconds of a batch, NaN where it cannot run."""
    steps = evaluate(design_points(scenarios), lambda points, observed: np.atleast_1d(observed.average.step).tolist())
    return [nan if isinstance(seconds, NotScheduled) else float(seconds) for seconds in steps]


def _results(points: Sequence[DesignPoint], observed: Observations) -> list[Result]:
    if observed.uncut_runs is None:
        raise ValueError("whole runs have to be observed.")
    scenarios = [point.scenario for point in points]
    batches = np.array([scenario.run.batches for scenario in scenarios])
    report = undisturbed_report(points, observed, observed.uncut_runs, batches)
    models = {
        id(s.model): s for s in scenarios
    }  # few models: a check of 856 tables for each point would take a tenth of its time
    cautions = {key: sequence_notes(s) for key, s in models.items()}
    notes = [
        (*cautions[id(point.scenario.model)], *_notes(point, seconds))
        for point, seconds in zip(points, observed.uncut_runs.elapsed.tolist(), strict=True)
    ]
    return report_results(scenarios, report, ESTIMATED, notes, observed.uncut_runs.timelines)


def _notes(point: DesignPoint, elapsed: float) -> tuple[str, ...]:
    s = point.scenario
    guessed = f"The estimate uses the generator's popularity {s.data.popularity!r}; a full run counts the ids of the file."
    return (
        *((guessed,) if s.data.digest else ()),
        *passes_note(s),
        *rounded_up_note(s, point.machine),
        *unpriced_sentences(s.machine, point.machine.devices),
        *too_late_notes(s, elapsed),
    )


def _planned_batches(settled: Settled) -> PlannedBatches:
    """Return the planned batches of a scenario.

    The MLP log's bound on age is at most the run's length.
    """
    staleness_bound, batches = settled.scenario.policy.mlp_staleness_bound_batches or 0, settled.scenario.run.batches
    if staleness_bound > batches:
        settled = replace(settled, log_policy=replace(settled.log_policy, mlp_staleness_bound=batches))
    return _laid_out(settled)


@memoised(most=256, by=system_of)
def _laid_out(settled: Settled) -> PlannedBatches:
    amounts, samples = expected_amounts(settled), settled.scenario.data.batch_size
    batches, stretch = run_window(settled.log_policy, settled.scenario.run.batches, unlike_batch_shares(amounts, samples))
    return plan(settled, amounts, deal_batches(amounts, samples, batches), stretch)
