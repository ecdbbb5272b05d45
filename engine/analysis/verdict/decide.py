"""The decision: each stack's best candidate, and the cheapest that meets the requirement.

A stack is a system on software. A quick search of all stacks comes first, then the whole search of each stack. A verdict is
yielded after each search.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from ...core.figures import count, exact, excess, figure, percent
from ...core.part_files.supply import Delivery
from ...errors import CannotRun
from ...estimates import estimates, step_seconds
from ...hardware.device import nodes
from ...hardware.devices.chassis import board_sizes
from ...hardware.money.bill import BillItem
from ...hardware.money.prices import unpriced_sentences
from ...registry import load_variant
from ...results.result import Result
from ...scenario.scenario import KNOBS, Scenario, with_checked_values, with_values
from ...systems.buildable import parts_of, states_of
from ...systems.sizing import CHASSIS
from ...systems.system import powered_devices
from .aim import CANNOT_RUN, MEETS, UNGUARDED, Aim, Rank, SplitCost, plain_aim
from .candidates import CandidateEstimate, Candidates, Setting
from .delivery import delivery_of, late_words
from .families import FAMILY_BY_MEMORY, family_of, medium_of
from .protected import PROTECTION, CandidateProtection, has_fault_rate, protection_without_faults
from .protection_search import MAX_PROTECTED, MAX_PROTECTED_QUICKLY, best_protected
from .question import VerdictQuestion
from .search import NUM_STARTS, best_candidate, search
from .space import GPU, GPUS_PER_NODE, HOST, SHAPE, Stops, on_whole_boards, quick_stops, space_of
from .stacks import Stack, stacks

OWN_MACHINE_KNOBS = (HOST, GPUS_PER_NODE, CHASSIS)  # knobs beside those of shape that a system named by "as fast as" keeps
TIE_FACTOR = 1.02  # times the least cost: a simpler system up to there is named instead


@dataclass(frozen=True)
class SystemRow:
    """The best candidate of a stack.

    A candidate that cannot run has no scenario, result or cost.

    stack: the system and its software.
    family: family of the machine, by the memory that holds its rows.
    rank: rank of the candidate by the aim.
    objective_value: value of the objective, which is minimised.
    reason: the limit that the candidate misses, or why it cannot run; "" where the requirement is met.
    setting: the searched knobs.
    scenario: the candidate's scenario.
    sized_scenario: the scenario with its sizes chosen.
    result: its estimate.
    capital: USD with the protection, None without a price.
    step: seconds of a batch.
    watts: power at the room's meter [W].
    cost: USD of a billion samples, None without a price.
    month: USD of a month of training, None without a price.
    medium: part that holds most of the rows.
    protection: protection of the candidate.
    parts: number of each part.
    states: availability of each part.
    bill: the parts that are paid for.
    delivery: weeks to the delivery of its GPUs, None where not known.
    """

    stack: Stack
    family: str
    rank: Rank = (CANNOT_RUN,)
    objective_value: float = inf
    reason: str = ""
    setting: Setting = ()
    scenario: Scenario | None = None
    sized_scenario: Scenario | None = None
    result: Result | None = None
    capital: float | None = None
    step: float = inf
    watts: float = inf
    cost: SplitCost | None = None
    month: SplitCost | None = None
    medium: str = ""
    protection: CandidateProtection = UNGUARDED
    parts: Mapping[str, int] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    bill: tuple[BillItem, ...] = ()
    delivery: Delivery | None = None

    @property
    def system(self) -> str:
        """Name of the system."""
        return self.stack.system

    @property
    def nodes(self) -> int:
        """Number of nodes; 0 where the candidate cannot run."""
        return nodes(self.scenario.machine) if self.scenario else 0

    @property
    def meets(self) -> bool:
        """Whether the candidate runs and meets the requirement."""
        return self.rank[0] == MEETS


@dataclass(frozen=True, eq=False)
class Verdict:
    """The answer to a verdict question: a row for each stack.

    question: the question that is answered.
    space: values of each stack's knobs to search.
    rows: best candidate of each stack with allowed software, the best first.
    num_searched: number of stacks whose space was searched completely; the others were searched quickly.
    unwritten: rows like `rows` whose software would have to be written; never the verdict.
    unpriced: GPUs that were left out for lack of a price.

    A question has one verdict for each value of `num_searched`. So verdicts are equal if both their questions and these numbers
    are.
    """

    question: VerdictQuestion
    space: Mapping[Stack, Stops]
    rows: tuple[SystemRow, ...]
    num_searched: int
    unpriced: tuple[str, ...] = ()
    unwritten: tuple[SystemRow, ...] = ()

    def __eq__(self, other_verdict: object) -> bool:
        return isinstance(other_verdict, Verdict) and (self.question, self.num_searched) == (
            other_verdict.question,
            other_verdict.num_searched,
        )

    def __hash__(self) -> int:
        return hash((self.question, self.num_searched))

    @property
    def is_complete(self) -> bool:
        """Whether every stack's space was searched completely."""
        return self.num_searched == len(self.space)

    @property
    def best_row(self) -> SystemRow | None:
        """The best row that meets the requirement; None if no row does."""
        return best_of(self.rows)

    @property
    def priced_scenario(self) -> Scenario:
        """The scenario whose prices count: the best row's machine, or the question's base without one."""
        return self.best_row.scenario if self.best_row and self.best_row.scenario else self.question.base

    @property
    def families(self) -> tuple[SystemRow, ...]:
        """The best row of each family; the family of `best_row` comes first."""
        best_rows = {row.family: row for row in (*filter(None, [self.best_row]), *self.rows)[::-1]}
        return tuple(sorted(best_rows.values(), key=lambda row: (row is not self.best_row, row.rank)))


