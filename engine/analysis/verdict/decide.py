"""The decision: the best candidate of every system, and the one of them that meets the requirement at least cost.

A quick search of all systems comes first, then the whole search of each; whoever waits sees the verdict after each.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any

from ...core.figures import count, figure, percent
from ...errors import CannotRun
from ...estimates import estimates, step_seconds
from ...hardware.device import nodes
from ...hardware.prices import unpriced
from ...registry import load
from ...results.result import Result
from ...scenario.machine import RECORDED, YEARS
from ...scenario.scenario import KNOBS, Scenario, with_checked, with_values
from ...systems.buildable import parts_of, states_of
from ...systems.sizing import CHASSIS
from ...systems.system import Settled, powered
from .aim import CANNOT_RUN, MEETS, UNGUARDED, Aim, Cost, Rank
from .allowed import AllowedParts
from .candidates import Candidates, Estimated, Setting
from .families import FROM_BELOW, family_of, medium_of
from .protected import PROTECTION, Protected, struck, unstruck
from .protection_search import FEW, MANY, best_protected
from .requirement import Objective, Requirement
from .search import STARTS, best_of, search
from .space import GPU, HOST, INSIDE, SHAPE, Stops, base_of, quick, space_of

PRICES = "machine.prices"
MACHINE = (HOST, INSIDE, CHASSIS)  # knobs beside those of shape that a system named by "as fast as" keeps
SAME = 1.02  # times the least: what a simpler system may cost more and still be named


@dataclass(frozen=True)
class VerdictQuestion:
    """What is asked: a scenario's model and data, a requirement, what is to be least, and the parts that may be used."""

    scenario: Scenario
    requirement: Requirement = field(default_factory=Requirement)
    objective: Objective = "cost"
    parts: AllowedParts = field(default_factory=AllowedParts)

    @cached_property
    def base(self) -> Scenario:
        """The scenario with all that is searched left free, priced in a year."""
        year = self.scenario.machine.prices
        return with_values(base_of(self.scenario), {PRICES: YEARS[-1] if year == RECORDED else year})


@dataclass(frozen=True)
class Row:
    """The best candidate of a system: its knobs, scenario and result, what it costs, and the one thing that limits it or "".

    setting: the searched knobs. sized: the scenario with its sizes chosen. value: what is to be least.
    capital: USD with its protection, None without a price. step: seconds of a batch. watts: at the room's meter.
    parts: how many of each. states: whether each can be bought. bill: USD by device.
    A candidate that cannot run has neither scenario nor result nor cost.
    """

    system: str
    family: str
    rank: Rank = (CANNOT_RUN,)
    value: float = inf
    reason: str = ""
    setting: Setting = ()
    scenario: Scenario | None = None
    sized: Scenario | None = None
    result: Result | None = None
    capital: float | None = None
    step: float = inf
    watts: float = inf
    cost: Cost | None = None
    medium: str = ""
    protected: Protected = UNGUARDED
    parts: Mapping[str, int] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    bill: tuple[tuple[str, float | None], ...] = ()

    @property
    def nodes(self) -> int:
        """How many nodes it has; 0 where it cannot run."""
        return nodes(self.scenario.machine) if self.scenario else 0

    @property
    def meets(self) -> bool:
        """Whether it runs and meets the requirement."""
        return self.rank[0] == MEETS


@dataclass(frozen=True, eq=False)
class Verdict:
    """A row for each system, the best first; the space of so many systems is `done`, that of others was searched quickly.

    A question has one verdict at each of these counts, so that verdicts are equal where both are.
    """

    question: VerdictQuestion
    space: Mapping[str, Stops]
    rows: tuple[Row, ...]
    done: int
    unpriced: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Verdict) and (self.question, self.done) == (other.question, other.done)

    def __hash__(self) -> int:
        return hash((self.question, self.done))

    @property
    def whole(self) -> bool:
        """Whether the space of every system was searched whole."""
        return self.done == len(self.space)

    @property
    def best(self) -> Row | None:
        """The cheapest row that meets the requirement; of those within 2 % the simplest."""
        meeting = [row for row in self.rows if row.meets]
        least = min((row.value for row in meeting), default=0.0)
        named = (row for row in meeting if row.value <= SAME * least)
        return min(named, key=lambda row: plainness(row.system, row.nodes, row.value), default=None)

    @property
    def families(self) -> tuple[Row, ...]:
        """The best row of each family, the verdict's own first."""
        found = {row.family: row for row in (*filter(None, [self.best]), *self.rows)[::-1]}
        return tuple(sorted(found.values(), key=lambda row: (row is not self.best, row.rank)))


