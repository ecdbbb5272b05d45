"""Media error: one line of 64 B is poisoned; whoever reads it is told, and the job stops."""

from collections.abc import Iterator

from engine.fault import Fault, Strike, struck
from engine.scenario import Scenario


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes of `faults.media_error_*`, by node."""
    return struck(scenario, "media-error")


FAULT = Fault(
    id="F6",
    title="Media error",
    summary="One line of 64 B is lost and marked; it is repaired from a log, or the run ends.",
    kind="damage",
    destroys=frozenset({"line"}),
    strikes=strikes,
    said="a line was poisoned",
)
