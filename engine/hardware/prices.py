"""Money: the price of electricity, a machine's service life, and the words that date every dollar.

The year is `machine.prices`; of "recorded" prices it is the years of those that a machine pays.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from ..core.constants import Constant
from ..core.part_files.known import BETWEEN
from ..registry import load
from ..scenario.knobs import listed
from ..scenario.machine import PARTS, RECORDED, SERVICE_LIFE, MachineKnobs
from .device import Device, DeviceKind
from .devices import gatherer, remote
from .devices.dram import grade_name

# By device the part that it is, as `machine.owned_parts` calls it; links and networks have none.
CHOSEN: Mapping[str, Callable[[MachineKnobs], str | None]] = {
    "gpu": lambda machine: machine.gpu,
    "host": lambda machine: machine.host,
    "dram": grade_name,
    "pmem": lambda machine: machine.pmem,
    "ssd": lambda machine: machine.ssd,
    "expander-dram": lambda machine: machine.expander or machine.expander_dram,
    "chassis": lambda machine: machine.chassis,
    "near-data": lambda machine: machine.near_data_logic,
    "remote": lambda machine: remote.KIND,
    "gatherer": lambda machine: gatherer.KIND,
}
BARE = re.compile(r"\bUSD\b(?!/|\]| \(| of)")  # neither a unit of prices, nor in a column's name, nor dated already
ELECTRICITY = Constant(
    "electricity",
    0.081,
    "USD/kWh",
    0.058,
    0.19,
    "secondary",
    "U.S. industry in 2023, EIA Electric Power Annual; range: its states",
    year=2023,
)
LIFE = Constant(
    "service life",
    SERVICE_LIFE,
    "years",
    4,
    6,
    "stated",
    "annual reports for 2022: servers of Meta 5 years, Alphabet and Microsoft 6",
)


def electricity(machine: MachineKnobs) -> Constant:
    """Return the price of a kWh: the scenario's own, or that of the year of its prices."""
    if machine.electricity_USD_per_kWh is not None:
        own = machine.electricity_USD_per_kWh
        return Constant("electricity", own, "USD/kWh", own, own, "unsourced", "machine.electricity_USD_per_kWh")
    return ELECTRICITY if machine.prices == RECORDED else ELECTRICITY.in_year(int(machine.prices))


def is_owned(machine: MachineKnobs, device: str) -> bool:
    """Return whether the part that a device is was owned before; its price is then 0."""
    if not machine.owned_parts or device not in CHOSEN:
        return False
    return _short(CHOSEN[device](machine) or "") in map(_short, listed(machine.owned_parts))


def _short(name: str) -> str:
    """Return a name without the digest of a part of one's own: a file that has changed is still of a part that is owned."""
    return name.partition(BETWEEN)[0]


def paid_prices(devices: Iterable[Device]) -> tuple[Constant, ...]:
    """Return the dated prices of the devices that a machine pays for."""
    return tuple([constant for device in devices if device.price for constant in device.constants if constant.year])


def dollars(machine: MachineKnobs, prices: Iterable[Constant]) -> str:
    """Return the unit of an amount of money made of these prices: "USD (2026)", or "USD of 2019 to 2023" as recorded."""
    if machine.prices != RECORDED:
        return f"USD ({machine.prices})"
    years = sorted({price.year for price in prices if price.year})
    return f"USD of {years[0]} to {years[-1]}" if len(years) > 1 else f"USD of {years[0]}" if years else "USD"


def with_year(sentence: str, unit: str) -> str:
    """Return a sentence whose bare "USD" say their year, as `unit` has it."""
    return BARE.sub(unit, sentence)


def unpriced(machine: MachineKnobs, devices: Mapping[str, Device]) -> tuple[str, ...]:
    """Return a sentence for each device for which no price is published: its money is left out, not counted as 0."""
    return tuple(
        f"{_part(machine, name)} has no published price: money is left out; machine.assume can give one."
        for name, device in devices.items()
        if device.price is None
    )


def _part(machine: MachineKnobs, name: str) -> str:
    """Return a device's title with the part that the machine's knobs choose."""
    kind: DeviceKind = load("devices", name)
    parts = kind.parts()
    chosen = ((path, getattr(machine, path)) for path in kind.reads if path in PARTS and getattr(machine, path))
    own = (PARTS[path].shown(part) for path, part in chosen if part in parts or {*PARTS[path].kinds} & {*kind.kinds})
    return f"{kind.title} {next(own, '')}".rstrip()


def dates(machine: MachineKnobs, prices: Iterable[Constant]) -> str:
    """Return in a sentence from which years the prices are; "" where all are of the year asked for, or as recorded."""
    if machine.prices == RECORDED:
        return ""
    old = sorted({price.year for price in prices if price.year not in (0, int(machine.prices))})
    if not old:
        return ""
    told = f"{old[0]} to {old[-1]}" if len(old) > 1 else f"{old[0]}"
    return f"What has no price of {machine.prices} is at its nearest one, of {told}, its range wider by 1.25 each year."
