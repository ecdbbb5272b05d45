"""Running costs of a machine that trains without a stop: capital, electricity a month, and both for a billion samples.

Electricity is paid at the wall whatever `machine.energy_level` counts. Capital is written off evenly over `LIFE`; faults,
idle hours, staff and the room are not counted.
"""

from dataclasses import dataclass

from ..core.constants import Constant
from ..results.result import Result
from ..systems.system import built
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


@dataclass(frozen=True)
class RunningCosts:
    """Capital and electricity in USD: of the whole machine, a month of training, and a billion trained samples."""

    capital: float
    watts: float
    kwh_month: float
    electricity_month: float
    capital_billion: float
    electricity_billion: float

    @property
    def billion(self) -> float:
        """USD for a billion trained samples, capital and electricity together."""
        return self.capital_billion + self.electricity_billion


def running_costs(result: Result, electricity: float = ELECTRICITY.value, life: float = LIFE.value) -> RunningCosts | None:
    """Return what a result's machine costs at so many USD a kWh over so many years; None of a result that did not run."""
    if not result.ran:
        return None
    found = {name: value or 0.0 for name, value in result.results.items()}
    machine, step = result.scenario.machine, found["Step time [ms]"] * MS
    at_wall = 1.0 if machine.energy_level == "wall" else built(machine, "wall").drawn_per_joule
    watts, capital = at_wall * found["Energy per batch [J]"] / step, found["Capital cost [USD]"]
    seconds = BILLION * step / result.scenario.data.batch_size
    kwh_month = watts * MONTH / KWH
    return RunningCosts(
        capital=capital,
        watts=watts,
        kwh_month=kwh_month,
        electricity_month=kwh_month * electricity,
        capital_billion=capital * seconds / (life * YEAR),
        electricity_billion=watts * seconds / KWH * electricity,
    )


def assumptions(electricity: float = ELECTRICITY.value, life: float = LIFE.value) -> str:
    """Return in a sentence what the running costs assume."""
    return (
        f"Assumed: the machine trains all the time for {life:g} years and is then worth nothing; electricity at the wall costs "
        f"{electricity:g} USD/kWh ({ELECTRICITY.source if electricity == ELECTRICITY.value else 'as asked'})."
    )
