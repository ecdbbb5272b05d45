"""Instant estimates of one scenario under every training system, cached by scenario."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from engine.errors import EmberpoolError
from engine.estimate import estimate
from engine.results.result import Result
from engine.scenario.scenario import Scenario
from pages.ui import palette


@lru_cache(maxsize=2048)
def estimate_of(scenario: Scenario) -> Result:
    """Return the estimate of `scenario`; a refusal is a result with its sentence as outcome."""
    try:
        return estimate(scenario)
    except EmberpoolError as error:
        return Result(scenario, ran=False, outcome=str(error), results={})


def estimates_by_system(scenario: Scenario, names: Iterable[str]) -> Mapping[str, Result]:
    """Return the estimates of the same scenario under these training systems, in the palette's order."""
    chosen_names = set(names)
    return {name: estimate_of(replace(scenario, system=name)) for name in palette.systems() if name in chosen_names}
