"""Effects of latency, near-data compute, load and table size, cached by scenario."""

from functools import lru_cache

from engine.errors import EmberpoolError
from engine.insight.memory.latency import Sensitivity, latency
from engine.insight.memory.near_data import Pair, near_data
from engine.insight.memory.under_load import UnderLoad, under_load
from engine.insight.memory.working_set import WorkingSet, working_set
from engine.scenario.scenario import Scenario
from pages.memory import memory_tables

Found = tuple[tuple[Sensitivity, ...], tuple[Pair, ...], tuple[UnderLoad, ...], tuple[WorkingSet, ...]]


@lru_cache(maxsize=256)
def of(scenario: Scenario) -> Found | str:
    """Return all findings, or the sentence that says why there are none."""
    try:
        return memory_tables.systems(latency(scenario)), near_data(scenario), under_load(scenario), working_set(scenario)
    except EmberpoolError as error:
        return str(error)
