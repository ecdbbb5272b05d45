"""Estimates of many points at once, the one place where answers ask for them."""

from collections.abc import Sequence

from engine.errors import EmberpoolError
from engine.estimate import estimate
from engine.result import Result
from engine.scenario import KNOBS, Scenario, values


def evaluated(scenarios: Sequence[Scenario]) -> list[Result]:
    """Return each point's estimate; one that cannot be had is a result that did not run and says why."""
    return [_one(scenario) for scenario in scenarios]


def _one(scenario: Scenario) -> Result:
    try:
        return estimate(scenario)
    except EmberpoolError as error:
        return Result(scenario, ran=False, outcome=str(error), results={})


def number(result: Result, name: str) -> float | None:
    """Return one of a result's numbers, or of its scenario's knobs by path; None where it has none."""
    if name in KNOBS:
        found = values(result.scenario)[name]
        return None if found is None else float(found)
    return result.results.get(name)
