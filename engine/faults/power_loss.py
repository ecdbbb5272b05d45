"""Site power loss: everything volatile is gone, and stores under way are torn."""

from collections.abc import Iterator
from heapq import merge

import numpy as np

from engine.fault import Fault
from engine.scenario import Scenario
from engine.units import HOUR

PURPOSE = 101


def strikes(scenario: Scenario) -> Iterator[float]:
    """Yield the listed instants and, with a mean time between failures, exponential ones, in rising order."""
    return merge(iter(sorted(scenario.faults.power_loss_at_seconds)), _random(scenario))


def _random(scenario: Scenario) -> Iterator[float]:
    if scenario.faults.power_loss_mtbf_hours is None:
        return
    rng = np.random.default_rng([scenario.faults.seed, PURPOSE])
    now = 0.0
    while True:
        now += float(rng.exponential(scenario.faults.power_loss_mtbf_hours * HOUR))
        yield now


FAULT = Fault("Power loss", "The site loses power: volatile state is gone, stores under way are torn.", strikes)
