"""Host crash: its DRAM and caches are gone; memory behind CXL stays up and finishes what its logic was writing."""

from collections.abc import Iterator

from engine.fault import Fault, Strike, struck
from engine.scenario import Scenario


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes of `faults.host_crash_*`, by node."""
    return struck(scenario, "host-crash")


FAULT = Fault(
    id="F2",
    title="Host crash",
    summary="Host DRAM and caches are gone; near-data writes under way finish.",
    kind="fail-stop",
    destroys=frozenset({"host"}),
    strikes=strikes,
    said="a host crashed",
)
