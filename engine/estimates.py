"""Estimates of many design points at once; stages that points share are computed once.

A stage is the settling of knobs, the making of devices, or the planning of tasks; `core/memo.py` remembers its result by the
knobs that the stage depends on. Points with the same plan are then scheduled and averaged together. A single point takes the
same steps.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import nan

import numpy as np

from .amounts.expected import deal_batches, expected_amounts, unlike_batch_shares
from .core.memo import memoised
from .hardware.framework import agreement_sentences
from .hardware.money.prices import unpriced_sentences
from .results.explanation import ESTIMATED, passes_note, report_results, rounded_up_note, too_late_notes, unscheduled_result
from .results.report import undisturbed_report
from .results.result import Result
from .scenario.scenario import Scenario
from .scenario.sequences import sequence_notes
from .schedule import together
from .schedule.evaluate import RUNS, DesignPoint, NotScheduled, Observations, PlannedBatches, evaluate, plan
from .schedule.steady_state import Steady
from .schedule.window import run_window
from .systems.buildable import spare_gpus_note
from .systems.system import Settled, system_of


def estimates(scenarios: Sequence[Scenario]) -> list[Result]:
    """Return the estimates of many scenarios in order, without the tables of `estimate`.

    For a refused scenario the result has no numbers, and its outcome is the sentence of the refusal.
    """
    return [unscheduled_result(result) if isinstance(result, NotScheduled) else result for result in results(scenarios, RUNS)]


def results(scenarios: Iterable[Scenario], detail: int) -> list[Result | NotScheduled]:
    """Return each scenario's steady state as a result, or the reason why there is none.

    detail: AVERAGES, RUNS or TIMELINES of `schedule.evaluate`; results have tables with TIMELINES.
    """
    return evaluate(design_points(scenarios), _results, detail)


def design_points(scenarios: Iterable[Scenario]) -> Iterator[DesignPoint | NotScheduled]:
    """Yield a design point for each scenario, or the reason why it cannot be scheduled."""
    return together.design_points(scenarios, _planned_batches)


def steady_states(scenarios: Iterable[Scenario]) -> list[Steady | NotScheduled]:
    """Return each scenario's averages in the steady state, or the reason for their absence."""
    return evaluate(design_points(scenarios), averages_of_points)


def averages_of_points(points: Sequence[DesignPoint], observed: Observations) -> list[Steady]:
    """Return the averages of each point, from points that were scheduled together."""
    return [observed.average.point(i) for i in range(len(points))]


def step_seconds(scenarios: Iterable[Scenario]) -> list[float]:
    """Return each scenario's seconds of a batch, NaN where the scenario cannot run."""
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
        *spare_gpus_note(point.machine.scenario.machine, point.machine.devices),
        *agreement_sentences(s.machine),
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
