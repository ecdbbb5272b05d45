"""Log full: no room for the next log, or its lines are worn out; training waits for a full checkpoint."""

from collections.abc import Iterator

from engine.fault import Fault, Strike, struck
from engine.scenario import Scenario


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes of `faults.log_full_*` at the site."""
    return struck(scenario, "log-full", repaired=False)


FAULT = Fault(
    id="F10",
    title="Log full",
    summary="No log can be taken; training waits while a full checkpoint frees the region.",
    kind="report",
    destroys=frozenset(),
    strikes=strikes,
    unit="site",
    said="the log region was full",
)
