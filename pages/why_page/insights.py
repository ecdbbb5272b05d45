"""Insights of a scenario, kept while scenarios repeat; one that cannot run comes back as its sentence."""

from dataclasses import dataclass, replace
from functools import lru_cache

from engine.errors import EmberpoolError
from engine.insight.decomposition import Decomposition, decomposition
from engine.insight.relaxation import Relaxation, relaxation
from engine.insight.saturation import Saturation, saturation
from engine.scenario.scenario import Scenario


@dataclass(frozen=True)
class Insights:
    """The steps from pmem to cxl, the MLP log against its bandwidth, and the CXL systems against theirs."""

    steps: Decomposition
    log: Relaxation
    links: tuple[Saturation, ...]


def of(scenario: Scenario) -> Insights | str:
    """Return the insights, the same whatever system the scenario names, or the sentence that says why there are none."""
    return _of(replace(scenario, system="cxl"))


@lru_cache(maxsize=256)
def _of(scenario: Scenario) -> Insights | str:
    try:
        return Insights(decomposition(scenario), relaxation(scenario), saturation(scenario))
    except EmberpoolError as error:
        return str(error)
