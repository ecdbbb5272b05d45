"""Money: the price of electricity, a machine's service life, and the years of prices.

The knob `machine.prices` is the year of all prices. If it is "recorded", each price is of the year in which it was recorded.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import floor

from ...core.arithmetic import total
from ...core.constants import Constant
from ...core.part_files.lists import owned_count
from ...registry import load_variant
from ...scenario.machine import PARTS, RECORDED, SERVICE_LIFE, MachineKnobs
from ..device import Device, DeviceKind
from .bill import BillItem

OWNED_MODULE_GB = 64  # size of the DIMMs that a list of owned parts counts
UNDATED_USD = re.compile(r"\bUSD\b(?!/|\]| \(| of)")  # USD without a year: no unit of prices, no column's name
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
    """Return the price of a kWh: the scenario's own, or that of `machine.prices`' year."""
    if machine.electricity_USD_per_kWh is not None:
        chosen_price = machine.electricity_USD_per_kWh
        return Constant(
            "electricity", chosen_price, "USD/kWh", chosen_price, chosen_price, "unsourced", "machine.electricity_USD_per_kWh"
        )
    return ELECTRICITY if machine.prices == RECORDED else ELECTRICITY.in_year(int(machine.prices))


def with_owned_parts(machine: MachineKnobs, bill: Iterable[BillItem], before: Iterable[BillItem] = ()) -> tuple[BillItem, ...]:
    """Return a bill on which parts that the user owns already are marked.

    before: the bill of devices that take parts first, where the number of owned parts is limited.
    """
    taken = list(before)
    marked: list[BillItem] = []
    for item in bill:
        size = _counted_size(item)
        others = (other for other in taken if (other.kind, other.part, other.key) == (item.kind, item.part, item.key))
        used = total(other.count * _counted_size(other) for other in others)
        left = max(owned_count(machine.owned_parts, item.kind, item.part) - used, 0.0) / size
        marked.append(replace(item, owned=item.count if left >= item.count else float(floor(left))))
    return tuple(marked)


def _counted_size(item: BillItem) -> float:
    """Return how many owned parts one part of a bill takes: DIMMs are counted in modules of 64 GB."""
    return float(item.size.partition(" ")[0]) / OWNED_MODULE_GB if item.kind == "dram" and item.size else 1.0


def paid_prices(devices: Iterable[Device]) -> tuple[Constant, ...]:
    """Return the prices with a year of all parts that cost money."""
    return tuple([item.price for device in devices for item in device.bill if item.usd and item.price and item.price.year])


def money_unit(machine: MachineKnobs, prices: Iterable[Constant]) -> str:
    """Return the unit of money: "USD (2026)", or "USD of 2019 to 2023" for recorded prices."""
    if machine.prices != RECORDED:
        return f"USD ({machine.prices})"
    years = sorted({price.year for price in prices if price.year})
    return f"USD of {years[0]} to {years[-1]}" if len(years) > 1 else f"USD of {years[0]}" if years else "USD"


def with_year(sentence: str, unit: str) -> str:
    """Return a sentence with each "USD" without a year replaced by `unit`."""
    return UNDATED_USD.sub(unit, sentence)


def unpriced_sentences(machine: MachineKnobs, devices: Mapping[str, Device]) -> tuple[str, ...]:
    """Return a sentence for each device without a published price.

    The costs of a machine with such a device are not shown.
    """
    return tuple(
        f"{_part(machine, name)} has no published price, so no costs are shown; machine.quotes can give a price."
        for name, device in devices.items()
        if device.price is None
    )


def _part(machine: MachineKnobs, name: str) -> str:
    """Return a device's title with the part that the machine's knobs choose."""
    kind: DeviceKind = load_variant("devices", name)
    parts = kind.parts()
    choices = ((path, getattr(machine, path)) for path in kind.knob_names if path in PARTS and getattr(machine, path))
    titles = (PARTS[path].list_name(part) for path, part in choices if part in parts or {*PARTS[path].kinds} & {*kind.kinds})
    return f"{kind.title} {next(titles, '')}".rstrip()


def price_years_sentence(machine: MachineKnobs, prices: Iterable[Constant]) -> str:
    """Return a sentence with the years of prices that are not of the asked year.

    Return "" if all prices are of the asked year, or if `machine.prices` is "recorded".
    """
    if machine.prices == RECORDED:
        return ""
    years = sorted({price.year for price in prices if price.year not in (0, int(machine.prices))})
    if not years:
        return ""
    span = f"{years[0]} to {years[-1]}" if len(years) > 1 else f"{years[0]}"
    return (
        f"A part without a price of {machine.prices} has the nearest year's, of {span}, with a range wider by 1.25 times per "
        "year."
    )
