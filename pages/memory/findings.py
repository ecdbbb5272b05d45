"""Effects of latency, near-data compute, load and table size, cached by scenario."""

from functools import lru_cache

from engine.errors import EmberpoolError
from engine.insight.memory.latency import Sensitivity, latency_sensitivity
from engine.insight.memory.near_data import NearDataPair, near_data
from engine.insight.memory.under_load import LoadedLatency, loaded_latencies
from engine.insight.memory.working_set import WorkingSet, working_set
from engine.scenario.scenario import Scenario
from pages.memory import memory_tables

MemoryFindings = tuple[tuple[Sensitivity, ...], tuple[NearDataPair, ...], tuple[LoadedLatency, ...], tuple[WorkingSet, ...]]


@lru_cache(maxsize=256)
def memory_findings(scenario: Scenario) -> MemoryFindings | str:
    """Return all findings, or the sentence that says why there are none."""
    try:
        return (
            memory_tables.in_palette_order(latency_sensitivity(scenario)),
            near_data(scenario),
            loaded_latencies(scenario),
            working_set(scenario),
        )
    except EmberpoolError as error:
        return str(error)
