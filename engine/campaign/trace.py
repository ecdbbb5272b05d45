"""The faults of a campaign: every class on a random stream of its own, so that all protections meet the same ones."""

from collections.abc import Iterator, Mapping
from heapq import merge
from itertools import takewhile

from engine.campaign.fold import Blow
from engine.errors import BadKnob, nearest
from engine.hazard import Hazard, strikes
from engine.registry import load, names
from engine.scenario import Scenario

SITE = frozenset({"gpu", "host"})


def blows(scenario: Scenario, hazards: Mapping[str, Hazard], seed: int, seconds: float) -> list[Blow]:
    """Return the faults of the first `seconds` in rising order; a hazard is that of the whole machine."""
    check(hazards)
    streams = (_stream(scenario, name, hazards[name], seed) for name in sorted(hazards))
    return list(takewhile(lambda blow: blow.at < seconds, merge(*streams)))


def destroyed(name: str) -> frozenset[str]:
    """Return what a fault destroys; one that takes hosts and GPUs takes several nodes with it."""
    destroys = frozenset(load("faults", name).destroys)
    return destroys | {"site"} if destroys >= SITE else destroys


def rollback_mtbf(hazards: Mapping[str, Hazard]) -> float | None:
    """Return the mean seconds between faults that destroy something, None without random ones."""
    check(hazards)
    rate = sum(1 / hazard.mtbf for name, hazard in hazards.items() if hazard.mtbf and destroyed(name))
    return 1 / rate if rate else None


def check(hazards: Mapping[str, Hazard]) -> None:
    """Raise BadKnob for a hazard that is no fault, or one that never strikes by itself."""
    for name in hazards:
        if name not in names("faults"):
            raise BadKnob(f"hazards name the fault {name!r}; {nearest(name, names('faults'))}")
        if load("faults", name).kind == "report":
            raise BadKnob(f"hazards name {name!r}, which a campaign cannot be struck by; leave it out and set its own knobs.")


def _stream(scenario: Scenario, name: str, hazard: Hazard, seed: int) -> Iterator[Blow]:
    destroys, slow, factor = destroyed(name), *_slowness(scenario, name)
    for at in strikes(hazard, seed, name):
        yield Blow(at, name, destroys, slow, factor)


def _slowness(scenario: Scenario, name: str) -> tuple[float, float]:
    """Return how long a fault slows training, and by which factor."""
    if load("faults", name).kind != "fail-slow":
        return 0.0, 1.0
    return scenario.faults.fail_slow_seconds, 1 / scenario.faults.fail_slow_bandwidth
