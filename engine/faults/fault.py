"""Faults: when and where they strike, and what each destroys.

A run gets all faults as one sequence of strikes, sorted by time. The times come from random intervals, from lists in knobs, and
from a replayed trace; each class of faults and each node has a random stream of its own. Published rates are files in
engine/faults/rates: for each class of faults, how often one unit of a machine is struck.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from heapq import merge
from itertools import islice
from math import gamma
from pathlib import Path
from tomllib import loads
from typing import Any, Literal

import numpy as np

from ..registry import NO_RATES, load_variant, variant_names
from ..scenario.fault_knobs import read_trace
from ..scenario.scenario import Scenario
from ..units import HOUR

FOLDER = Path(__file__).parent / "rates"
# fail-stop ends the job; fail-slow slows it; damage spoils what memory holds; a report destroys nothing.
Kind = Literal["fail-stop", "fail-slow", "damage", "report"]
# The unit of a machine that a fault strikes; a class's MTBF is that of one unit.
Unit = Literal["site", "node", "gpu"]
# What can be lost: volatile state of GPU or host, writes queued in the memory's controller or already accepted by
# the medium, its content for good, one 64 B line, bits without a trace, posted writes on the link.
Loss = Literal["gpu", "host", "device", "fenced", "media", "line", "bits", "link"]


@dataclass(frozen=True)
class Hazard:
    """The rate and the listed times of a fault at one node.

    mtbf: mean seconds between two random strikes, None for no random strikes.
    shape: the shape of the intervals' Weibull distribution: 1 is exponential; below 1, early failures are frequent.
    listed_seconds: the times of listed strikes [s].
    """

    mtbf: float | None = None
    shape: float = 1.0
    listed_seconds: tuple[float, ...] = ()


def random_generator(seed: int, stream: str, node: int = 0) -> np.random.Generator:
    """Return the random generator of a named stream and a node.

    Its numbers do not depend on how many numbers other streams have drawn.
    """
    name = int.from_bytes(blake2b(stream.encode(), digest_size=8).digest(), "little")
    return np.random.default_rng([seed, name, node])


def instants(hazard: Hazard, seed: int, stream: str, node: int = 0) -> Iterator[float]:
    """Yield the times of a hazard's strikes in seconds, rising: listed and random ones.

    Random times do not end.
    """
    return merge(sorted(hazard.listed_seconds), _renewals(hazard, random_generator(seed, stream, node)))


def _renewals(hazard: Hazard, rng: np.random.Generator) -> Iterator[float]:
    if hazard.mtbf is None:
        return
    scale, seconds = hazard.mtbf / gamma(1 + 1 / hazard.shape), 0.0
    while True:
        seconds += scale * float(rng.weibull(hazard.shape))
        yield seconds


def repair_times(median_seconds: float, sigma: float, seed: int, stream: str, node: int = 0) -> Iterator[float]:
    """Yield lognormal durations [s] with the median `median_seconds`, without end.

    `sigma` is the standard deviation of the duration's logarithm; with 0 each duration is the median.
    """
    rng = random_generator(seed, f"repair of {stream}", node)
    while True:
        yield median_seconds * float(np.exp(sigma * rng.standard_normal()))


def share_flags(share: float, seed: int, stream: str, node: int = 0) -> Iterator[bool]:
    """Yield random flags without end, of which a `share` is True: one for each strike."""
    rng = random_generator(seed, f"share of {stream}", node)
    while True:
        yield float(rng.random()) < share


@cache
def published_rates(name: str) -> dict[str, Any]:
    """Return the tables of a file of published rates.

    The file has a title and a source, and for each class of faults the numbers of events, units and hours, with their source.
    """
    return loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def published_mtbfs(name: str) -> dict[str, float]:
    """Return the mean seconds between two faults of one unit, by class of faults.

    The mean is the number of units watched, times the hours, over the number of events.
    """
    faults = published_rates(name)["faults"] if name != NO_RATES else {}
    return {fault: counts["units"] * counts["hours"] * HOUR / counts["events"] for fault, counts in faults.items()}


@dataclass(frozen=True, order=True)
class Strike:
    """One strike of a fault.

    seconds: time of the strike in the run [s].
    fault: name of the fault.
    node: number of the node that the strike hits.
    detect: time from the strike to its detection [s].
    repair: time from the detection to the end of the repair [s].
    nodes: number of nodes that the strike hits in all.
    """

    seconds: float
    fault: str
    node: int = 0
    detect: float = 0.0
    repair: float = 0.0
    nodes: int = 1

    @property
    def kind(self) -> "Fault":
        """The fault of the catalogue that strikes."""
        fault: Fault = load_variant("faults", self.fault)
        return fault


@dataclass(frozen=True)
class Fault:
    """A fault of the catalogue.

    id, title, summary: the fault's name, its title and a sentence about it.
    kind: what the fault does to the job, such as "fail-stop".
    destroys: the states and media that are lost.
    message: the text of the event, after "in batch n: ".
    unit: the unit of a machine that the fault strikes, such as "node" or "gpu"; rates are those of one unit.
    repaired: True if the unit is repaired before the restart.
    own_strikes: function from a scenario to the strikes in rising order; None if the knobs with the fault's name give the
        strikes.
    """

    id: str
    title: str
    summary: str
    kind: Kind = "fail-stop"
    destroys: frozenset[Loss] = frozenset()
    message: str = "the job stopped"
    unit: Unit = "node"
    repaired: bool = True
    own_strikes: Callable[[Scenario], Iterator[Strike]] | None = None

    @property
    def name(self) -> str:
        """The title as written inside a sentence.

        Its first letter is small, unless the title begins with an acronym.
        """
        return self.title if self.title[1].isupper() else self.title[0].lower() + self.title[1:]

    @property
    def stops_job(self) -> bool:
        """Whether the fault ends the job, so that it must recover.

        Poisoned lines end the job too, as the program that reads one gets an error.
        """
        return self.kind == "fail-stop" or "line" in self.destroys


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes of all faults, sorted by time and then by the fault's name."""
    return merge(*(strikes_of(scenario, name) for name in variant_names("faults")))


