"""Memory loss: the module that holds tables and logs is gone for good, and only a copy elsewhere would help."""

from collections.abc import Iterator

from engine.fault import Fault, Strike, struck
from engine.scenario import Scenario


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes of `faults.memory_loss_*`, by node."""
    return struck(scenario, "memory-loss")


FAULT = Fault(
    id="F4",
    title="Memory loss",
    summary="The memory that holds tables and logs is gone for good.",
    kind="fail-stop",
    destroys=frozenset({"device", "media"}),
    strikes=strikes,
    said="the memory was lost for good",
)
