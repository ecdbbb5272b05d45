"""Running costs: a machine's price, electricity a month, and both for a billion samples.

Electricity is paid at the room's meter, whatever `machine.energy_level` counts. The price is written off evenly over the hours
of `machine.service_life_years` in which the machine trains (`machine.training_hours_a_month`). Faults, power in other hours,
staff and rent are not counted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..core.constants import Constant
from ..core.figures import exact, percent
from ..errors import EmberpoolError
from ..hardware.devices.wall import node_joule_factor, room_joule_factor
from ..hardware.money import prices
from ..hardware.money.bill import BillItem
from ..hardware.money.prices import LIFE, paid_prices
from ..results.result import Result
from ..scenario.machine import HOURS, RECORDED, MachineKnobs
from ..scenario.scenario import Scenario, with_values
from ..schedule.machine import machine_of, settle
from ..systems.system import in_chassis, powered_devices
from ..units import DAY, HOUR, MS

YEAR = 365.25 * DAY
MONTH = YEAR / 12
MONTHS_A_YEAR = 12
KWH, BILLION = 1e3 * HOUR, 1e9
RANKS_AS_TIME = 90  # % of energy; from this static share on, energy ranks machines as time does
PRICES = "machine.prices"


@dataclass(frozen=True)
class RunningCosts:
    """Costs of a machine in USD.

    capital: the machine's price; None where a part has no published price.
    kwh_month: kWh of a month of training.
    electricity_month: USD of these kWh.
    per_billion_samples: USD of price and electricity for a billion samples; None without a price.
    """

    capital: float | None
    kwh_month: float
    electricity_month: float
    per_billion_samples: float | None


def running_costs(result: Result) -> RunningCosts | None:
    """Return the running costs of a result's machine.

    Return None for a result that did not run.
    """
    if not result.ran:
        return None
    numbers = result.results
    machine, step = result.scenario.machine, (numbers["Step time [ms]"] or 0.0) * MS
    watts, capital = meter_watts(result), numbers["Capital cost [USD]"]
    paid = training_cost(machine, capital, watts, BILLION * step / result.scenario.data.batch_size)
    kwh_month, kwh_price = watts * machine.training_hours_a_month * HOUR / KWH, prices.electricity(machine).value
    return RunningCosts(
        capital=capital,
        kwh_month=kwh_month,
        electricity_month=kwh_month * kwh_price,
        per_billion_samples=None if paid.capital is None else paid.capital + paid.electricity,
    )


class TrainingCost(NamedTuple):
    """USD for some time of training: the written-off part of the price, and electricity.

    `capital` is None without a price.
    """

    capital: float | None
    electricity: float


def training_cost(machine: MachineKnobs, capital: float | None, watts: float, seconds: float) -> TrainingCost:
    """Return the cost of `seconds` of training on a machine.

    The machine costs `capital` USD and draws `watts` at the room's meter.
    """
    trained = machine.service_life_years * MONTHS_A_YEAR * machine.training_hours_a_month * HOUR
    written_off = None if capital is None else capital * seconds / trained
    return TrainingCost(written_off, watts * seconds / KWH * prices.electricity(machine).value)


def bill_of(scenario: Scenario) -> tuple[BillItem, ...]:
    """Return the bill of a scenario's machine, with its sizes chosen.

    Return () for a machine that cannot be built.
    """
    try:
        devices = machine_of(settle(scenario)).devices
    except EmberpoolError:
        return ()
    return tuple([item for device in devices.values() for item in device.bill if item.count])


def room_watts(scenario: Scenario, watts: float) -> float:
    """Return the watts at the room's meter, from `watts` at `machine.energy_level`."""
    machine = scenario.machine
    housed = in_chassis(scenario.system, machine)
    in_room = {"device": room_joule_factor(housed), "node": room_joule_factor(housed) / node_joule_factor(housed), "room": 1.0}
    return in_room[machine.energy_level] * watts


def meter_watts(result: Result) -> float:
    """Return the mean watts of a result's machine at the room's meter.

    They are those of the steady state; the result has run.
    """
    numbers = result.results
    step = (numbers["Step time [ms]"] or 0.0) * MS
    return room_watts(result.scenario, (numbers["Energy per batch [J]"] or 0.0) / step)


def static_energy_clause(results: Mapping[str, float | None]) -> str:
    """Return a clause on the share of energy that is static power; "" where unknown."""
    share = results.get("Static energy share [%]")
    if share is None:
        return ""
    ranking_note = ", so that energy ranks machines as time does" if share >= RANKS_AS_TIME else ""
    return f", of which {percent(share / 100)} is static power{ranking_note}"


def price_unit(scenario: Scenario) -> str:
    """Return the unit of a machine's price with the year of the dollars.

    For example "USD (2026)", or "USD of 2019 to 2023" where `machine.prices` is `recorded`.
    """
    return prices.money_unit(scenario.machine, _prices(scenario))


def electricity_unit(scenario: Scenario) -> str:
    """Return the unit of a price of electricity, with the year of the dollars."""
    return prices.money_unit(scenario.machine, [prices.electricity(scenario.machine)])


def running_cost_unit(scenario: Scenario) -> str:
    """Return the unit of sums of a machine's price and electricity."""
    return prices.money_unit(scenario.machine, (*_prices(scenario), prices.electricity(scenario.machine)))


def swept_price_unit(base: Scenario, paths: Iterable[str], settings: Iterable[tuple[str, Any]] = ()) -> str:
    """Return the unit of prices of swept points.

    paths: the knobs that differ between points. settings: knobs that all points share.
    """
    if (year := dict(settings).get(PRICES)) is not None:
        base, paths = with_values(base, {PRICES: year}), ()
    if PRICES in paths:
        return f"USD of each point's {PRICES}"
    return f"USD of each part's own year ({PRICES}=recorded)" if base.machine.prices == RECORDED else price_unit(base)


def price_note(scenario: Scenario) -> str:
    """Return a sentence on prices of other years than the chosen one, or ""."""
    return prices.price_years_sentence(scenario.machine, (*_prices(scenario), prices.electricity(scenario.machine)))


def _prices(scenario: Scenario) -> tuple[Constant, ...]:
    return paid_prices(powered_devices(scenario.system, scenario.machine).values())


def assumptions(scenario: Scenario) -> str:
    """Return the assumptions of the running costs, in sentences."""
    machine, kwh = scenario.machine, prices.electricity(scenario.machine)
    life = f" ({LIFE.source})" if machine.service_life_years == LIFE.value else ""
    source = f" ({kwh.source})" if machine.electricity_USD_per_kWh is None else ""
    fewer = machine.training_hours_a_month < HOURS
    trains = (
        f"{exact(machine.training_hours_a_month)} of {exact(HOURS)} hours a month, drawing nothing in others,"
        if fewer
        else "all the time"
    )
    sentences = (
        (
            f"Assumed: the machine trains {trains} for {exact(machine.service_life_years)} years{life} and then has no value; "
            f"electricity, including that of fans, supplies and the room's cooling, costs {exact(kwh.value)} USD/kWh{source}."
        ),
        "Training all the time would favour larger machines." if fewer else "",
        price_note(scenario),
    )
    return " ".join(filter(None, sentences))
