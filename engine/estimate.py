"""The instant estimate: expected accesses instead of ids, the same systems, devices and schedule, no training."""

from dataclasses import replace

from engine.errors import EmberpoolError
from engine.expected import expected_line
from engine.many import reports, told
from engine.result import Result
from engine.scenario import Scenario
from engine.tables import device_rows, timeline_rows


def estimate(scenario: Scenario) -> Result:
    """Estimate a scenario's steady state in milliseconds of computing; faults and training are left out.

    What cannot run comes back as a result that says why; BadKnob is raised for a policy that the system cannot have.
    """
    (found,) = reports([scenario])
    if isinstance(found, Result):
        return found
    if isinstance(found, EmberpoolError):
        raise found
    return replace(
        told(scenario, found),
        breakdown=found.steady.rows,
        devices=device_rows(found),
        books=found.books.rows,
        timeline=timeline_rows(expected_line(found.machinery)),
    )
