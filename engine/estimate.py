"""The instant estimate: expected accesses instead of ids, the same systems, devices and schedule, no training."""

from dataclasses import replace

from .estimates import as_result, reports
from .results.explanation import infeasible_result
from .results.report import Report
from .results.result import Result
from .results.tables import device_rows, timeline_rows
from .scenario.scenario import Scenario
from .schedule.evaluate import Misfit, RefusedScenario
from .schedule.machine import expected_line


def estimate(scenario: Scenario) -> Result:
    """Estimate a scenario's steady state in milliseconds of computing; faults and training are left out.

    What cannot run comes back as a result that says why; BadKnob is raised for a policy that the system cannot have.
    """
    (found,) = reports([scenario], _with_tables)
    if isinstance(found, RefusedScenario):
        raise found.error
    return infeasible_result(found.scenario, found.problems) if isinstance(found, Misfit) else found


def _with_tables(scenario: Scenario, report: Report) -> Result:
    return replace(
        as_result(scenario, report),
        breakdown=report.steady.rows,
        devices=device_rows(report),
        ledger=report.ledger.rows,
        timeline=timeline_rows(expected_line(report.machine)),
    )
