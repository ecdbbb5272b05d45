"""Fail-slow: nothing is lost, but one device works at a fraction of its speed for a while."""

from collections.abc import Iterator

from engine.fault import Fault, Strike, struck
from engine.scenario import Scenario


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes of `faults.fail_slow_*`, by node."""
    return struck(scenario, "fail-slow", repaired=False)


FAULT = Fault(
    id="F13",
    title="Fail-slow",
    summary="Nothing is lost; a device is slow for a while.",
    kind="fail-slow",
    destroys=frozenset(),
    strikes=strikes,
    said="a device became slow",
)
