"""Fault in recovery: power is lost again before training goes on; recovery starts over, to any depth."""

from collections.abc import Iterator

from engine.fault import Fault, Strike
from engine.scenario import Scenario


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield nothing: its knobs count from the fault that is recovered from, so the recovery draws them."""
    return iter(())


FAULT = Fault(
    id="F11",
    title="Fault in recovery",
    summary="Power is lost again while a fault is recovered from; recovery starts over.",
    kind="fail-stop",
    destroys=frozenset({"gpu", "host", "device", "link"}),
    strikes=strikes,
    said="power was lost again in the recovery",
)
