"""Every machine of a space, one by one: what each takes and costs, and the least that meets a requirement.

Nothing here is of the verdict but the stops of its space; money is worked out anew from prices, watts and years.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import inf
from typing import Any, NamedTuple

from engine.core.catalog import form, part_content
from engine.errors import EmberpoolError
from engine.estimates import estimates
from engine.hardware.money.prices import electricity
from engine.results.result import Result
from engine.scenario.scenario import Scenario, with_values
from engine.schedule.machine import settle
from engine.systems.buildable import does_not_fit, states_of
from engine.systems.system import Settled

Space = Mapping[str, Sequence[Any]]  # the stops of one system, by knob
SECONDS_OF_A_YEAR, JOULES_OF_A_KWH = 12 * 730 * 3600, 3.6e6
AT_THE_METER = {"machine.energy_level": "room"}  # where joules are counted, and paid
ROUNDING = 1e-9  # so that a machine is as fast as itself
BUYABLE = ("on sale", "unknown")


class Machine(NamedTuple):
    """A machine that can be built and trains: its knobs, and what it takes and costs.

    capital: USD, None without a price. cost: USD of a billion samples. month: USD of a month. energy: J a sample. time: s a
    sample.
    """

    settings: Mapping[str, Any]
    capital: float | None
    cost: float | None
    energy: float
    time: float
    month: float | None = None


def machines(base: Scenario, system: str, space: Space, states: Sequence[str] = BUYABLE) -> list[Machine]:
    """Return all machines of a system whose parts fit, are of some states, and train."""
    settings = list(_built(base, system, space, states))
    results = estimates([with_values(base, {**machine_settings, **AT_THE_METER}) for machine_settings in settings])
    return [_machine(machine_settings, result) for machine_settings, result in zip(settings, results, strict=True) if result.ran]


def cheapest_machine(
    candidates: Sequence[Machine], objective: str, throughput: float = 0.0, budget: float | None = None
) -> Machine | None:
    """Return the machine of least `objective` of those that reach a throughput within a budget; None where none does."""
    meeting = [machine for machine in candidates if shortfall(machine, throughput, budget) <= 1 + ROUNDING]
    priced = [machine for machine in meeting if getattr(machine, objective) is not None]
    return min(priced, key=lambda machine: float(getattr(machine, objective)), default=None)


def shortfall(machine: Machine, throughput: float, budget: float | None) -> float:
    """Return how many times too slow or too dear a machine is; without a price it misses every budget."""
    dear = 0.0 if budget is None else inf if machine.capital is None else machine.capital / budget
    return max(throughput * machine.time, dear)


def _built(base: Scenario, system: str, space: Space, states: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the settings of a space whose machine fits its chassis and has parts of some states alone."""
    for values in product(*space.values()):
        settings = {"system": system, **dict(zip(space, values, strict=True))}
        try:
            settled = settle(with_values(base, settings))
        except EmberpoolError:
            continue
        if (
            not settled.problems
            and not does_not_fit(settled)
            and _has_whole_boards(settled)
            and {*states_of(settled).values()} <= {*states}
        ):
            yield settings


def _has_whole_boards(settled: Settled) -> bool:
    """Return whether each place of a chassis with SXM or OAM GPUs has a GPU that trains; a slice of a GPU counts alone."""
    machine = settled.scenario.machine
    if "gpu" not in settled.system.devices or form("gpu", machine.gpu) not in ("SXM", "OAM") or "-mig-" in machine.gpu:
        return True
    places = part_content("chassis", machine.chassis or "")["GPU-places"]["value"]
    return machine.num_gpus % places == 0 and (machine.gpus_per_node == places or machine.num_gpus == places)


def _machine(settings: Mapping[str, Any], result: Result) -> Machine:
    figures, machine, samples = result.results, result.scenario.machine, result.scenario.data.batch_size
    seconds, joules = (figures["Step time [ms]"] or 0.0) / 1e3 / samples, (figures["Energy per batch [J]"] or 0.0) / samples
    capital, cost, month = figures["Capital cost [USD]"], None, None
    if capital is not None:
        written_off = capital * seconds / (machine.service_life_years * SECONDS_OF_A_YEAR)
        cost = 1e9 * (written_off + joules / JOULES_OF_A_KWH * electricity(machine).value)
        kwh = joules / seconds * machine.training_hours_a_month / 1e3
        month = capital / (12 * machine.service_life_years) + kwh * electricity(machine).value
    return Machine(settings, capital, cost, joules, seconds, month)
