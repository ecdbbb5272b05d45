"""Loads of parts: what each GPU, node, server or module does for a batch by the plan in force, and what others would take."""

from dataclasses import dataclass

import numpy as np

from ..core.figures import figure, percent
from ..estimates import estimates
from ..registry import names
from ..scenario.scenario import Scenario, with_values
from ..schedule.machine import settle, sized_scenario
from ..systems.exchange.crossing import Crossing, even, index_routes, vector_routes
from ..systems.kernels.in_force import system_in_force
from ..systems.parts import EVEN, Kind, Units, kind_of, table_units
from ..systems.system import Settled
from ..systems.traffic import index_bytes, sent_bytes, vector_nbytes
from ..units import MS
from ..workload.accesses import expected

WAY, PLAN, STEP = "policy.sharding", "policy.plan", "Step time [ms]"
WORK = ("Lookups and gradients", "Row updates", "Exchange")


@dataclass(frozen=True)
class PartLoad:
    """One part in a batch: lookups and unique rows (a range of columns counts as its share of one), bytes of tables that it
    holds, the more of what it sends and receives in an exchange and back, and seconds of each kind of WORK, without launches.
    """

    part: int
    lookups: float
    rows: float
    held: float
    exchanged: float
    seconds: tuple[float, float, float]


@dataclass(frozen=True)
class Way:
    """A way of sharding: its step in ms, None where it cannot be, with the sentence."""

    name: str
    step: float | None
    outcome: str


@dataclass(frozen=True)
class PartLoads:
    """All parts, called `title` each, none where all have an even share, which takes `even` seconds; and all ways of sharding."""

    title: str
    number: int
    loads: tuple[PartLoad, ...]
    even: float
    ways: tuple[Way, ...]
    in_force: str

    @property
    def slowest(self) -> PartLoad:
        """The part that takes longest for all its work."""
        return max(self.loads, key=lambda load: sum(load.seconds))

    @property
    def times(self) -> float:
        """How many times as long as an even share the slowest takes."""
        return sum(self.slowest.seconds) / self.even

    def step(self, name: str) -> float | None:
        """The step of a way of sharding, in ms."""
        return next(way.step for way in self.ways if way.name == name)


def divided(scenario: Scenario) -> bool:
    """Return whether the system divides its tables among several parts."""
    return _parts(scenario)[1] > 1


def part_loads(scenario: Scenario) -> PartLoads | None:
    """Return what each part has to do; None for a system that shares its work evenly, or has one part."""
    kind, number = _parts(scenario)
    if kind is None or number == 1:
        return None
    given = PLAN if scenario.policy.plan else scenario.policy.sharding or kind.default
    asked = {name: with_values(scenario, {WAY: name, PLAN: ""}) for name in names("plans")}
    asked |= {given: scenario} if given not in asked else {}
    ways = tuple(
        Way(name, found.results.get(STEP) if found.ran else None, "" if found.ran else found.outcome)
        for name, found in zip(asked, estimates(list(asked.values())), strict=True)
    )
    loads, share = _loads(settle(scenario), kind) if next(way for way in ways if way.name == given).step else ((), 0.0)
    return PartLoads(kind.title, number, loads, share, ways, given)


def _parts(scenario: Scenario) -> tuple[Kind | None, int]:
    """Return what the parts are among which a system divides its tables, and how many; None and 1 where all work is shared."""
    system = system_in_force(scenario)
    kind = kind_of(system)
    return kind, kind.parts(sized_scenario(scenario), system).number if kind else 1


def _loads(settled: Settled, kind: Kind) -> tuple[tuple[PartLoad, ...], float]:
    s, found = settled.scenario, settled.placement.balance
    if found is None:
        return (), 0.0
    units, work = table_units(s, settled.system, kind).units, found.work
    rate = np.array([[units.fabric], [units.network]])
    ways = (vector_routes(found.parts, found.pieces, vector_nbytes(s)), index_routes(found.parts, index_bytes(s) * found.indices))
    vectors, indices = (np.maximum(sent, received) for sent, received in ways)
    exchange = (2 * vectors * rate).max(axis=0) + (indices * rate).max(axis=0)
    nbytes = (2 * vectors + indices).sum(axis=0) * (rate.sum() > 0)
    seconds = np.array([work.lookups * units.lookup, work.rows * units.row + work.far.sum(axis=0) * units.far, exchange])
    plain, asked = (
        even(found.parts, s.model.num_tables * sent_bytes(s)),
        even(found.parts, index_bytes(s) * float(expected(s).lookups.sum())),
    )
    share = float(seconds[:2].sum() / found.parts.number) + 2 * _crossing(plain, units) + _crossing(asked, units)
    every = np.array([found.lookups, found.rows, found.held, nbytes, *seconds]).T.tolist()
    loads = (PartLoad(part, a, b, c, d, (x, y, z)) for part, (a, b, c, d, x, y, z) in enumerate(every))
    return tuple(loads), share


def _crossing(found: Crossing, units: Units) -> float:
    return max(found.fabric * units.fabric, found.network * units.network)


def sentence(found: PartLoads) -> str:
    """Return what the slowest part costs, and what perfect balance would bring."""
    step, balanced = found.step(found.in_force), found.step(EVEN)
    if step is None:
        return next(way.outcome for way in found.ways if way.name == found.in_force)
    if not found.loads:
        return f"Every {found.title} has an even share of all tables: perfect balance."
    worst = found.slowest
    who, lasts = f"{found.title[0].upper()}{found.title[1:]} {worst.part}", f"{figure(sum(worst.seconds) / MS, 'ms')} a batch"
    start = f"{who} is the slowest: {lasts} for its tables, {figure(found.times)} times an even share."
    if balanced is None:
        return start
    saved = 1 - balanced / step
    brings = (
        f"a step of {figure(balanced, 'ms')} instead of {figure(step, 'ms')}, {percent(saved)} less"
        if saved > 0.0005
        else "nothing here"
    )
    return f"{start} Perfect balance would bring {brings}."
