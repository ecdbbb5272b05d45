"""Knob stops: the values of a knob worth comparing, and the one in force."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import BadInput, EmberpoolError
from ...hardware.device import expanders
from ...hardware.devices.cxl import link_latency, payload_rate
from ...hardware.devices.expander_dram import dram_controllers
from ...hardware.devices.pmem import module_bytes
from ...hardware.hosts import host_channels, threads
from ...registry import load_variant
from ...scenario.knobs import Knob, offered_words
from ...scenario.scenario import KNOBS, Scenario, dense_optimizer, projection_dim, values
from ...schedule.machine import sized_scenario
from ...systems.kernels.in_force import system_in_force
from ...systems.parts import EVEN_SHARES, kind_of
from ...systems.system import LogPolicy, cache_policy, log_policy
from ...units import GB
from ..decomposition import BOUND, RELAXED
from ..relaxation import LINK

CAPACITY, MODULE, THREADS = "machine.pmem_capacity_GB", "machine.pmem_module_GB", "machine.host_threads"
LOG, CACHE, SHARDING = "policy.log", "policy.cache_policy", "policy.sharding"
NUMBER_KINDS, WORD_KINDS = ("int", "float"), ("choice", "switch")
FARTHEST_FACTOR = 1e3  # factor around the value in force within which values are looked at
NUM_PARTS = 10
DECADES = [step * 10.0**power for power in range(-9, 13) for step in (1, 2, 5)]
EVEN_RATIO = 3.0  # up to this ratio of a range's ends its stops are evenly spaced


def useful_values(settled: Scenario, knob: Knob) -> Sequence[Any]:
    """Return a knob's values worth comparing: its words, or round numbers near its value.

    Numbers lie within a factor of 1000 of the value in force.
    A small range is divided evenly, into tenths where it begins at 0 and holds more than a hundred whole numbers. Other ranges
    are doubled from value to value, or go by 1, 2, 5, 10 where they begin at 0. Capacity is doubled in whole modules.
    """
    if knob.kind in WORD_KINDS:
        return (False, True) if knob.kind == "switch" else offered_words(knob, resolved_value(settled, knob.path))
    if knob.allowed_numbers:
        return knob.allowed_numbers
    value_in_force, low, high = resolved_value(settled, knob.path), knob.low or 0.0, knob.high or FARTHEST_FACTOR
    middle = value_in_force or low or 1.0
    if knob.path == CAPACITY:
        candidates = [capacity_of_modules(settled, 2**power) for power in range(41)]
    elif high <= EVEN_RATIO * low or (low == 0 and high <= NUM_PARTS * (value_in_force or 1)):
        few_whole_numbers = knob.kind == "int" and high - low <= NUM_PARTS**2
        width = 1.0 if few_whole_numbers else next(decade for decade in DECADES if NUM_PARTS * decade >= high - low)
        return [_typed(knob, low + k * width) for k in range(int((high - low) / width + 1e-9) + 1)]
    else:
        candidates = [0.0, *DECADES] if low == 0 else [2.0**power for power in range(-30, 41)]
    within_reach = (
        candidate
        for candidate in candidates
        if candidate == low or max(low, middle / FARTHEST_FACTOR) <= candidate <= min(high, middle * FARTHEST_FACTOR)
    )
    return [_typed(knob, candidate) for candidate in within_reach if knob.kind == "float" or candidate == round(candidate)]


def knob_stops(settled: Scenario, knob: Knob) -> list[Any]:
    """Return a knob's useful values and the value in force, numbers in rising order."""
    candidates, value_in_force = useful_values(settled, knob), resolved_value(settled, knob.path)
    return sorted({*candidates, value_in_force} - {None}) if knob.kind in NUMBER_KINDS else list(candidates)


def settled_if_possible(scenario: Scenario) -> Scenario:
    """Return a scenario with settled nodes and memory, or unchanged if impossible."""
    try:
        return sized_scenario(scenario)
    except EmberpoolError:
        return scenario


def capacity_of_modules(settled: Scenario, count: int) -> float:
    """Return the capacity in GB of `count` modules, within the knob's range."""
    knob = KNOBS[CAPACITY]
    gigabytes = count * module_bytes(settled.machine) / GB
    return min(max(gigabytes, knob.low or 0.0), knob.high or gigabytes)


def _typed(knob: Knob, number: float) -> float | int:
    return round(number) if knob.kind == "int" else number if knob.path == CAPACITY else float(f"{number:.12g}")


def resolved_value(settled: Scenario, path: str) -> Any:
    """Return a knob's value, or the value in force of an automatic knob.

    Return None where an automatic knob has no value in force.
    """
    knob_value = values(settled)[path]
    try:
        return RESOLVED_VALUES[path](settled) if knob_value is None and path in RESOLVED_VALUES else knob_value
    except BadInput:
        return None


def _policy(setting_of: Callable[[LogPolicy], Any]) -> Callable[[Scenario], Any]:
    return lambda s: setting_of(log_policy(s, load_variant("systems", s.system)))


def _sharding(s: Scenario) -> str:
    kind = kind_of(system_in_force(s))
    return kind.default_sharding if kind else EVEN_SHARES


def _cache(s: Scenario) -> str | None:
    cache = system_in_force(s).cache
    return cache_policy(s, cache).removesuffix(" in sets") if cache else None


# The resolved values of knobs that are automatic even in a settled scenario.
RESOLVED_VALUES: Mapping[str, Callable[[Scenario], Any]] = {
    LINK: lambda s: payload_rate(s.machine) / GB,
    MODULE: lambda s: module_bytes(s.machine) / GB,
    "machine.cxl_latency_ns": lambda s: link_latency(s.machine),
    "machine.host_dram_channels": lambda s: host_channels(s.machine),
    "machine.expander_dram_channels": lambda s: dram_controllers(s.machine),
    "machine.num_expanders": lambda s: expanders(s.machine),
    THREADS: lambda s: int(threads(s.machine)),
    LOG: _policy(lambda policy: policy.log or None),
    BOUND: _policy(lambda policy: policy.mlp_staleness_bound),
    RELAXED: _policy(lambda policy: policy.relaxed_lookup),
    CACHE: _cache,
    SHARDING: _sharding,
    "model.projection_dim": lambda s: projection_dim(s.model),
    "model.dense_optimizer": lambda s: dense_optimizer(s.model),
}
