"""The fault stream of a campaign: every class has a random stream of its own, so all protections meet the same faults."""

from collections.abc import Iterator, Mapping
from heapq import merge
from itertools import takewhile

from ..core import figures
from ..errors import BadKnob, nearest
from ..faults.fault import Hazard, instants, mtbf
from ..hardware.device import gpus_in_node, nodes
from ..registry import load, names
from ..scenario.fault_knobs import replay
from ..scenario.scenario import Scenario
from ..units import HOUR
from . import batch_costs
from .fold import FaultArrival

MOST_ARRIVALS = 200_000
SITE = frozenset({"gpu", "host"})
POWER_LOSS, FLUSH_FAILURE = "power-loss", "flush-failure"


def fault_arrivals(scenario: Scenario, hazards: Mapping[str, Hazard], seed: int, seconds: float) -> list[FaultArrival]:
    """Return the faults of the first `seconds` in rising order; a hazard is that of the whole machine."""
    check(hazards)
    expected = seconds * sum(1 / hazard.mtbf for hazard in hazards.values() if hazard.mtbf)
    if expected > MOST_ARRIVALS:
        raise BadKnob(
            f"A campaign of {figures.exact(seconds / HOUR)} h would be struck {figures.count(round(expected))} times, "
            f"more than {figures.count(MOST_ARRIVALS)}; shorten it, "
            "or lengthen the mean time between faults."
        )
    streams = (_stream(scenario, name, hazards[name], seed) for name in sorted(hazards))
    return list(takewhile(lambda arrival: arrival.at < seconds, merge(*streams)))


def destroyed(name: str) -> frozenset[str]:
    """Return what a fault destroys; one that takes hosts and GPUs takes several nodes with it."""
    destroys = frozenset(load("faults", name).destroys)
    return destroys | {"site"} if destroys >= SITE else destroys


def rollback_mtbf(hazards: Mapping[str, Hazard]) -> float | None:
    """Return the mean seconds between faults that destroy something, None without random ones."""
    check(hazards)
    rate = sum(1 / hazard.mtbf for name, hazard in hazards.items() if hazard.mtbf and destroyed(name))
    return 1 / rate if rate else None


def hazards_of(scenario: Scenario) -> dict[str, Hazard]:
    """Return the hazards of a scenario's whole machine by its fault knobs: all its GPUs, nodes or the site together.

    Many units that fail each by Weibull's law fail together nearly as exponentially (Palm, Khinchin); the shape holds for one.
    """
    faults, found = scenario.faults, {}
    for name in struck_by():
        given, count, each = name.replace("-", "_"), struck_units(scenario, name), mtbf(scenario, name)
        at = (*getattr(faults, f"{given}_at_seconds", ()), *(one.at for one in replay(faults.trace) if one.fault == name))
        if each or at:
            found[name] = Hazard(each and each / count, faults.weibull_shape if count == 1 else 1.0, tuple(sorted(at)))
    share, losses = faults.flush_failure_share, found.get(POWER_LOSS)
    if losses and losses.mtbf and share:
        rate = share / losses.mtbf + (1 / other.mtbf if (other := found.get(FLUSH_FAILURE)) and other.mtbf else 0.0)
        found[FLUSH_FAILURE] = Hazard(1 / rate, losses.shape)
        found[POWER_LOSS] = Hazard(losses.mtbf / (1 - share) if share < 1 else None, losses.shape, losses.at)
    return found


def struck_by() -> tuple[str, ...]:
    """Return the faults that can strike a campaign."""
    return tuple(name for name in names("faults") if load("faults", name).kind != "report" and name != "fault-in-recovery")


def struck_units(scenario: Scenario, name: str) -> float:
    """Return how many units a class can strike; the first node may be a lemon, which counts as often as it fails."""
    machine, unit = scenario.machine, load("faults", name).unit
    if unit == "site":
        return 1.0
    count, first = (machine.num_gpus, gpus_in_node(machine)) if unit == "gpu" else (nodes(machine), 1)
    return scenario.faults.machines * (count + (scenario.faults.lemon_factor - 1) * first)


def check(hazards: Mapping[str, Hazard]) -> None:
    """Raise BadKnob for a hazard that is no fault, or one that never strikes by itself."""
    for name in hazards:
        if name not in names("faults"):
            raise BadKnob(f"hazards name the fault {name!r}; {nearest(name, names('faults'), 'faults')}")
        if name not in struck_by():
            raise BadKnob(f"hazards name {name!r}, which a campaign cannot be struck by; leave it out.")


def _stream(scenario: Scenario, name: str, hazard: Hazard, seed: int) -> Iterator[FaultArrival]:
    destroys, slow, factor = destroyed(name), 0.0, 1.0
    if load("faults", name).kind == "fail-slow":
        slow, factor = scenario.faults.fail_slow_seconds, batch_costs.slowdown(scenario)
    for at in instants(hazard, seed, name):
        yield FaultArrival(at, name, destroys, slow, factor)
