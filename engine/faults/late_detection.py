"""Late detection: a share of faults is noticed later than the others, and the job stands still for longer."""

from collections.abc import Iterator

from engine.fault import Fault, Strike
from engine.scenario import Scenario


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield nothing: it makes other faults' strikes worse, which engine.fault draws with them."""
    return iter(())


FAULT = Fault(
    id="F14",
    title="Late detection",
    summary="A share of faults is noticed later: more time and work are lost.",
    kind="report",
    destroys=frozenset(),
    strikes=strikes,
)
