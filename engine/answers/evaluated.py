"""Estimates of many points at once, the one place where answers ask for them."""

from collections.abc import Sequence

from engine.errors import EmberpoolError
from engine.estimate import estimate
from engine.result import Result
from engine.scenario import Scenario


def evaluated(scenarios: Sequence[Scenario]) -> list[Result]:
    """Return each point's estimate; one that cannot be had is a result that did not run and says why."""
    return [_one(scenario) for scenario in scenarios]


def _one(scenario: Scenario) -> Result:
    try:
        return estimate(scenario)
    except EmberpoolError as error:
        return Result(scenario, ran=False, outcome=str(error), results={})
