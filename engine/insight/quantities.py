"""Named quantities: numbers that several pages show, each by one function.

A page shows such a number under the quantity's name alone. A number of another extent has another name: with or without a
protection, at the devices or at the meter, of a batch or of each lookup.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from ..results.ledger import JOULES, OUTAGE, SECONDS, TRAINING, ledger_sum
from ..results.metrics import all_metrics
from ..results.result import Result
from ..scenario.scenario import Scenario
from ..systems.traffic import table_bytes
from .running_costs import (
    RunningCosts,
    electricity_unit,
    meter_watts,
    price_unit,
    running_cost_unit,
    running_costs,
)

CAPITAL = "Capital cost [USD]"
POWER = "Power at the meter [W]"
ELECTRICITY = "Electricity a month [USD]"
BILLION_SAMPLES = "Per billion samples [USD]"
TABLES = "Embedding tables [B]"
HIT_RATE = "Cache hit rate [%]"
THROUGHPUT = "Throughput [samples/s]"
TRAINED, OUTAGES = "Trained in [s]", "Outages [s]"
TRAINING_ENERGY, OUTAGE_ENERGY = "Energy of training [J]", "Energy of outages [J]"


@dataclass(frozen=True)
class NamedQuantity:
    """A number of a result.

    counts: a sentence that says what the number counts.
    measure: a function that returns the number in the unit of the name, or None where the quantity does not apply.
    unit: a function from a scenario to the unit as shown, for USD with their year; None where the name has it.
    """

    counts: str
    measure: Callable[[Result], float | None]
    unit: Callable[[Scenario], str] | None = None


def _metric(name: str, result: Result) -> float | None:
    return result.results.get(name)


def _running_cost(read: Callable[[RunningCosts], float | None], result: Result) -> float | None:
    costs = running_costs(result)
    return read(costs) if costs else None


def _account_sum(column: str, accounts: tuple[str, ...], result: Result) -> float | None:
    """Return the sum of a ledger's accounts; None without a ledger, or for outages that did not happen."""
    amount = ledger_sum(result.ledger, column, accounts)
    return amount if amount or (result.ledger and accounts is TRAINING) else None


MONEY_UNITS: Mapping[str, Callable[[Scenario], str]] = MappingProxyType({CAPITAL: price_unit})
QUANTITIES: Mapping[str, NamedQuantity] = MappingProxyType(
    {
        **{
            metric.name: NamedQuantity(metric.help, partial(_metric, metric.name), MONEY_UNITS.get(metric.name))
            for metric in all_metrics()
        },
        POWER: NamedQuantity(
            "Mean power of a steady batch of one machine at the room's meter, with fans, supplies and cooling, under the "
            "system's own log.",
            lambda result: meter_watts(result) if result.ran else None,
        ),
        ELECTRICITY: NamedQuantity(
            "Electricity of one machine for machine.training_hours_a_month, at the room's meter.",
            partial(_running_cost, lambda costs: costs.electricity_month),
            electricity_unit,
        ),
        BILLION_SAMPLES: NamedQuantity(
            "Price written off, and electricity, for a billion trained samples; failures and other protections apart.",
            partial(_running_cost, lambda costs: costs.per_billion_samples),
            running_cost_unit,
        ),
        TRAINED: NamedQuantity(
            "Simulated time of a run without its outages, work done again included.", partial(_account_sum, SECONDS, TRAINING)
        ),
        OUTAGES: NamedQuantity(
            "Simulated time of a run's detection, repair, restart and restore.", partial(_account_sum, SECONDS, OUTAGE)
        ),
        TRAINING_ENERGY: NamedQuantity(
            "Energy of a run without its outages, work done again included.", partial(_account_sum, JOULES, TRAINING)
        ),
        OUTAGE_ENERGY: NamedQuantity(
            "Energy of a run's detection, repair, restart and restore.", partial(_account_sum, JOULES, OUTAGE)
        ),
        TABLES: NamedQuantity(
            "Bytes of all embedding tables, with optimizer state and checksums.", lambda result: table_bytes(result.scenario)
        ),
    }
)


def number(name: str, result: Result) -> float | None:
    """Return a result's number of the named quantity, None where it does not apply.

    Raises KeyError for an unknown name.
    """
    return QUANTITIES[name].measure(result)


def shown_unit(name: str, scenario: Scenario) -> str:
    """Return the unit in which a quantity is shown; for USD with their year."""
    if (unit := QUANTITIES[name].unit) is not None:
        return unit(scenario)
    return name[name.index("[") + 1 : -1] if name.endswith("]") else ""
