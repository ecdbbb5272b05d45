"""Estimates of many design points at once: what points share is computed once, the rest for all of them in one kernel.

A point is settled, given its devices and its plan, each of them remembered by the knobs that it depends on (`core/memo.py`);
points with the same plan are then scheduled and averaged together. One point alone goes the same way.
"""

from collections.abc import Iterable, Sequence

from .amounts.expected import expected_amounts
from .core import process
from .core.memo import remembered
from .registry import load
from .results.explanation import ESTIMATED, passes, report_result, unscheduled_result
from .results.ledger import RunLedger, undisturbed_ledger
from .results.report import Report
from .results.result import Result
from .scenario.scenario import Scenario
from .schedule.evaluate import AVERAGES, DesignPoint, NotScheduled, Observed, PlannedBatches, design_point, evaluate, plan
from .schedule.machine import window
from .schedule.steady_state import Steady
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
    return evaluate((design_point(scenario, _planned) for scenario in scenarios), _result, what)


def _result(point: DesignPoint, observed: Observed) -> Result:
    scenario, line = point.scenario, observed.whole.line if observed.whole else None
    guessed = f"Estimated with the generator's popularity {scenario.data.popularity!r}; a full run counts the file's own ids."
    notes = (*((guessed,) if scenario.data.digest else ()), *passes(scenario))
    return report_result(scenario, _report(point, observed), ESTIMATED, notes, line)


@remembered(most=256)
def _planned(s: Scenario, system: str) -> PlannedBatches:
    amounts = expected_amounts(s, system)
    batches = window(log_policy(s, load("systems", system)))
    return plan(s, system, amounts, repeated(amounts, batches))


def _report(point: DesignPoint, observed: Observed) -> Report:
    """Scale the steady state to the scenario's number of batches."""
    m, average = point.machine, observed.average
    batches = m.scenario.run.batches
    return Report(
        machine=m,
        amounts=point.plan.amounts,
        steady=average,
        stale=observed.stale,
        batches=batches,
        elapsed=average.step * batches,
        static={name: joules * batches for name, joules in average.static.items()},
        dynamic={name: joules * batches for name, joules in average.dynamic.items()},
        busy={name: seconds * batches for name, seconds in average.busy.items()},
        pmem_written=average.written * batches,
        pmem_media_written=average.media_written * batches,
        ledger=_books(average, batches),
    )


def _books(average: Steady, batches: int) -> RunLedger:
    logs = sum([joules for stage, _, _, _, joules in average.cells if stage == "Checkpoint"])
    waits = average.stage("Checkpoint")
    joules = logs + waits * sum(average.static.values()) / average.step
    return undisturbed_ledger(average.step * batches, waits * batches, average.energy * batches, joules * batches)
