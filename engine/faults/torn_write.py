"""Torn write: the memory aborts what it was writing, and part of it stays."""

from collections.abc import Iterator

from engine.fault import Fault, Strike, struck
from engine.scenario import Scenario


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes of `faults.torn_write_*`, by node."""
    return struck(scenario, "torn-write")


FAULT = Fault(
    id="F7",
    title="Torn write",
    summary="Writes under way stay in part, cut at faults.torn_write_bytes.",
    kind="fail-stop",
    destroys=frozenset({"host", "device"}),
    strikes=strikes,
    said="a write was torn",
)
