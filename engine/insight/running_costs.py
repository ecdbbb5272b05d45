"""Running costs of a machine that trains without a stop: capital, electricity a month, and both for a billion samples.

Electricity is paid in the room whatever `machine.energy_level` counts. Capital is written off evenly over `LIFE`; faults,
idle hours, staff and the room are not counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ..core.constants import Constant
from ..hardware.devices.wall import drawn_in_node, drawn_in_room
from ..results.result import Result
from ..units import DAY, HOUR, MS

ELECTRICITY = Constant(
    "electricity",
    0.081,
    "USD/kWh",
    0.058,
    0.19,
    "secondary",
    "U.S. industry in 2023, EIA Electric Power Annual; range: its states",
)
LIFE = Constant(
    "service life", 5, "years", 4, 6, "stated", "annual reports for 2022: servers of Meta 5 years, Alphabet and Microsoft 6"
)
YEAR = 365.25 * DAY
MONTH = YEAR / 12
KWH, BILLION = 1e3 * HOUR, 1e9
TIME_ALONE = 90  # % of energy that is static, from which on differences are those of time


@dataclass(frozen=True)
class RunningCosts:
    """In USD: the whole machine, a month's electricity (and its kWh), and both for a billion trained samples."""

    capital: float
    kwh_month: float
    electricity_month: float
    billion: float


def running_costs(result: Result) -> RunningCosts | None:
    """Return what a result's machine costs; None of a result that did not run."""
    if not result.ran:
        return None
    found = {name: value or 0.0 for name, value in result.results.items()}
    machine, step = result.scenario.machine, found["Step time [ms]"] * MS
    counted = {"device": 1.0, "node": drawn_in_node(machine), "room": drawn_in_room(machine)}[machine.energy_level]
    at_wall = drawn_in_room(machine) / counted
    watts, capital = at_wall * found["Energy per batch [J]"] / step, found["Capital cost [USD]"]
    seconds = BILLION * step / result.scenario.data.batch_size
    kwh_month = watts * MONTH / KWH
    return RunningCosts(
        capital=capital,
        kwh_month=kwh_month,
        electricity_month=kwh_month * ELECTRICITY.value,
        billion=capital * seconds / (LIFE.value * YEAR) + watts * seconds / KWH * ELECTRICITY.value,
    )


def static_energy(results: Mapping[str, float | None]) -> str:
    """Return the end of a sentence about energy: its static share, and that it ranks time where that is nearly all; may be ""."""
    share = results.get("Static energy share [%]")
    if share is None:
        return ""
    also = ", so that energy ranks machines as time does" if share >= TIME_ALONE else ""
    return f", of which {share:.0f} % is static power{also}"


def assumptions() -> str:
    """Return in a sentence what the running costs assume."""
    return (
        f"Assumed: the machine trains all the time for {LIFE.value:g} years and is then worth nothing; electricity at the wall "
        f"costs {ELECTRICITY.value:g} USD/kWh ({ELECTRICITY.source})."
    )
