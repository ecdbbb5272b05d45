"""Full runs of many design points at once, where neither training nor a fault makes them differ from each other.

What their batches touch is counted once for all points with the same data, what a cache moves once for each cache; each
point then costs one schedule. A point that trains, is struck, or reads a file runs by itself.
"""

from collections.abc import Sequence

from engine.calm import calm, planned, told
from engine.errors import Cancelled, CannotRun, EmberpoolError
from engine.meter import Meter
from engine.progress import Watcher
from engine.result import Result
from engine.scenario import Scenario
from engine.simulate import simulate
from engine.single_thread import single_thread
from engine.story import cannot_run
from engine.together import RUNS, TIMELINES, Point, Refused, each, ready


def runs(scenarios: Sequence[Scenario], tables: bool = False, progress: Watcher | None = None) -> list[Result]:
    """Run many scenarios in full, in order, as `simulate` does, to the bit; results have tables if these are asked for.

    A scenario that is refused gives a result that did not run, without numbers, and with the sentence as its outcome.
    `progress` is told how far the counting of the points is, and stops all of them by answering True (Cancelled).
    """
    meter = Meter(progress, sum(scenario.run.batches for scenario in scenarios))

    def asked(scenario: Scenario) -> Point | Result | Refused:
        try:
            if goes_along(scenario):
                return ready(scenario, lambda s, system: planned(s, system, hear=meter.step))
            return simulate(scenario)
        except Cancelled:
            raise
        except EmberpoolError as error:
            return Refused(scenario, error)

    with single_thread():
        what = TIMELINES if tables else RUNS
        found = each(map(asked, scenarios), told, what, lambda: meter.step("scheduling", False))
    return [_settled(one) if isinstance(one, Refused) else one for one in found]


def along(scenarios: Sequence[Scenario], progress: Watcher | None = None) -> list[Result | None]:
    """Run in full, with tables, those scenarios that can go together; None stands for the others."""
    together = [i for i, scenario in enumerate(scenarios) if goes_along(scenario)]
    found: list[Result | None] = [None] * len(scenarios)
    for i, result in zip(together, runs([scenarios[i] for i in together], True, progress), strict=True):
        found[i] = result
    return found


def goes_along(scenario: Scenario) -> bool:
    """Return whether a scenario's full run can go together with others."""
    return not scenario.data.digest and calm(scenario)


def _settled(one: Refused) -> Result:
    return cannot_run(one.asked, (str(one.error),)) if isinstance(one.error, CannotRun) else one.result
