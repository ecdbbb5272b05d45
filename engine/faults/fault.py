"""A fault: when it strikes, where, and what it destroys; the run takes all of them as one stream of strikes.

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

from ..registry import NO_RATES, load, names
from ..scenario.fault_knobs import replay
from ..scenario.scenario import Scenario
from ..units import HOUR

FOLDER = Path(__file__).parent / "rates"
# fail-stop ends the job; fail-slow slows it; damage spoils what memory holds; a report destroys nothing.
Kind = Literal["fail-stop", "fail-slow", "damage", "report"]
# Of what there is one to strike in a machine; a class's MTBF is that of one of them.
Unit = Literal["site", "node", "gpu"]
# What can be lost: volatile state of GPU or host, writes queued in the memory's controller or already accepted by
# the medium, its content for good, one 64 B line, bits without a trace, posted writes on the link.
Loss = Literal["gpu", "host", "device", "fenced", "media", "line", "bits", "link"]


@dataclass(frozen=True)
class Hazard:
    """How often something strikes: `mtbf` seconds on average, None for never, and at the instants `at`, in seconds.

    Intervals follow Weibull's distribution of this `shape` and of mean `mtbf`: 1 is exponential, less has infant mortality.
    """

    mtbf: float | None = None
    shape: float = 1.0
    at: tuple[float, ...] = ()


def generator(seed: int, stream: str, node: int = 0) -> np.random.Generator:
    """Return the random generator of a stream and node; no other stream's numbers depend on it."""
    name = int.from_bytes(blake2b(stream.encode(), digest_size=8).digest(), "little")
    return np.random.default_rng([seed, name, node])


def instants(hazard: Hazard, seed: int, stream: str, node: int = 0) -> Iterator[float]:
    """Yield the instants in seconds, in rising order: the listed ones, and without end the random ones."""
    return merge(sorted(hazard.at), _renewals(hazard, generator(seed, stream, node)))


def _renewals(hazard: Hazard, rng: np.random.Generator) -> Iterator[float]:
    if hazard.mtbf is None:
        return
    scale, now = hazard.mtbf / gamma(1 + 1 / hazard.shape), 0.0
    while True:
        now += scale * float(rng.weibull(hazard.shape))
        yield now


def repair_times(median_seconds: float, sigma: float, seed: int, stream: str, node: int = 0) -> Iterator[float]:
    """Yield lognormal durations without end; `sigma` is the deviation of the logarithm, 0 for the median itself."""
    rng = generator(seed, f"repair of {stream}", node)
    while True:
        yield median_seconds * float(np.exp(sigma * rng.standard_normal()))


def coins(share: float, seed: int, stream: str, node: int = 0) -> Iterator[bool]:
    """Yield without end whether each strike of a stream is one of a `share` that is worse than the others."""
    rng = generator(seed, f"share of {stream}", node)
    while True:
        yield float(rng.random()) < share


@cache
def published(name: str) -> dict[str, Any]:
    """Return a file of rates: its title and source, and by class of fault the events, units and hours with their source."""
    return loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def mtbfs(name: str) -> dict[str, float]:
    """Return by class of fault the mean seconds between two at one unit: units watched, times hours, over events."""
    faults = published(name)["faults"] if name != NO_RATES else {}
    return {fault: one["units"] * one["hours"] * HOUR / one["events"] for fault, one in faults.items()}


@dataclass(frozen=True, order=True)
class Strike:
    """One strike at `at` seconds of the run: noticed `detect` seconds later, and then `repair` seconds in repair."""

    at: float
    fault: str
    node: int = 0
    detect: float = 0.0
    repair: float = 0.0
    nodes: int = 1

    @property
    def kind(self) -> "Fault":
        """The fault that strikes."""
        found: Fault = load("faults", self.fault)
        return found


