"""Flush failure: power is lost and the flush of writes already accepted fails too; only a dirty-shutdown count tells."""

from collections.abc import Iterator
from dataclasses import replace
from heapq import merge
from itertools import compress

from engine.fault import Fault, Strike, struck
from engine.hazard import coins
from engine.scenario import Scenario

NAME, POWER_LOSS = "flush-failure", "power-loss"


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield its own strikes, and the share of power losses in which the flush fails."""
    faults = scenario.faults
    worse = coins(faults.flush_failure_share, faults.seed, POWER_LOSS)
    struck_too = compress(struck(scenario, POWER_LOSS), worse) if faults.flush_failure_share else iter(())
    return merge(struck(scenario, NAME), (replace(one, fault=NAME) for one in struck_too))


FAULT = Fault(
    id="F9",
    title="Flush failure",
    summary="Power is lost and the flush of accepted writes fails: some of them are gone too.",
    kind="fail-stop",
    destroys=frozenset({"gpu", "host", "device", "link", "fenced"}),
    strikes=strikes,
    unit="site",
    said="power was lost and the flush failed",
)
