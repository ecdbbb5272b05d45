"""Memory reset: the controller of the tables' memory forgets its progress and the writes queued in it."""

from collections.abc import Iterator

from engine.fault import Fault, Strike, struck
from engine.scenario import Scenario


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes of `faults.memory_reset_*`, by node."""
    return struck(scenario, "memory-reset")


FAULT = Fault(
    id="F4",
    title="Memory reset",
    summary="The memory's controller forgets its progress and its queued writes.",
    kind="fail-stop",
    destroys=frozenset({"device"}),
    strikes=strikes,
    said="the memory's controller was reset",
)
