"""Faults: their times and places, and the state that each destroys.

A run takes all faults as one stream of strikes.
Instants come from renewal processes, lists and replayed traces, each class and node on a random stream of its own. Published
rates are a file each in engine/faults/rates: how often a unit of a machine is struck, by class of fault.
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
    """The strikes of a fault at one node: random instants and listed ones.

    `mtbf` is the mean seconds between strikes, None for never; `listed_seconds` are listed instants in seconds. Intervals
    follow Weibull's distribution of this `shape` and of mean `mtbf`: 1 is exponential, less has infant mortality.
    """

    mtbf: float | None = None
    shape: float = 1.0
    listed_seconds: tuple[float, ...] = ()


def random_generator(seed: int, stream: str, node: int = 0) -> np.random.Generator:
    """Return the random generator of a stream and node.

    No other stream's numbers depend on it.
    """
    name = int.from_bytes(blake2b(stream.encode(), digest_size=8).digest(), "little")
    return np.random.default_rng([seed, name, node])


def instants(hazard: Hazard, seed: int, stream: str, node: int = 0) -> Iterator[float]:
    """Yield a hazard's times in seconds, rising: listed ones and random ones.

    Random times have no end.
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
    """Yield lognormal durations without end.

    `sigma` is the deviation of the logarithm, 0 for the median itself.
    """
    rng = random_generator(seed, f"repair of {stream}", node)
    while True:
        yield median_seconds * float(np.exp(sigma * rng.standard_normal()))


def share_flags(share: float, seed: int, stream: str, node: int = 0) -> Iterator[bool]:
    """Yield a flag for each strike of a stream, without end.

    A `share` of the flags is true.
    """
    rng = random_generator(seed, f"share of {stream}", node)
    while True:
        yield float(rng.random()) < share


@cache
def published_rates(name: str) -> dict[str, Any]:
    """Return a file of published rates as its tables.

    The file has its title and source, and by class of fault the events, units and hours with their source.
    """
    return loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def published_mtbfs(name: str) -> dict[str, float]:
    """Return by class of fault the mean seconds between two faults at one unit.

    The mean is the units watched, times hours, over events.
    """
    faults = published_rates(name)["faults"] if name != NO_RATES else {}
    return {fault: counts["units"] * counts["hours"] * HOUR / counts["events"] for fault, counts in faults.items()}


@dataclass(frozen=True, order=True)
class Strike:
    """One strike of a fault.

    seconds: time in the run [s].
    fault: name of the fault.
    node: number of the node.
    detect: time from the strike to its detection [s].
    repair: time of the repair after the detection [s].
    nodes: nodes that the strike hits.
    """

    seconds: float
    fault: str
    node: int = 0
    detect: float = 0.0
    repair: float = 0.0
    nodes: int = 1

    @property
    def kind(self) -> "Fault":
        """The fault that strikes."""
        fault: Fault = load_variant("faults", self.fault)
        return fault


@dataclass(frozen=True)
class Fault:
    """A row of the catalogue of faults.

    id, title, summary: name, title and sentence of the fault.
    kind: effect of the fault on the job.
    destroys: states and media that are lost.
    message: event text after "in batch n: ".
    unit: unit of a machine that the fault strikes; rates are those of one unit.
    repaired: whether the unit is repaired before the restart.
    own_strikes: strikes in rising order, perhaps without end, where the knobs of the fault's name do not give them.
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
        """The title as it is written inside a sentence."""
        return self.title if self.title[1].isupper() else self.title[0].lower() + self.title[1:]

    @property
    def stops_job(self) -> bool:
        """Whether the fault ends the job, which has to recover.

        Poison ends the job too, as its reader gets an error.
        """
        return self.kind == "fail-stop" or "line" in self.destroys


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes of all faults in order of time.

    Strikes at one instant are in order of name.
    """
    return merge(*(strikes_of(scenario, name) for name in variant_names("faults")))


def strikes_of(scenario: Scenario, name: str) -> Iterator[Strike]:
    """Yield the strikes of one fault."""
    own_strikes = load_variant("faults", name).own_strikes
    return own_strikes(scenario) if own_strikes else strikes_by_knobs(scenario, name)


@lru_cache(maxsize=64)
def active_faults(scenario: Scenario) -> frozenset[str]:
    """Return the faults that strike sooner or later in a scenario."""
    return frozenset(name for name in variant_names("faults") if next(strikes_of(scenario, name), None) is not None)


def class_mtbf(scenario: Scenario, name: str) -> float | None:
    """Return the mean seconds between two strikes of a class at one unit.

    Return None for never.
    The knob of the class says the mean, else the published rate.
    """
    hours: float | None = getattr(scenario.faults, f"{name.replace('-', '_')}_mtbf_hours", None)
    return published_mtbfs(scenario.faults.rates).get(name) if hours is None else hours * HOUR


def strikes_by_knobs(scenario: Scenario, name: str, nodes: int = 1) -> Iterator[Strike]:
    """Yield the strikes of class `name` by its knobs, the trace and the published rates.

    Each node has a random stream of its own; a strike hits `nodes` nodes.
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
