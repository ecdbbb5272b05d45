"""Quotes: the prices that a scenario states for single parts, by `machine.quotes`."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ...core.constants import Constant
from ...core.part_files.lists import read_entries
from ...core.part_files.tables import MONEY, Quantity
from ...scenario.machine import RECORDED, MachineKnobs

QUOTED = "your quote"  # source of a quoted price
NO_QUOTES: Mapping[str, Constant] = MappingProxyType({})


def quoted_prices(machine: MachineKnobs, kind: str, name: str, quantities: Iterable[Quantity]) -> Mapping[str, Constant]:
    """Return the quoted prices of a part, by their key in its file.

    quantities: the constants of the part's kind. A quote without a key is of the first price among them.
    """
    entries = [entry for entry in read_entries(machine.quotes) if entry.names(kind, name)] if machine.quotes and kind else []
    if not entries:
        return NO_QUOTES
    prices = {quantity.key: quantity for quantity in quantities if quantity.unit in MONEY}
    first_key = next(iter(prices))
    year = 0 if machine.prices == RECORDED else int(machine.prices)
    usd_by_key = {entry.key or first_key: entry.number or 0.0 for entry in entries}
    return {key: _quoted(prices[key], usd, year) for key, usd in usd_by_key.items() if key in prices}


def _quoted(quantity: Quantity, usd: float, year: int) -> Constant:
    return Constant(quantity.name, usd, quantity.unit, usd, usd, "stated", QUOTED, year=year)
