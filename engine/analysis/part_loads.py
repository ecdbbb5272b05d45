"""Loads of parts: each part's work for a batch, and each sharding's step time.

A part is a GPU, a node, a server or a module.
"""

from dataclasses import dataclass

import numpy as np

from ..core.arithmetic import total
from ..core.figures import figure, percent, times
from ..estimates import estimates
from ..registry import variant_names
from ..scenario.scenario import Scenario, with_values
from ..schedule.machine import settle, sized_scenario
from ..systems.exchange.crossing import Crossing, even_crossing, index_routes, vector_routes
from ..systems.exchange.sent import index_bytes, sent_bytes, sent_pieces, vector_nbytes
from ..systems.kernels.in_force import system_in_force
from ..systems.parts import EVEN_SHARES, Kind, Units, kind_of, table_units
from ..systems.system import Settled
from ..units import MS
from ..workload.accesses import expected_accesses

SHARDING, PLAN, STEP = "policy.sharding", "policy.plan", "Step time [ms]"
WORK_KINDS = ("Lookups and gradients", "Row updates", "Exchange")


@dataclass(frozen=True)
class PartLoad:
    """The work of a part for a batch.

    part: number of the part.
    lookups: lookups; a range of columns counts as its share of a lookup.
    rows: unique rows; a range of columns counts as its share of a row.
    table_bytes: bytes of tables that lie on the part.
    exchange_bytes: bytes of the exchange in both directions, each with the larger of sent and received.
    seconds: seconds of each kind of WORK, without launches of kernels.
    """

    part: int
    lookups: float
    rows: float
    table_bytes: float
    exchange_bytes: float
    seconds: tuple[float, float, float]


@dataclass(frozen=True)
class ShardingWay:
    """A sharding: its name, its step time [ms], and the sentence that refuses it.

    The step time is None, and the sentence not "", for a sharding that is refused.
    """

    name: str
    step: float | None
    outcome: str


@dataclass(frozen=True)
class PartLoads:
    """The loads of all parts, and the step time of each sharding.

    title: word for a part, such as GPU.
    num_parts: number of parts.
    loads: load of each part, empty where all parts have an equal share.
    even_seconds: seconds of an equal share.
    ways: all shardings.
    in_force: name of the scenario's sharding.
    """

    title: str
    num_parts: int
    loads: tuple[PartLoad, ...]
    even_seconds: float
    ways: tuple[ShardingWay, ...]
    in_force: str

    @property
    def slowest(self) -> PartLoad:
        """The load of the part whose work takes longest."""
        return max(self.loads, key=lambda load: total(load.seconds))

    @property
    def slowdown(self) -> float:
        """The seconds of the slowest part divided by those of an equal share."""
        return total(self.slowest.seconds) / self.even_seconds

    def step(self, name: str) -> float | None:
        """The step time of a sharding [ms]; None where the sharding is refused."""
        return next(way.step for way in self.ways if way.name == name)


def has_divided_tables(scenario: Scenario) -> bool:
    """Return whether the system divides its tables among several parts."""
    return _parts(scenario)[1] > 1


def part_loads(scenario: Scenario) -> PartLoads | None:
    """Return the loads of all parts.

    Return None for a system that divides its work equally, or has one part.
    """
    kind, number = _parts(scenario)
    if kind is None or number == 1:
        return None
    way_in_force = PLAN if scenario.policy.plan else scenario.policy.sharding or kind.default_sharding
    scenarios = {name: with_values(scenario, {SHARDING: name, PLAN: ""}) for name in variant_names("plans")}
    scenarios |= {way_in_force: scenario} if way_in_force not in scenarios else {}
    ways = tuple(
        ShardingWay(name, result.results.get(STEP) if result.ran else None, "" if result.ran else result.outcome)
        for name, result in zip(scenarios, estimates(list(scenarios.values())), strict=True)
    )
    loads, even_seconds = (
        _loads(settle(scenario), kind) if next(way for way in ways if way.name == way_in_force).step else ((), 0.0)
    )
    return PartLoads(kind.title, number, loads, even_seconds, ways, way_in_force)


def _parts(scenario: Scenario) -> tuple[Kind | None, int]:
    """Return the kind and number of the parts that divide a system's tables; None and 1 without any."""
    system = system_in_force(scenario)
    kind = kind_of(system)
    return kind, kind.parts(sized_scenario(scenario), system).number if kind else 1


def _loads(settled: Settled, kind: Kind) -> tuple[tuple[PartLoad, ...], float]:
    s, balance = settled.scenario, settled.placement.balance
    if balance is None:
        return (), 0.0
    units, work = table_units(s, settled.system, kind).units, balance.work
    rate = np.array([[units.fabric], [units.network]])
    routes = (
        vector_routes(balance.parts, sent_pieces(s, balance.pieces), vector_nbytes(s)),
        index_routes(balance.parts, index_bytes(s) * balance.indices),
    )
    vectors, indices = (np.maximum(out_bytes, in_bytes) for out_bytes, in_bytes in routes)
    exchange = (2 * vectors * rate).max(axis=0) + (indices * rate).max(axis=0)
    nbytes = (2 * vectors + indices).sum(axis=0) * (rate.sum() > 0)
    seconds = np.array([work.lookups * units.lookup, work.rows * units.row + work.far_rows.sum(axis=0) * units.far_row, exchange])
    even_vectors, even_indices = (
        even_crossing(balance.parts, s.model.num_tables * sent_bytes(s)),
        even_crossing(balance.parts, index_bytes(s) * float(expected_accesses(s).lookups.sum())),
    )
    even_seconds = (
        float(seconds[:2].sum() / balance.parts.number)
        + 2 * _crossing_seconds(even_vectors, units)
        + _crossing_seconds(even_indices, units)
    )
    part_rows = np.array([balance.lookups, balance.rows, balance.table_bytes, nbytes, *seconds]).T.tolist()
    loads = (
        PartLoad(part, lookups, rows, table_bytes, exchange_bytes, (lookup_seconds, update_seconds, exchange_seconds))
        for part, (lookups, rows, table_bytes, exchange_bytes, lookup_seconds, update_seconds, exchange_seconds) in enumerate(
            part_rows
        )
    )
    return tuple(loads), even_seconds


def _crossing_seconds(crossing: Crossing, units: Units) -> float:
    return max(crossing.fabric * units.fabric, crossing.network * units.network)


def balance_sentence(parts: PartLoads) -> str:
    """Return a sentence on the slowest part's time and the gain from perfect balance."""
    step, even_step = parts.step(parts.in_force), parts.step(EVEN_SHARES)
    if step is None:
        return next(way.outcome for way in parts.ways if way.name == parts.in_force)
    if not parts.loads:
        return f"Every {parts.title} has an equal share of all tables: the balance is perfect."
    slowest = parts.slowest
    subject, duration = (
        f"{parts.title[0].upper()}{parts.title[1:]} {slowest.part}",
        f"{figure(total(slowest.seconds) / MS, 'ms')} a batch",
    )
    start = f"{subject} is the slowest: {duration} for its tables, {times(parts.slowdown)} an even share."
    if even_step is None:
        return start
    saved = 1 - even_step / step
    gain = (
        f"a step of {figure(even_step, 'ms')} instead of {figure(step, 'ms')}, {percent(saved)} less"
        if saved > 0.0005
        else "nothing here"
    )
    return f"{start} Perfect balance would bring {gain}."
