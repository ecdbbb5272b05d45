"""False alarm: a watchdog ends a healthy job, which then has to recover like any other."""

from collections.abc import Iterator

from engine.fault import Fault, Strike, struck
from engine.scenario import Scenario


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes of `faults.false_alarm_*`, by node."""
    return struck(scenario, "false-alarm", repaired=False)


FAULT = Fault(
    id="F14",
    title="False alarm",
    summary="A watchdog ends a healthy job.",
    kind="fail-stop",
    destroys=frozenset({"gpu"}),
    strikes=strikes,
    said="a watchdog ended the healthy job",
)