def strikes_of(scenario: Scenario, name: str) -> Iterator[Strike]:
    """Yield the strikes of the fault called `name`."""
    own_strikes = load_variant("faults", name).own_strikes
    return own_strikes(scenario) if own_strikes else strikes_by_knobs(scenario, name)


@lru_cache(maxsize=64)
def active_faults(scenario: Scenario) -> frozenset[str]:
    """Return the names of the faults that strike at least once in a scenario."""
    return frozenset(name for name in variant_names("faults") if next(strikes_of(scenario, name), None) is not None)


def class_mtbf(scenario: Scenario, name: str) -> float | None:
    """Return the mean seconds between two strikes of a class of faults at one unit.

    The mean is that of the class's knob, or else the published one. Return None if the class never strikes.
    """
    hours: float | None = getattr(scenario.faults, f"{name.replace('-', '_')}_mtbf_hours", None)
    return published_mtbfs(scenario.faults.rates).get(name) if hours is None else hours * HOUR


def strikes_by_knobs(scenario: Scenario, name: str, nodes: int = 1) -> Iterator[Strike]:
    """Yield the strikes of the class `name` by its knobs, the trace and published rates.

    Each node has a random stream of its own. Each strike hits `nodes` nodes.
    """
    knob_prefix, faults = name.replace("-", "_"), scenario.faults
    listed_seconds: tuple[float, ...] = getattr(faults, f"{knob_prefix}_at_seconds", ())
    fault: Fault = load_variant("faults", name)
    every_unit = class_mtbf(scenario, name)
    mean = _by_node(scenario, every_unit, fault.unit) if every_unit else []
    traced = [strike for strike in read_trace(faults.trace) if strike.fault == name]
    seconds_by_node = {
        node: tuple(strike.seconds for strike in traced if strike.node == node) for node in {strike.node for strike in traced}
    }
    seconds_by_node[0] = (*seconds_by_node.get(0, ()), *listed_seconds)
    streams = []
    for node in sorted({*seconds_by_node, *range(len(mean))}):
        rate = Hazard(mean[node] if node < len(mean) else None, faults.weibull_shape, seconds_by_node.get(node, ()))
        streams.append(_with_repairs(scenario, name, node, instants(rate, faults.seed, name, node), fault.repaired, nodes))
    return merge(*streams)


def _by_node(scenario: Scenario, mtbf: float, unit: Unit) -> list[float]:
    """Return the mean seconds between strikes of each node.

    A node with more units, or a lemon, is struck more often; a site counts as one node.
    """
    if unit == "site":
        return [mtbf]
    machine, faults = scenario.machine, scenario.faults
    gpus = [
        min(machine.gpus_per_node, machine.num_gpus - first_gpu)
        for first_gpu in range(0, machine.num_gpus, machine.gpus_per_node)
    ]
    units = gpus if unit == "gpu" else [1] * len(gpus)
    return [mtbf / unit_count / faults.machines / (1.0 if node else faults.lemon_factor) for node, unit_count in enumerate(units)]


def _with_repairs(
    scenario: Scenario, name: str, node: int, instants: Iterator[float], repaired: bool, nodes: int
) -> Iterator[Strike]:
    """Yield a strike for each instant, with seconds of detection and of repair.

    Of several nodes, the slowest repair counts.
    """
    faults = scenario.faults
    detection_times = repair_times(faults.detect_seconds, faults.detect_sigma, faults.seed, f"detection of {name}", node)
    is_late = share_flags(faults.late_detection_share, faults.seed, f"late detection of {name}", node)
    repairs = repair_times(faults.repair_median_seconds if repaired else 0.0, faults.repair_sigma, faults.seed, name, node)
    for seconds in instants:
        detect = next(detection_times) + (faults.late_detection_seconds if next(is_late) else 0.0)
        yield Strike(seconds, name, node, detect, max(islice(repairs, nodes)), nodes)
