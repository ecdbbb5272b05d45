"""Candidates: machines of a system that were estimated, each in the cheapest chassis that takes its parts.

Candidates that are asked for together are estimated in one call; each is estimated once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

from ...core.catalog import form
from ...errors import BadKnob, EmberpoolError
from ...estimates import averages, design_points
from ...hardware.device import gpus_in_node
from ...hardware.devices.chassis import CHASSIS as EVERY_CHASSIS
from ...hardware.devices.chassis import forms
from ...hardware.hosts import HOSTS
from ...insight.running_costs import room_watts
from ...registry import load
from ...scenario.scenario import Scenario, with_checked, with_values
from ...schedule.evaluate import DesignPoint, NotScheduled, Observed, evaluate
from ...schedule.machine import settle
from ...schedule.steady_state import Steady
from ...systems.buildable import does_not_fit, states_of
from ...systems.sizing import CHASSIS
from ...systems.system import Settled, constants
from .allowed import AllowedParts
from .space import GPUS, INSIDE

Setting = tuple[tuple[str, Any], ...]  # knobs of a candidate by dotted path, in the order of its system's space


class Estimated(NamedTuple):
    """What a candidate takes and costs: seconds and joules of a batch, watts at the room's meter, USD or None without a price.

    `problem` says why there is no such machine, "" where there is one; `settled` is the machine with its sizes.
    """

    step: float = inf
    joules: float = inf
    watts: float = inf
    capital: float | None = None
    problem: str = ""
    settled: Settled | None = None


@dataclass
class Candidates:
    """All candidates of one base scenario that were estimated so far, by system and setting.

    Constants that are `scaled`, by name, are so many times as large on every candidate that has them.
    """

    base: Scenario
    allowed: AllowedParts
    scaled: tuple[tuple[str, float], ...] = ()
    seen: dict[tuple[str, Setting], Estimated] = field(default_factory=dict)

    def estimated(self, system: str, settings: Iterable[Setting]) -> list[Estimated]:
        """Return candidates of a system in order; those that are new are estimated together."""
        wanted = [_plain(one) for one in settings]
        new = [one for one in dict.fromkeys(wanted) if (system, one) not in self.seen]
        placed = [self._housed(system, one) for one in new]
        points = design_points(found for found in placed if isinstance(found, Scenario))
        ready = [one if isinstance(one, str) else next(points) for one in placed]
        self.seen.update(((system, one), found) for one, found in zip(new, costs(ready), strict=True))
        return [self.seen[system, one] for one in wanted]

    def scenario(self, system: str, setting: Setting) -> Scenario:
        """Return the scenario of a candidate that can be built, its chassis chosen."""
        found = self._housed(system, setting)
        if isinstance(found, str):
            raise BadKnob(found)
        return found

    def refusal(self, system: str, setting: Setting) -> str:
        """Return why a candidate cannot be built or does not run, told by the largest chassis where none has places for it."""
        found = self._housed(system, setting, largest=True)
        return found if isinstance(found, str) else self.estimated(system, [setting])[0].problem

    def _housed(self, system: str, setting: Setting, largest: bool = False) -> Scenario | str:
        """Return a candidate in the cheapest chassis that takes its parts, or why there is none."""
        changes = {"system": system, **dict(setting)}
        s = with_checked(self.base, changes)
        problem = "None of the chassis that may be used has places for its GPUs."
        for name in [changes[CHASSIS]] if changes.get(CHASSIS) else self._chassis(s, largest):
            try:
                settled = settle(with_checked(s, {CHASSIS: name}))
            except EmberpoolError as error:
                return str(error)
            if settled.problems:
                return " ".join(settled.problems)
            lacking = [*does_not_fit(settled), *self._forbidden(settled)]
            if not lacking:
                return self._scaled(with_checked(s, {CHASSIS: name}))
            problem = " ".join(lacking)
        return problem

    def _scaled(self, s: Scenario) -> Scenario:
        """Return a scenario with the scaled constants of its machine assumed."""
        own = constants(s) if self.scaled else {}
        more = [(name, times * own[name].value) for name, times in self.scaled if name in own]
        return with_values(s, {"machine.assume": tuple({**dict(s.machine.assume), **dict(more)}.items())}) if more else s

    def _chassis(self, s: Scenario, largest: bool) -> list[str]:
        """Return the chassis with places for a node's GPUs, the cheapest first; where none has them, perhaps the `largest`."""
        machine, has_gpus = s.machine, "gpu" in load("systems", s.system).devices
        gpus, kind = (gpus_in_node(machine), form("gpu", machine.gpu)) if has_gpus else (0, "")
        allowed = self.allowed.of("chassis")
        sockets = HOSTS[machine.host].sockets.value
        usable = [name for name in allowed if _takes(name, gpus, sockets, kind)]
        if not usable and (largest or machine.assume):  # what is assumed of a chassis may give it places
            usable = sorted(allowed, key=lambda name: EVERY_CHASSIS[name].gpus.value)[-1:]
        return sorted(usable, key=_price)

    def _forbidden(self, settled: Settled) -> list[str]:
        """Return why a machine has parts that may not be used."""
        states = states_of(settled)
        return [f"{name} is {_a(state)} part." for name, state in states.items() if not self.allowed.has(name, state)]


def _plain(setting: Setting) -> Setting:
    """Return a setting whose GPUs of a node are no more than there are."""
    number = dict(setting).get(GPUS)
    return tuple((knob, min(value, number) if knob == INSIDE and number else value) for knob, value in setting)


def _takes(name: str, gpus: int, sockets: float, kind: str) -> bool:
    """Return whether a chassis has sockets for a host, and places of a form for so many GPUs."""
    own = EVERY_CHASSIS[name]
    return own.gpus.value >= gpus and own.sockets.value >= sockets and (not kind or kind in forms(name))


def _a(state: str) -> str:
    return {"research": "a research", "announced": "an announced", "discontinued": "a discontinued"}.get(
        state, f"a part {state},"
    )


def _price(chassis: str) -> float:
    price = EVERY_CHASSIS[chassis].price
    return inf if price is None else price.value


def costs(points: Iterable[DesignPoint | NotScheduled | str]) -> list[Estimated]:
    """Return what points take and cost; a sentence or what is not scheduled says why there is nothing."""
    found: list[Any] = list(points)
    some = {i: one for i, one in enumerate(found) if not isinstance(one, str)}
    for i, one in zip(some, evaluate(some.values(), _estimated), strict=True):
        found[i] = _problem(one) if isinstance(one, NotScheduled) else one
    return [Estimated(problem=one) if isinstance(one, str) else one for one in found]


def _problem(one: NotScheduled) -> str:
    return str(one.error) if one.error else " ".join(one.problems)


def _estimated(points: Sequence[DesignPoint], seen: Observed) -> list[Estimated]:
    return [_cost(point, steady) for point, steady in zip(points, averages(points, seen), strict=True)]


def _cost(point: DesignPoint, steady: Steady) -> Estimated:
    prices = [device.price for device in point.machine.devices.values()]
    capital = None if None in prices else float(sum(price or 0.0 for price in prices))
    step, joules = float(steady.step), float(steady.energy)
    return Estimated(step, joules, room_watts(point.machine.scenario, joules / step), capital, "", point.machine.settled)
