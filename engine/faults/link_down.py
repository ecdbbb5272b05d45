"""Link down: a time-out; what was posted and not acknowledged may or may not have arrived."""

from collections.abc import Iterator

from engine.fault import Fault, Strike, struck
from engine.scenario import Scenario


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes of `faults.link_down_*`, by node."""
    return struck(scenario, "link-down")


FAULT = Fault(
    id="F5",
    title="Link down",
    summary="Posted writes that were not acknowledged are unknown; reads time out.",
    kind="fail-stop",
    destroys=frozenset({"link"}),
    strikes=strikes,
    said="a link went down",
)
