"""The catalogue of faults: a row each says what it destroys, and of what there is one to strike."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from heapq import merge
from itertools import compress

from ..scenario.scenario import Scenario
from .fault import Fault, Strike, coins, strikes_by_knobs


def _power_losses(scenario: Scenario) -> Iterator[Strike]:
    """Yield the power losses in which the flush of accepted writes works."""
    faults = scenario.faults
    if faults.flush_failure_share == 1:
        return iter(())
    worse = coins(faults.flush_failure_share, faults.seed, "power-loss")
    return compress(strikes_by_knobs(scenario, "power-loss"), (not failed for failed in worse))


def _flush_failures(scenario: Scenario) -> Iterator[Strike]:
    """Yield its own strikes, and the share of power losses in which the flush fails."""
    faults, name = scenario.faults, "flush-failure"
    worse = coins(faults.flush_failure_share, faults.seed, "power-loss")
    struck_too = compress(strikes_by_knobs(scenario, "power-loss"), worse) if faults.flush_failure_share else iter(())
    return merge(strikes_by_knobs(scenario, name), (replace(one, fault=name) for one in struck_too))


def _shocks(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes that hit several nodes, of which the slowest repair holds all of them up."""
    return strikes_by_knobs(scenario, "correlated-shock", scenario.faults.correlated_shock_nodes)


def _none_by_itself(scenario: Scenario) -> Iterator[Strike]:
    """Yield nothing: the fault only makes others worse, and is drawn with them."""
    return iter(())


FAULTS: Mapping[str, Fault] = {
    "power-loss": Fault(
        id="F1",
        title="Power loss",
        summary="The site loses power: volatile state is gone, stores under way are torn.",
        destroys=frozenset({"gpu", "host", "device", "link"}),
        message="power was lost",
        unit="site",
        own_strikes=_power_losses,
    ),
    "host-crash": Fault(
        id="F2",
        title="Host crash",
        summary="Host DRAM and caches are gone; near-data writes under way finish.",
        destroys=frozenset({"host"}),
        message="a host crashed",
    ),
    "gpu-crash": Fault(
        id="F3",
        title="GPU crash",
        summary="MLPs and activations are gone; an MLP log under way is cut, embedding writes finish.",
        destroys=frozenset({"gpu"}),
        message="a GPU crashed",
        unit="gpu",
    ),
    "memory-reset": Fault(
        id="F4",
        title="Memory reset",
        summary="The memory's controller forgets its progress and its queued writes.",
        destroys=frozenset({"device"}),
        message="the memory's controller was reset",
    ),
    "memory-loss": Fault(
        id="F4",
        title="Memory loss",
        summary="The memory that holds tables and logs is gone for good.",
        destroys=frozenset({"device", "media"}),
        message="the memory was lost for good",
    ),
    "link-down": Fault(
        id="F5",
        title="Link down",
        summary="Posted writes that were not acknowledged are unknown; reads time out.",
        destroys=frozenset({"link"}),
        message="a link went down",
    ),
    "media-error": Fault(
        id="F6",
        title="Media error",
        summary="One line of 64 B is lost and marked; it is repaired from a log, or the run ends.",
        kind="damage",
        destroys=frozenset({"line"}),
        message="a line was poisoned",
    ),
    "torn-write": Fault(
        id="F7",
        title="Torn write",
        summary="Writes under way stay in part, cut at faults.torn_write_bytes.",
        destroys=frozenset({"host", "device"}),
        message="a write was torn",
    ),
    "silent-corruption": Fault(
        id="F8",
        title="Silent corruption",
        summary="One bit flips unnoticed; only a checksum can see it.",
        kind="damage",
        destroys=frozenset({"bits"}),
        message="a bit flipped unnoticed",
        unit="gpu",
    ),
    "flush-failure": Fault(
        id="F9",
        title="Flush failure",
        summary="Power is lost and the flush of accepted writes fails: some of them are gone too.",
        destroys=frozenset({"gpu", "host", "device", "link", "fenced"}),
        message="power was lost and the flush failed",
        unit="site",
        own_strikes=_flush_failures,
    ),
    "log-full": Fault(
        id="F10",
        title="Log full",
        summary="No log can be taken; training waits while a full checkpoint frees the region.",
        kind="report",
        message="the log region was full",
        unit="site",
        repaired=False,
    ),
    "fault-in-recovery": Fault(
        id="F11",
        title="Fault in recovery",
        summary="Power is lost again while a fault is recovered from; recovery starts over.",
        destroys=frozenset({"gpu", "host", "device", "link"}),
        message="power was lost again in the recovery",
        own_strikes=_none_by_itself,
    ),
    "correlated-shock": Fault(
        id="F12",
        title="Correlated shock",
        summary="Several nodes crash at once; the slowest repair counts.",
        destroys=frozenset({"gpu", "host"}),
        message="several nodes crashed at once",
        unit="site",
        own_strikes=_shocks,
    ),
    "fail-slow": Fault(
        id="F13",
        title="Fail-slow",
        summary="Nothing is lost; a device is slow for a while.",
        kind="fail-slow",
        message="a device became slow",
        repaired=False,
    ),
    "false-alarm": Fault(
        id="F14",
        title="False alarm",
        summary="A watchdog ends a healthy job.",
        destroys=frozenset({"gpu"}),
        message="a watchdog ended the healthy job",
        repaired=False,
    ),
    "late-detection": Fault(
        id="F14",
        title="Late detection",
        summary="A share of faults is noticed later: more time and work are lost.",
        kind="report",
        own_strikes=_none_by_itself,
    ),
}
