"""The faults of a campaign: each class has a random stream, equal for all protections."""

from collections.abc import Iterator, Mapping
from heapq import merge
from itertools import takewhile

from ..core import figures
from ..core.arithmetic import total
from ..errors import BadKnob, nearest_hint
from ..faults.fault import Hazard, class_mtbf, instants
from ..hardware.device import gpus_in_node, nodes
from ..registry import load_variant, variant_names
from ..scenario.fault_knobs import read_trace
from ..scenario.scenario import Scenario
from ..units import HOUR
from . import batch_costs
from .fold import FaultArrival

MOST_ARRIVALS = 200_000
SITE_PARTS = frozenset({"gpu", "host"})
POWER_LOSS, FLUSH_FAILURE = "power-loss", "flush-failure"


def fault_arrivals(scenario: Scenario, hazards: Mapping[str, Hazard], seed: int, seconds: float) -> list[FaultArrival]:
    """Return the faults of the first `seconds` of a campaign, in rising order of time.

    hazards: the hazards of the whole machine, by name of the fault.
    """
    check_count(hazards, seconds)
    streams = (_stream(scenario, name, hazards[name], seed) for name in sorted(hazards))
    return list(takewhile(lambda arrival: arrival.seconds < seconds, merge(*streams)))


def check_count(hazards: Mapping[str, Hazard], seconds: float) -> None:
    """Refuse more faults than a campaign of `seconds` can have; raises BadKnob."""
    check_hazards(hazards)
    expected = seconds * total(1 / hazard.mtbf for hazard in hazards.values() if hazard.mtbf)
    if expected > MOST_ARRIVALS:
        raise BadKnob(
            f"A campaign of {figures.exact(seconds / HOUR)} h would have {figures.exact(float(round(expected)))} faults, more "
            f"than the limit of {figures.count(MOST_ARRIVALS)}; shorten the campaign, or raise the mean time between faults."
        )


def destroyed_parts(name: str) -> frozenset[str]:
    """Return the names of the parts that a fault destroys.

    A fault that destroys both hosts and GPUs destroys the whole site: "site" is then among the names.
    """
    destroys = frozenset(load_variant("faults", name).destroys)
    return destroys | {"site"} if destroys >= SITE_PARTS else destroys


def rollback_mtbf(hazards: Mapping[str, Hazard]) -> float | None:
    """Return the mean seconds between random faults that destroy state; None without such faults."""
    check_hazards(hazards)
    rate = total(1 / hazard.mtbf for name, hazard in hazards.items() if hazard.mtbf and destroyed_parts(name))
    return 1 / rate if rate else None


def hazards_of(scenario: Scenario) -> dict[str, Hazard]:
    """Return the hazards of a scenario's whole machine, by name of the fault.

    Many units that each fail by Weibull's law fail together almost exponentially (Palm, Khinchin); so the knob's shape holds
    for a single unit only.
    """
    faults, hazards = scenario.faults, {}
    for name in campaign_faults():
        knob_name, count, unit_mtbf = name.replace("-", "_"), unit_count(scenario, name), class_mtbf(scenario, name)
        fault_seconds = (
            *getattr(faults, f"{knob_name}_at_seconds", ()),
            *(listed_fault.seconds for listed_fault in read_trace(faults.trace) if listed_fault.fault == name),
        )
        if unit_mtbf or fault_seconds:
            hazards[name] = Hazard(
                unit_mtbf and unit_mtbf / count, faults.weibull_shape if count == 1 else 1.0, tuple(sorted(fault_seconds))
            )
    share, losses = faults.flush_failure_share, hazards.get(POWER_LOSS)
    if losses and losses.mtbf and share:
        rate = share / losses.mtbf + (
            1 / flush_hazard.mtbf if (flush_hazard := hazards.get(FLUSH_FAILURE)) and flush_hazard.mtbf else 0.0
        )
        hazards[FLUSH_FAILURE] = Hazard(1 / rate, losses.shape)
        hazards[POWER_LOSS] = Hazard(losses.mtbf / (1 - share) if share < 1 else None, losses.shape, losses.listed_seconds)
    return hazards


def campaign_faults() -> tuple[str, ...]:
    """Return the names of the faults that can strike a campaign."""
    return tuple(
        name for name in variant_names("faults") if load_variant("faults", name).kind != "report" and name != "fault-in-recovery"
    )


def unit_count(scenario: Scenario, name: str) -> float:
    """Return the number of units that a fault can strike: sites, nodes or GPUs.

    The units of one bad ("lemon") node count `lemon_factor` times.
    """
    machine, unit = scenario.machine, load_variant("faults", name).unit
    if unit == "site":
        return 1.0
    count, first_units = (machine.num_gpus, gpus_in_node(machine)) if unit == "gpu" else (nodes(machine), 1)
    return scenario.faults.machines * (count + (scenario.faults.lemon_factor - 1) * first_units)


def check_hazards(hazards: Mapping[str, Hazard]) -> None:
    """Raise BadKnob for a hazard of an unknown fault, or of one that cannot strike."""
    for name in hazards:
        if name not in variant_names("faults"):
            raise BadKnob(f"hazards has the unknown fault {name!r}; {nearest_hint(name, variant_names('faults'), 'faults')}")
        if name not in campaign_faults():
            raise BadKnob(f"hazards has the fault {name!r}, which does not happen by itself in a campaign; leave it out.")


def _stream(scenario: Scenario, name: str, hazard: Hazard, seed: int) -> Iterator[FaultArrival]:
    destroys, slow, factor = destroyed_parts(name), 0.0, 1.0
    if load_variant("faults", name).kind == "fail-slow":
        slow, factor = scenario.faults.fail_slow_seconds, batch_costs.slowdown(scenario)
    for seconds in instants(hazard, seed, name):
        yield FaultArrival(seconds, name, destroys, slow, factor)
