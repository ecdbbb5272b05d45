"""Full runs of many design points at once, where neither training nor a fault makes them differ from each other.

What their batches touch is counted once for all points with the same data, what a cache moves once for each cache; each
point then costs one schedule. A point that trains, is struck, or reads a file runs by itself.
"""

from collections.abc import Iterator, Sequence

from .core.process import single_thread
from .errors import Cancelled, EmberpoolError
from .results.explanation import unscheduled_result
from .results.result import Result
from .results.undisturbed import planned, undisturbed_results
from .run.progress import Meter, Watcher
from .scenario.scenario import Scenario
from .schedule.evaluate import RUNS, TIMELINES, DesignPoint, NotScheduled, Observed, design_point, evaluate
from .simulate import simulate


def runs(scenarios: Sequence[Scenario], tables: bool = False, progress: Watcher | None = None) -> list[Result]:
    """Run many scenarios in full, in order, as `simulate` does, to the bit; results have tables if these are asked for.

    A scenario that is refused gives a result that did not run, without numbers, and with the sentence as its outcome.
    `progress` sees how far the counting of the points is, and stops all of them by answering True (Cancelled).
    """
    meter = Meter(progress, sum(scenario.run.batches for scenario in scenarios))

    def planned_or_run(scenario: Scenario) -> DesignPoint | Result | NotScheduled:
        try:
            if goes_along(scenario):
                return design_point(scenario, lambda settled: planned(settled, on_progress=meter.step))
            return simulate(scenario, progress=progress)
        except Cancelled:
            raise
        except EmberpoolError as error:
            return NotScheduled(scenario, error=error)

    def render(points: Sequence[DesignPoint], observed: Observed) -> Iterator[Result]:
        for point, found in zip(points, undisturbed_results(points, observed), strict=True):
            yield found or simulate(point.scenario, progress=progress)

    with single_thread():
        what = TIMELINES if tables else RUNS
        found = evaluate(map(planned_or_run, scenarios), render, what, lambda: meter.step("scheduling", False))
    return [unscheduled_result(one) if isinstance(one, NotScheduled) else one for one in found]


def goes_along(scenario: Scenario) -> bool:
    """Return whether a scenario's full run can go together with others."""
    return not scenario.run.training and not scenario.data.digest