@dataclass(frozen=True)
class Fault:
    """A row of the catalogue of faults.

    `message` follows "in batch n: " on the list of events and says what happened. Rates are those of one `unit`, which is
    `repaired` before the restart. `own_strikes` yields strikes in rising order, maybe without end, of a fault that
    strikes otherwise than by the instants and the MTBF of the knobs of its name.
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
    def stops(self) -> bool:
        """Whether the job ends with it and has to recover; poison does, as its reader gets an error."""
        return self.kind == "fail-stop" or "line" in self.destroys


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes of all faults in order; of several at one instant, in the order of their names."""
    return merge(*(strikes_of(scenario, name) for name in names("faults")))


def strikes_of(scenario: Scenario, name: str) -> Iterator[Strike]:
    """Yield the strikes of one fault."""
    own = load("faults", name).own_strikes
    return own(scenario) if own else strikes_by_knobs(scenario, name)


@lru_cache(maxsize=64)
def active(scenario: Scenario) -> frozenset[str]:
    """Return the faults that strike sooner or later in a scenario."""
    return frozenset(name for name in names("faults") if next(strikes_of(scenario, name), None) is not None)


def mtbf(scenario: Scenario, name: str) -> float | None:
    """Return the mean seconds between two strikes of a class at one unit: its own knob's, else the published rate's."""
    hours: float | None = getattr(scenario.faults, f"{name.replace('-', '_')}_mtbf_hours", None)
    return mtbfs(scenario.faults.rates).get(name) if hours is None else hours * HOUR


def strikes_by_knobs(scenario: Scenario, name: str, nodes: int = 1) -> Iterator[Strike]:
    """Yield the strikes of class `name`: its own knobs, the trace's and the chosen rates', each node on its own stream."""
    given, faults = name.replace("-", "_"), scenario.faults
    listed: tuple[float, ...] = getattr(faults, f"{given}_at_seconds", ())
    fault: Fault = load("faults", name)
    every_unit = mtbf(scenario, name)
    mean = _by_node(scenario, every_unit, fault.unit) if every_unit else []
    traced = [one for one in replay(faults.trace) if one.fault == name]
    at = {node: tuple(one.at for one in traced if one.node == node) for node in {one.node for one in traced}}
    at[0] = (*at.get(0, ()), *listed)
    streams = []
    for node in sorted({*at, *range(len(mean))}):
        rate = Hazard(mean[node] if node < len(mean) else None, faults.weibull_shape, at.get(node, ()))
        streams.append(_with_repairs(scenario, name, node, instants(rate, faults.seed, name, node), fault.repaired, nodes))
    return merge(*streams)


def _by_node(scenario: Scenario, mtbf: float, unit: Unit) -> list[float]:
    """Return the seconds between strikes of each node: more units and lemons are struck more often; a site counts as one node."""
    if unit == "site":
        return [mtbf]
    machine, faults = scenario.machine, scenario.faults
    gpus = [min(machine.gpus_per_node, machine.num_gpus - first) for first in range(0, machine.num_gpus, machine.gpus_per_node)]
    units = gpus if unit == "gpu" else [1] * len(gpus)
    return [mtbf / each / faults.machines / (1.0 if node else faults.lemon_factor) for node, each in enumerate(units)]


def _with_repairs(
    scenario: Scenario, name: str, node: int, instants: Iterator[float], repaired: bool, nodes: int
) -> Iterator[Strike]:
    """Attach to each instant how long it takes to notice and to repair: of several nodes, the slowest."""
    faults = scenario.faults
    noticed = repair_times(faults.detect_seconds, faults.detect_sigma, faults.seed, f"detection of {name}", node)
    late = coins(faults.late_detection_share, faults.seed, f"late detection of {name}", node)
    repairs = repair_times(faults.repair_median_seconds if repaired else 0.0, faults.repair_sigma, faults.seed, name, node)
    for at in instants:
        detect = next(noticed) + (faults.late_detection_seconds if next(late) else 0.0)
        yield Strike(at, name, node, detect, max(islice(repairs, nodes)), nodes)
