"""Full runs of many design points at once, for points without training and faults.

The rows of batches are counted once for all points with the same data, and the transfers of a cache once for each cache. Each
further point then costs one schedule. A point that trains, has faults, or reads a file runs by itself.
"""

from collections.abc import Iterator, Sequence

from .core.arithmetic import total
from .core.process import single_thread
from .errors import Cancelled, EmberpoolError
from .results.explanation import unscheduled_result
from .results.result import Result
from .results.undisturbed import planned_batches, undisturbed_results
from .run.progress import Meter, Watcher
from .scenario.scenario import Scenario
from .schedule.evaluate import RUNS, TIMELINES, DesignPoint, NotScheduled, Observations, design_point, evaluate
from .simulate import simulate


def full_runs(scenarios: Sequence[Scenario], tables: bool = False, progress: Watcher | None = None) -> list[Result]:
    """Run many scenarios in full, in order, with results bit-identical to those of `simulate`.

    tables: whether results have tables. For a refused scenario the result has no numbers, and its outcome is the sentence of the
    refusal. `progress` is called with the progress of the counting; if it returns True, all runs stop with Cancelled.
    """
    meter = Meter(progress, total(scenario.run.batches for scenario in scenarios))

    def planned_or_run(scenario: Scenario) -> DesignPoint | Result | NotScheduled:
        try:
            if can_run_together(scenario):
                return design_point(scenario, lambda settled: planned_batches(settled, on_progress=meter.step))
            return simulate(scenario, progress=progress)
        except Cancelled:
            raise
        except EmberpoolError as error:
            return NotScheduled(scenario, error=error)

    def render(points: Sequence[DesignPoint], observed: Observations) -> Iterator[Result]:
        for point, result in zip(points, undisturbed_results(points, observed), strict=True):
            yield result or simulate(point.scenario, progress=progress)

    with single_thread():
        detail = TIMELINES if tables else RUNS
        outcomes = evaluate(map(planned_or_run, scenarios), render, detail, lambda: meter.step("scheduling", False))
    return [unscheduled_result(outcome) if isinstance(outcome, NotScheduled) else outcome for outcome in outcomes]


def can_run_together(scenario: Scenario) -> bool:
    """Return whether a scenario's full run can be computed together with others."""
    return not scenario.run.training and not scenario.data.digest
