"""Candidates: estimated machines of a stack, each in its cheapest possible chassis.

The candidates of one request are estimated in one call, and each candidate only once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import inf
from typing import Any, NamedTuple

from ...core.constants import Constant
from ...core.part_files.lists import owned_count
from ...errors import BadKnob, EmberpoolError
from ...estimates import averages_of_points, design_points
from ...hardware.device import gpus_in_node, nodes
from ...hardware.devices.chassis import CHASSIS as EVERY_CHASSIS
from ...hardware.devices.chassis import gpus_on_boards, sold_on_boards, takes_gpu
from ...hardware.devices.gpu import no_unit as no_gpu_unit
from ...hardware.hosts import HOSTS
from ...hardware.hosts import no_unit as no_host_unit
from ...hardware.money.bill import BillItem, bill_price
from ...hardware.money.quotes import quoted_prices
from ...insight.running_costs import room_watts
from ...registry import load_variant
from ...scenario.machine import MachineKnobs
from ...scenario.scenario import Scenario, with_checked_values, with_values
from ...schedule.evaluate import DesignPoint, NotScheduled, Observations, evaluate
from ...schedule.machine import settle
from ...schedule.steady_state import Steady
from ...systems.buildable import does_not_fit, missing_words, states_of
from ...systems.buildable.contents import short
from ...systems.sizing import CHASSIS
from ...systems.system import Settled, constants
from .allowed import AllowedParts
from .space import GPU, GPUS, GPUS_PER_NODE
from .stacks import LAYERS, SoftwareChoice, Stack, fixed_knobs, layer_precisions

Setting = tuple[tuple[str, Any], ...]  # knobs of a candidate by dotted path, in the order of its system's space
PartName = tuple[str, str]  # kind and name in the catalogue


class CandidateEstimate(NamedTuple):
    """Time, energy and cost of a candidate.

    step: seconds of a batch.
    joules: joules of a batch.
    watts: power at the room's meter [W].
    capital: price of the machine in USD, None without a price.
    problem: the reason why the machine cannot be built or run, "" where it can.
    settled: the machine with its sizes.
    bill: the parts that it pays for.
    """

    step: float = inf
    joules: float = inf
    watts: float = inf
    capital: float | None = None
    problem: str = ""
    settled: Settled | None = None
    bill: tuple[BillItem, ...] = ()

    def at_prices(self, prices: Mapping[PartName, Constant]) -> "CandidateEstimate":
        """Return the estimate with other prices of some parts, by kind and name."""
        if not prices or not any((item.kind, item.part) in prices for item in self.bill):
            return self
        bill = tuple([replace(item, price=prices.get((item.kind, item.part), item.price)) for item in self.bill])
        return self._replace(bill=bill, capital=bill_price(bill))


@dataclass
class Candidates:
    """All candidates of one base scenario that were estimated so far.

    base: the base scenario.
    allowed_parts: the parts that candidates may have.
    software: the choice of software. layers: the precision of layers that the question asks for, "" for none.
    constant_factors: factors of constants by name; each candidate that has the constant gets the factor.
    estimates: the estimates by stack and setting.
    prices: other prices of some parts, by kind and name.
    """

    base: Scenario
    allowed_parts: AllowedParts
    software: SoftwareChoice = field(default_factory=SoftwareChoice)
    layers: str = ""
    constant_factors: tuple[tuple[str, float], ...] = ()
    estimates: dict[tuple[Stack, Setting], CandidateEstimate] = field(default_factory=dict)
    prices: Mapping[PartName, Constant] = field(default_factory=dict)

    def estimate(self, stack: Stack, settings: Iterable[Setting]) -> list[CandidateEstimate]:
        """Return estimates of a stack's candidates in order; new ones are computed together."""
        limited_settings = [self._limit_node_gpus(setting) for setting in settings]
        new_settings = [setting for setting in dict.fromkeys(limited_settings) if (stack, setting) not in self.estimates]
        scenarios = [self._in_chassis(stack, setting) for setting in new_settings]
        points = design_points(scenario for scenario in scenarios if isinstance(scenario, Scenario))
        points_or_problems = [scenario if isinstance(scenario, str) else next(points) for scenario in scenarios]
        self.estimates.update(
            ((stack, setting), estimated)
            for setting, estimated in zip(new_settings, candidate_estimates(points_or_problems), strict=True)
        )
        return [self.estimates[stack, setting].at_prices(self.prices) for setting in limited_settings]

    @cached_property
    def _allowed_chassis(self) -> tuple[str, ...]:
        """The chassis that candidates may have."""
        return self.allowed_parts.parts_of_knob("chassis")

    def known(self, stack: Stack) -> Iterator[tuple[Setting, CandidateEstimate]]:
        """Yield each setting of a stack that was estimated, with its estimate."""
        for (named, setting), candidate in self.estimates.items():
            if named == stack:
                yield setting, candidate.at_prices(self.prices)

    def scenario(self, stack: Stack, setting: Setting) -> Scenario:
        """Return the scenario of a candidate in its cheapest possible chassis.

        Raises BadKnob for a candidate that cannot be built.
        """
        scenario = self._in_chassis(stack, setting)
        if isinstance(scenario, str):
            raise BadKnob(scenario)
        return scenario

    def refusal(self, stack: Stack, setting: Setting) -> str:
        """Return why a candidate cannot be built or run; "" if it can.

        Where no chassis has enough places, the reason names the largest chassis.
        """
        scenario = self._in_chassis(stack, setting, largest=True)
        return scenario if isinstance(scenario, str) else self.estimate(stack, [setting])[0].problem

    def _in_chassis(self, stack: Stack, setting: Setting, largest: bool = False) -> Scenario | str:
        """Return a candidate in the cheapest chassis that takes its parts, or a sentence without one."""
        s, changes = self.on_stack(stack, setting), dict(setting)
        problem = "None of the allowed chassis has enough places for its GPUs."
        for name in [changes[CHASSIS]] if changes.get(CHASSIS) else self._chassis(s, largest):
            try:
                settled = settle(with_checked_values(s, {CHASSIS: name}))
            except EmberpoolError as error:
                return str(error)
            if settled.problems:
                return " ".join(settled.problems)
            if stack.part and (missing := missing_words(stack.part, settled)):
                return f"{stack.part.title} does not have what this machine needs: {', '.join(missing)}."
            problems = [*does_not_fit(settled), *_part_boards(settled), *self._forbidden(settled)]
            if not problems:
                return self._scale_constants(with_checked_values(s, {CHASSIS: name}))
            problem = " ".join(problems)
        return problem

    def on_stack(self, stack: Stack, setting: Setting) -> Scenario:
        """Return the base on a stack, with a setting of its knobs.

        Its layers have the first precision of the stack that its GPU, or its host, has.
        """
        knobs = dict(self._limit_node_gpus(setting))
        s = with_checked_values(self.base, {**fixed_knobs(stack, self.base, self.software), **knobs})
        no_unit = no_gpu_unit if "gpu" in load_variant("systems", s.system).devices else no_host_unit
        choices = layer_precisions(stack, self.base, self.software, self.layers)
        able = (layers for layers in choices if not no_unit(replace(s.machine, matrix_precision=layers)))
        return with_checked_values(s, {LAYERS: next(able, choices[0])})

    def _scale_constants(self, s: Scenario) -> Scenario:
        """Return a scenario with the scaled constants of its machine assumed."""
        machine_constants = constants(s) if self.constant_factors else {}
        scaled_values = [
            (name, times * machine_constants[name].value) for name, times in self.constant_factors if name in machine_constants
        ]
        return (
            with_values(s, {"machine.assume": tuple({**dict(s.machine.assume), **dict(scaled_values)}.items())})
            if scaled_values
            else s
        )

    def _chassis(self, s: Scenario, largest: bool) -> list[str]:
        """Return the chassis with places for a node's GPUs, the cheapest first; those of full boards where GPUs are sold so.

        Where none has enough places, the largest chassis is returned if `largest`, or if constants are assumed.
        """
        machine, has_gpus = s.machine, "gpu" in load_variant("systems", s.system).devices
        gpus, gpu = (gpus_in_node(machine), machine.gpu) if has_gpus else (0, "")
        allowed = self.allowed_parts.parts_of_knob("chassis")
        sockets = HOSTS[machine.host].sockets.value
        usable = [name for name in allowed if _chassis_fits(name, gpus, sockets, gpu)]
        if not usable and (largest or machine.assume):  # what is assumed of a chassis may give it places
            usable = sorted(allowed, key=lambda name: EVERY_CHASSIS[name].gpus.value)[-1:]
        return sorted(usable, key=lambda name: _paid(machine, name))

    def _limit_node_gpus(self, setting: Setting) -> Setting:
        """Return a setting whose GPUs of a node are at most its GPUs, and at most the places of the largest chassis."""
        stops = dict(setting)
        if GPUS_PER_NODE not in stops or not (number := stops.get(GPUS)):
            return setting
        most = min(number, _most_places(self._allowed_chassis, stops.get(GPU, self.base.machine.gpu)) or number)
        return tuple((knob, min(stop, most) if knob == GPUS_PER_NODE else stop) for knob, stop in setting)

    def _forbidden(self, settled: Settled) -> list[str]:
        """Return a sentence for each part of a machine that is not allowed."""
        states = states_of(settled)
        return [
            f"{name} is {_state_phrase(state)} part."
            for name, state in states.items()
            if not self.allowed_parts.allows(name, state)
        ]