def decide(question: VerdictQuestion, systems: Collection[str] = ()) -> Verdict:
    """Return the verdict over all systems, or some; raises CannotRun for a question that has no answer."""
    (*_, found) = decisions(question, systems)
    return found


def decisions(question: VerdictQuestion, systems: Collection[str] = ()) -> Iterator[Verdict]:
    """Yield a verdict of a quick search, then one after each system's whole search."""
    asked = SystemSearch(question, systems)
    rows = {system: asked.row(system, quickly=True) for system in asked.space}
    yield asked.verdict(rows, done=0)
    for done, system in enumerate(asked.space, 1):
        rows[system] = asked.row(system)
        yield asked.verdict(rows, done)


class SystemSearch:
    """The search of one question: its space, its aim and all candidates that were estimated."""

    def __init__(self, question: VerdictQuestion, systems: Collection[str] = ()) -> None:
        """Find the space and what "as fast as" a system means."""
        self.question, base = question, question.base
        self.candidates = Candidates(base, question.parts)
        requirement, batch = question.requirement, base.data.batch_size
        aim = Aim(requirement, question.objective, base.machine, batch, requirement.least_throughput(batch))
        every = space_of(base, question.parts, {*systems, *filter(None, [requirement.like])} if systems else ())
        priced = _priced(base, question.parts) if aim.needs_prices else None
        self.unpriced = () if priced is None else tuple(name for name in question.parts.of("gpu") if name not in priced)
        self.space = every if priced is None else {name: _only(stops, priced) for name, stops in every.items()}
        self.found: dict[str, Setting] = {}
        self.struck = struck(base)
        self.aim = replace(aim, throughput=max(aim.throughput, self._as_fast_as(requirement.like)))

    def _as_fast_as(self, system: str | None) -> float:
        """Return the samples/s of a system on the scenario's own parts, sized automatically, at its best policies; 0 for none."""
        if system is None:
            return 0.0
        stops = {knob: stops for knob, stops in self.space[system].items() if stops and knob not in (*SHAPE, *MACHINE)}
        own = with_values(self.question.base, {"system": system})

        def ranks(settings: Sequence[Setting]) -> list[Rank]:
            found = step_seconds(with_checked(own, dict(setting)) for setting in settings)
            return [(seconds,) if seconds == seconds else (inf,) for seconds in found]

        (seconds,) = ranks([search(stops, ranks)])[0]
        if seconds == inf:
            (result,) = estimates([own])
            raise CannotRun(f"require=as={system}: that system cannot run as the scenario's machine is: {result.outcome}")
        return self.question.base.data.batch_size / seconds

    def verdict(self, rows: Mapping[str, Row], done: int) -> Verdict:
        """Return the verdict of rows, of which so many are of a whole search."""
        ordered = sorted(rows.values(), key=lambda row: (row.rank, row.system))
        return Verdict(self.question, self.space, tuple(ordered), done, self.unpriced)

    def row(self, system: str, quickly: bool = False) -> Row:
        """Return the best candidate of a system as a row; a whole search begins near what a quick one found."""
        stops = {knob: values for knob, values in self.space[system].items() if knob != CHASSIS}
        missing = next((knob for knob, values in stops.items() if not values), None)
        if missing:
            return _refused(system, Estimated(problem=_missing(missing)))
        near = [self.found[system]] if system in self.found else []
        searched, starts = (quick(stops), 1) if quickly else (stops, STARTS)
        setting, found = best_of(self.candidates, self.aim, system, searched, starts, near)
        self.found[system] = setting
        if found.problem:
            return _refused(system, found)
        guard = unstruck(self.candidates.scenario(system, setting))
        if self.struck:
            setting, guard = best_protected(self.candidates, self.aim, system, FEW if quickly else MANY)
        return self._row(system, setting, guard)

    def _row(self, system: str, setting: Setting, guard: Protected) -> Row:
        (found,) = self.candidates.estimated(system, [setting])
        scenario = self.candidates.scenario(system, setting)
        if self.struck:
            scenario = with_values(scenario, {PROTECTION: guard.name})
        (result,) = estimates([scenario])
        rank = self.aim.rank(found, guard)
        settled = found.settled
        if settled is None:
            raise ValueError("a candidate that runs is settled.")
        whole = guard.added_to(found)
        return Row(
            system=system,
            family=family_of(settled),
            rank=rank,
            value=self.aim.value(found, guard),
            reason="" if rank[0] == MEETS else self._limit(scenario, found, guard),
            setting=setting,
            scenario=scenario,
            sized=settled.scenario,
            result=result,
            capital=whole.capital,
            step=whole.step,
            watts=whole.watts,
            cost=self.aim.cost(found, guard),
            medium=medium_of(settled),
            protected=guard,
            parts=parts_of(settled),
            states=states_of(settled),
            bill=_bill(settled, guard),
        )

    def _limit(self, scenario: Scenario, found: Estimated, guard: Protected) -> str:
        """Return the one thing that keeps a machine that runs from the requirement."""
        aim, own, one = self.aim, self.aim.batch_size / found.step, guard.added_to(found)
        if one.capital is None and aim.needs_prices:
            return " ".join(unpriced(scenario.machine, powered(scenario.system, scenario.machine)))
        short = aim.shortfalls(found, guard)
        worst = max(short, key=lambda limit: short[limit])
        if worst == "lose":
            lost = f"{count(guard.lost_batches, 'batch', 'batches')}, {figure(60 * guard.lost_minutes, 's')}"
            return f"Under {load('protections', guard.name).title}, {guard.worst_fault} loses {lost}."
        if worst == "budget" and one.capital is not None:
            budget = figure(aim.requirement.budget, "USD")
            return f"It costs {figure(one.capital, 'USD')}, {figure(short[worst])} times the budget of {budget}."
        asked = max(aim.throughput, aim.requirement.least_kept)
        own *= guard.share if worst == "days" else 1.0
        return f"It trains {figure(own)} of the {figure(asked, 'samples/s')} that are asked for, {percent(own / asked)}."