def best_of(rows: Iterable[SystemRow]) -> SystemRow | None:
    """Return the best row that meets the requirement; None if no row does.

    Of rows within 2 % of the best, the plainest machine is taken (`plainness_key`).
    """
    meeting = [row for row in rows if row.meets]
    min_value = min((row.objective_value for row in meeting), default=0.0)
    tied_rows = (row for row in meeting if row.objective_value <= TIE_FACTOR * min_value)
    return min(tied_rows, key=lambda row: plainness_key(row.system, row.nodes, row.objective_value), default=None)


def decide(question: VerdictQuestion, systems: Collection[str] = ()) -> Verdict:
    """Return the verdict over `systems`, by default all systems.

    Raises CannotRun for a question without an answer.
    """
    (*_, verdict) = verdicts(question, systems)
    return verdict


def verdicts(question: VerdictQuestion, systems: Collection[str] = ()) -> Iterator[Verdict]:
    """Yield a verdict after a quick search, then one after each stack's whole search."""
    system_search = SystemSearch(question, systems)
    rows = {stack: system_search.row(stack, quickly=True) for stack in system_search.space}
    yield system_search.verdict(rows, num_searched=0)
    for num_searched, stack in enumerate(system_search.space, 1):
        rows[stack] = system_search.row(stack)
        yield system_search.verdict(rows, num_searched)


