"""Site power loss: everything volatile is gone, and stores under way are torn."""

from collections.abc import Iterator
from itertools import compress

from engine.fault import Fault, Strike, struck
from engine.hazard import coins
from engine.scenario import Scenario

NAME = "power-loss"


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield the power losses in which the flush of accepted writes works."""
    faults = scenario.faults
    if faults.flush_failure_share == 1:
        return iter(())
    worse = coins(faults.flush_failure_share, faults.seed, NAME)
    return compress(struck(scenario, NAME), (not failed for failed in worse))


FAULT = Fault(
    id="F1",
    title="Power loss",
    summary="The site loses power: volatile state is gone, stores under way are torn.",
    kind="fail-stop",
    destroys=frozenset({"gpu", "host", "device", "link"}),
    strikes=strikes,
    unit="site",
    said="power was lost",
)