@lru_cache(maxsize=256)
def _most_places(chassis: tuple[str, ...], gpu: str) -> int:
    """Return the most places for a GPU in one of some chassis; 0 for a GPU that none of them takes."""
    return max((round(EVERY_CHASSIS[name].gpus.value) for name in chassis if takes_gpu(name, gpu)), default=0)


def _chassis_fits(name: str, gpus: int, sockets: float, gpu: str) -> bool:
    """Return whether a chassis has sockets for a host, and places for the GPUs, all filled where boards are sold whole.

    gpu: the GPUs' name, "" without GPUs.
    """
    chassis = EVERY_CHASSIS[name]
    has_places = chassis.gpus.value == gpus if gpu and sold_on_boards(gpu) else chassis.gpus.value >= gpus
    return has_places and chassis.sockets.value >= sockets and (not gpu or takes_gpu(name, gpu))


def _part_boards(settled: Settled) -> list[str]:
    """Return a sentence if GPUs of a board would not train."""
    machine = settled.scenario.machine
    if "gpu" not in settled.system.devices or (on_boards := gpus_on_boards(machine)) == machine.num_gpus:
        return []
    return [f"Only {machine.num_gpus} of {on_boards} {short(machine.gpu)} would train; they are sold on whole boards."]


def _state_phrase(state: str) -> str:
    return {"research": "a research", "announced": "an announced", "discontinued": "a discontinued"}.get(
        state, f"a part {state},"
    )


