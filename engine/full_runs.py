"""Full runs of many design points at once, where neither training nor a fault makes them differ from each other.

What their batches touch is counted once for all points with the same data, what a cache moves once for each cache; each
point then costs one schedule. A point that trains, is struck, or reads a file runs by itself.
"""

from collections.abc import Sequence

from .core.threads import single_thread
from .errors import Cancelled, CannotRun, EmberpoolError
from .results.explanation import infeasible_result, unscheduled_result
from .results.result import Result
from .results.undisturbed import is_undisturbed, planned, undisturbed_result
from .run.progress import Meter, Watcher
from .scenario.scenario import Scenario
from .schedule.evaluate import RUNS, TIMELINES, DesignPoint, Misfit, Observed, RefusedScenario, each, ready
from .simulate import simulate


def runs(scenarios: Sequence[Scenario], tables: bool = False, progress: Watcher | None = None) -> list[Result]:
    """Run many scenarios in full, in order, as `simulate` does, to the bit; results have tables if these are asked for.

    A scenario that is refused gives a result that did not run, without numbers, and with the sentence as its outcome.
    `progress` is told how far the counting of the points is, and stops all of them by answering True (Cancelled).
    """
    meter = Meter(progress, sum(scenario.run.batches for scenario in scenarios))

    def asked(scenario: Scenario) -> DesignPoint | Result | Misfit | RefusedScenario:
        try:
            if goes_along(scenario):
                return ready(scenario, lambda s, system: planned(s, system, hear=meter.step))
            return simulate(scenario, progress=progress)
        except Cancelled:
            raise
        except EmberpoolError as error:
            return RefusedScenario(scenario, error)

    def tell(point: DesignPoint, seen: Observed) -> Result:
        return undisturbed_result(point, seen) if is_undisturbed(point, seen) else simulate(point.asked, progress=progress)

    with single_thread():
        what = TIMELINES if tables else RUNS
        found = each(map(asked, scenarios), tell, what, lambda: meter.step("scheduling", False))
    return [_settled(one) if isinstance(one, Misfit | RefusedScenario) else one for one in found]


def goes_along(scenario: Scenario) -> bool:
    """Return whether a scenario's full run can go together with others."""
    return not scenario.run.training and not scenario.data.digest


def _settled(one: Misfit | RefusedScenario) -> Result:
    if isinstance(one, RefusedScenario) and isinstance(one.error, CannotRun):
        return infeasible_result(one.asked, (str(one.error),))
    return unscheduled_result(one)
