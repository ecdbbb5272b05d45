"""Insights of a scenario, cached; for a scenario that cannot run, the sentence that says why."""

from dataclasses import dataclass, replace
from functools import lru_cache

from engine.errors import EmberpoolError
from engine.insight.decomposition import Decomposition, decompose
from engine.insight.relaxation import Relaxation, relaxation
from engine.insight.saturation import Saturation, saturation
from engine.scenario.scenario import Scenario


@dataclass(frozen=True)
class Insights:
    """Insights of a scenario.

    steps: the steps from pmem to cxl.
    log: the MLP log over its write bandwidth.
    links: the step time of each CXL system over the link's bandwidth.
    """

    steps: Decomposition
    log: Relaxation
    links: tuple[Saturation, ...]


def insights_of(scenario: Scenario) -> Insights | str:
    """Return the insights, or the sentence that says why there are none.

    They do not depend on the scenario's system.
    """
    return _cached_insights(replace(scenario, system="cxl"))


@lru_cache(maxsize=256)
def _cached_insights(scenario: Scenario) -> Insights | str:
    try:
        return Insights(decompose(scenario), relaxation(scenario), saturation(scenario))
    except EmberpoolError as error:
        return str(error)