class SystemSearch:
    """The search for one question: its space, its aim and all candidates estimated so far."""

    def __init__(
        self,
        question: VerdictQuestion,
        systems: Collection[str] = (),
        chosen: Collection[Stack] = (),
        gpu: str = "",
        aim: Aim | None = None,
    ) -> None:
        """Find the space, and the throughput that an "as fast as" system needs.

        systems: limits the systems. chosen: the stacks to search, () for all of the systems. gpu: the only GPU, which may be
        without a price. aim: the aim, if it is known.
        """
        self.question, base = question, question.base
        self.candidates = Candidates(base, question.allowed, question.software, question.layers)
        own_aim = aim or plain_aim(question)
        all_stops = space_of(base, question.allowed, chosen or stacks(base, question.software, systems))
        gpus = question.allowed.parts_of_knob("gpu")
        priced_gpus = _priced_gpus(base, gpus) if own_aim.needs_prices else frozenset(gpus)
        self.unpriced = tuple(name for name in gpus if name not in priced_gpus)
        sought_gpus = {gpu} if gpu else priced_gpus
        all_stops = dict(sorted(all_stops.items(), key=lambda item: not question.software.allows(item[0])))  # the verdict first
        self.space = {
            stack: on_whole_boards(_restrict_gpus(stops, sought_gpus), question.allowed) for stack, stops in all_stops.items()
        }
        self.found: dict[Stack, Setting] = {}
        self.struck = has_fault_rate(base)
        self.aim = aim or self._with_speed(own_aim)

    def _with_speed(self, aim: Aim) -> Aim:
        """Return an aim with the throughput of an "as fast as" system."""
        return replace(aim, throughput=max(aim.throughput, self._as_fast_as(self.question.requirement.as_fast_as)))

    def _as_fast_as(self, system: str | None) -> float:
        """Return the samples/s of a system on the scenario's parts at its best policies and its fastest stack; 0 for None."""
        if system is None:
            return 0.0
        named_stacks = stacks(self.question.base, self.question.software, (system,))
        speeds = [self._speed(stack) for stack in named_stacks if self.question.software.allows(stack)]
        return max(speeds or map(self._speed, named_stacks))

    def _speed(self, stack: Stack) -> float:
        """Return the samples/s of a stack on the scenario's parts at its best policies; raises CannotRun."""
        question, system = self.question, stack.system
        space = self.space.get(stack) or space_of(question.base, question.allowed, [stack])[stack]
        stops = {knob: values for knob, values in space.items() if values and knob not in (*SHAPE, *OWN_MACHINE_KNOBS)}
        system_scenario = self.candidates.on_stack(stack, ())

        def ranks(settings: Sequence[Setting]) -> list[Rank]:
            step_times = step_seconds(with_checked_values(system_scenario, dict(setting)) for setting in settings)
            return [(seconds,) if seconds == seconds else (inf,) for seconds in step_times]

        (seconds,) = ranks([search(stops, ranks)])[0]
        if seconds == inf:
            (result,) = estimates([system_scenario])
            raise CannotRun(f"require=as={system}: that system cannot run as the scenario's machine is: {result.outcome}")
        return self.question.base.data.batch_size / seconds

    def verdict(self, rows: Mapping[Stack, SystemRow], num_searched: int) -> Verdict:
        """Return the verdict with these rows, sorted by rank.

        num_searched: the number of rows from a whole search.
        """
        allows = self.question.software.allows
        ordered = sorted(rows.values(), key=lambda row: (row.rank, row.stack))
        named, unwritten = (tuple(row for row in ordered if allows(row.stack) == wanted) for wanted in (True, False))
        return Verdict(self.question, self.space, named, num_searched, self.unpriced, unwritten)

    def row(self, stack: Stack, quickly: bool = False) -> SystemRow:
        """Return the best candidate of a stack, by a quick or a whole search.

        A whole search starts near the setting that the quick search has found.
        """
        stops = {knob: values for knob, values in self.space[stack].items() if knob != CHASSIS}
        missing_knob = next((knob for knob, values in stops.items() if not values), None)
        if missing_knob:
            return _refused_row(stack, CandidateEstimate(problem=self._no_part_sentence(missing_knob)))
        near_settings = [self.found[stack]] if stack in self.found else []
        searched, starts = (quick_stops(stops), 1) if quickly else (stops, NUM_STARTS)
        setting, candidate = best_candidate(self.candidates, self.aim, stack, searched, starts, near_settings)
        self.found[stack] = setting
        if candidate.problem:
            return _refused_row(stack, candidate)
        if self.aim.objective == "month" and self.aim.rank(candidate)[0] == MEETS:
            setting = self._fastest_of_equal_parts(stack, setting, candidate)
        guard = protection_without_faults(self.candidates.scenario(stack, setting))
        if self.struck:
            setting, guard = best_protected(self.candidates, self.aim, stack, MAX_PROTECTED_QUICKLY if quickly else MAX_PROTECTED)
        return self._row(stack, setting, guard)

    def _fastest_of_equal_parts(self, stack: Stack, setting: Setting, candidate: CandidateEstimate) -> Setting:
        """Return the setting of the same parts with the least cost of a sample, at nearly the least cost of a month.

        A slower setting draws less power, but nobody would choose it to save so little.
        """
        most = TIE_FACTOR * self.aim.objective_value(candidate)
        ranked = [
            (self.aim.rank(other)[2], other_setting)
            for other_setting, other in self.candidates.known(stack)
            if other.bill == candidate.bill and self.aim.rank(other)[0] == MEETS and self.aim.objective_value(other) <= most
        ]
        return min(ranked, key=lambda one: one[0], default=(0.0, setting))[1]

    def _no_part_sentence(self, knob: str) -> str:
        """Return the sentence for a knob without any allowed part."""
        if knob == GPU and self.unpriced and {*self.unpriced} == {*self.question.allowed.parts_of_knob("gpu")}:
            names, example = " and ".join(self.unpriced), self.unpriced[0]
            return f"No price is published of {names}; a quote gives one: machine.quotes=gpu/{example}:USD."
        gpus, chassis = (self.question.allowed.parts_of_knob(kind) for kind in ("gpu", "chassis"))
        if knob == GPU and gpus and not any(board_sizes(gpu, chassis) for gpu in gpus):
            return f"No allowed chassis has a board with {' or '.join(gpus)}, sold on whole boards; allow another chassis."
        return f"None of the allowed parts is a {KNOBS[knob].label} that this system can use; allow more parts."

    def _row(self, stack: Stack, setting: Setting, guard: CandidateProtection) -> SystemRow:
        (candidate,) = self.candidates.estimate(stack, [setting])
        scenario = self.candidates.scenario(stack, setting)
        if self.struck:
            scenario = with_values(scenario, {PROTECTION: guard.name})
        (result,) = estimates([scenario])
        rank = self.aim.rank(candidate, guard)
        settled = candidate.settled
        if settled is None:
            raise ValueError("a candidate that runs is settled.")
        protected_candidate = guard.add_to(candidate)
        return SystemRow(
            stack=stack,
            family=family_of(settled),
            rank=rank,
            objective_value=self.aim.objective_value(candidate, guard),
            reason="" if rank[0] == MEETS else self._limit(scenario, candidate, guard),
            setting=setting,
            scenario=scenario,
            sized_scenario=settled.scenario,
            result=result,
            capital=protected_candidate.capital,
            step=protected_candidate.step,
            watts=protected_candidate.watts,
            cost=self.aim.cost(candidate, guard),
            month=self.aim.month(candidate, guard),
            medium=medium_of(settled),
            protection=guard,
            parts=parts_of(settled),
            states=states_of(settled),
            bill=(*candidate.bill, *guard.bill),
            delivery=delivery_of(settled.scenario),
        )

    def _limit(self, scenario: Scenario, candidate: CandidateEstimate, guard: CandidateProtection) -> str:
        """Return a sentence on the limit that a machine misses most."""
        aim, protected_candidate = self.aim, guard.add_to(candidate)
        if protected_candidate.capital is None and aim.needs_prices:
            return " ".join(unpriced_sentences(scenario.machine, powered_devices(scenario.system, scenario.machine)))
        shortfalls = aim.shortfalls(candidate, guard)
        worst_limit = max(shortfalls, key=lambda limit: shortfalls[limit])
        if worst_limit == "lose":
            loss_text = f"{count(guard.lost_batches, 'batch', 'batches')}, {figure(60 * guard.lost_minutes, 's')}"
            return f"Under {load_variant('protections', guard.name).title}, {guard.worst_fault} loses {loss_text}."
        if worst_limit == "weeks":
            return late_words(scenario, aim.requirement.weeks or 0.0)
        if worst_limit == "budget" and protected_candidate.capital is not None:
            price, budget = figure(protected_candidate.capital, "USD"), exact(aim.requirement.budget or 0.0, "USD")
            return f"It costs {price}, {excess(shortfalls[worst_limit])} the budget of {budget}."
        required_throughput = aim.requirement.min_useful_throughput if worst_limit == "days" else aim.throughput
        throughput = required_throughput / shortfalls[worst_limit]  # that counts to the limit
        required_text, share = figure(required_throughput, "samples/s"), percent(throughput / required_throughput)
        return f"It trains {figure(throughput)} of the required {required_text}, {share}."


def _refused_row(stack: Stack, candidate: CandidateEstimate) -> SystemRow:
    """Return the row of a stack without a candidate that runs."""
    return SystemRow(stack, FAMILY_BY_MEMORY[load_variant("systems", stack.system).memory], reason=candidate.problem)


def plainness_key(system: str, nodes: int, objective_value: float) -> tuple[Any, ...]:
    """Return a sort key that puts the plainest machine first.

    Plainer is a system whose inner workings are published, then one with fewer kinds of devices, then fewer nodes, then a lower
    objective.
    """
    definition = load_variant("systems", system)
    return (definition.confidence != "source", len(definition.devices), nodes, objective_value, system)


def _priced_gpus(base: Scenario, gpus: Iterable[str]) -> frozenset[str]:
    """Return the GPUs that have a price, or are owned."""
    machines = {name: with_values(base, {GPU: name, CHASSIS: None}) for name in gpus}
    return frozenset(
        name for name, scenario in machines.items() if powered_devices("all-hbm", scenario.machine)["gpu"].price is not None
    )


def _restrict_gpus(stops: Stops, gpus: Collection[str]) -> Stops:
    return {knob: tuple(gpu for gpu in values if gpu in gpus) if knob == GPU else values for knob, values in stops.items()}