def _paid(machine: MachineKnobs, chassis: str) -> float:
    """Return the USD that a machine pays for its nodes' chassis, quoted or owned ones too; infinite without a price."""
    if not machine.owned_parts and not machine.quotes:
        return nodes(machine) * _price(chassis)
    quote = quoted_prices(machine, EVERY_CHASSIS.kind, chassis, EVERY_CHASSIS.quantities()).get("price")
    bought = max(nodes(machine) - owned_count(machine.owned_parts, EVERY_CHASSIS.kind, chassis), 0.0)
    return bought * (quote.value if quote else _price(chassis)) if bought else 0.0


def _price(chassis: str) -> float:
    price = EVERY_CHASSIS[chassis].price
    return inf if price is None else price.value


def candidate_estimates(points: Iterable[DesignPoint | NotScheduled | str]) -> list[CandidateEstimate]:
    """Return an estimate for each point.

    A point may be a sentence or cannot be scheduled; its estimate then has only a problem.
    """
    outcomes: list[Any] = list(points)
    runnable_points = {i: outcome for i, outcome in enumerate(outcomes) if not isinstance(outcome, str)}
    for i, outcome in zip(runnable_points, evaluate(runnable_points.values(), _estimated), strict=True):
        outcomes[i] = _problem(outcome) if isinstance(outcome, NotScheduled) else outcome
    return [CandidateEstimate(problem=outcome) if isinstance(outcome, str) else outcome for outcome in outcomes]


def _problem(refusal: NotScheduled) -> str:
    return str(refusal.error) if refusal.error else " ".join(refusal.problems)


def _estimated(points: Sequence[DesignPoint], observed: Observations) -> list[CandidateEstimate]:
    return [_cost(point, steady) for point, steady in zip(points, averages_of_points(points, observed), strict=True)]


def _cost(point: DesignPoint, steady: Steady) -> CandidateEstimate:
    bill = tuple([item for device in point.machine.devices.values() for item in device.bill])
    step, joules = float(steady.step), float(steady.energy)
    watts = room_watts(point.machine.scenario, joules / step)
    return CandidateEstimate(step, joules, watts, bill_price(bill), "", point.machine.settled, bill)