def _refused(system: str, found: Estimated) -> Row:
    """Return the row of a system of which no candidate runs."""
    return Row(system, FROM_BELOW[load("systems", system).memory], reason=found.problem)


def _bill(settled: Settled, guard: Protected) -> tuple[tuple[str, float | None], ...]:
    """Return what each device of a machine costs, by its title, and what its protection adds."""
    devices = powered(settled.scenario.system, settled.scenario.machine).values()
    paid = tuple((device.title, device.price) for device in devices if device.price != 0)
    return paid + (((f"For {load('protections', guard.name).title}", guard.price),) if guard.price else ())


def _missing(knob: str) -> str:
    """Return that no part may be used of those that a knob chooses among."""
    return f"No {KNOBS[knob].label} may be used of those that are allowed; allow more parts."


def plainness(system: str, nodes: int, value: float) -> tuple[Any, ...]:
    """Return how plain a system's machine is, the plainest first: known from its source, of few parts and nodes, then cheap."""
    own = load("systems", system)
    return (own.confidence != "source", len(own.devices), nodes, value, system)


def _priced(base: Scenario, parts: AllowedParts) -> frozenset[str]:
    """Return the GPUs that have a price."""
    machines = {name: with_values(base, {GPU: name, CHASSIS: None}) for name in parts.of("gpu")}
    return frozenset(name for name, one in machines.items() if powered("all-hbm", one.machine)["gpu"].price is not None)


def _only(stops: Stops, gpus: Collection[str]) -> Stops:
    return {knob: tuple(one for one in values if one in gpus) if knob == GPU else values for knob, values in stops.items()}
