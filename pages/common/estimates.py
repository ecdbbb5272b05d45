"""Instant estimates of one scenario under every training system, kept while scenarios repeat."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from engine.errors import EmberpoolError
from engine.estimate import estimate
from engine.registry import load
from engine.results.result import Result
from engine.scenario.scenario import Scenario
from pages.common import palette


@lru_cache(maxsize=2048)
def of(scenario: Scenario) -> Result:
    """Return the estimate of `scenario`; one that its system refuses comes back with the sentence as outcome."""
    try:
        return estimate(scenario)
    except EmberpoolError as error:
        return Result(scenario, ran=False, outcome=str(error), results={})


def beside(scenario: Scenario) -> Mapping[str, Result]:
    """Return the estimates of the same scenario under all training systems of its family, in the palette's order."""
    return {name: of(replace(scenario, system=name)) for name in palette.family(scenario.system)}


def baseline(scenario: Scenario) -> str:
    """Return the system that the scenario's is measured against."""
    return str(load("systems", scenario.system).baseline)
