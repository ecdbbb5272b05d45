"""The instant estimate of one scenario: expected accesses, without ids and without training.

Systems, devices and the schedule are the same as in a full run.
"""

from .estimates import results
from .results.explanation import unscheduled_result
from .results.result import Result
from .scenario.scenario import Scenario
from .schedule.evaluate import TIMELINES, NotScheduled


def estimate(scenario: Scenario) -> Result:
    """Estimate a scenario's steady state in milliseconds; faults and training are left out.

    For a scenario that cannot run, the result's outcome says why. BadKnob is raised for a policy that the system cannot have.
    """
    (found,) = results([scenario], TIMELINES)
    if isinstance(found, NotScheduled) and found.error:
        raise found.error
    return unscheduled_result(found) if isinstance(found, NotScheduled) else found
