"""The money of a verdict's row: bill, month, and quality of prices."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from ....core import figures
from ....hardware.money.bill import BillItem
from ....hardware.money.quality import UNSOURCED, quality_words
from ....hardware.money.quotes import QUOTED
from ....insight.running_costs import MONTHS_A_YEAR, price_unit, running_cost_unit
from ..aim import SplitCost
from ..decide import SystemRow

CENT = 0.01


def part_name(item: BillItem) -> str:
    """Return the name of a part on a bill, as `machine.quotes` writes it."""
    key = "" if item.key == "price" else item.key
    return "/".join(filter(None, (item.kind, item.part, key)))


def bill_content(items: Sequence[BillItem]) -> list[dict[str, Any]]:
    """Return a bill as JSON-ready objects.

    The sum of count times usd_each is the machine's price.

    count: parts to buy; owned: parts that are owned already; idle: GPUs of whole boards that do not train.
    unit_usd, unit: the price that a quote replaces.
    """
    return [
        {
            "part": part_name(item),
            "size": item.size or None,
            "count": item.bought,
            "owned": item.owned,
            "idle": item.spare,
            "usd_each": item.each,
            "low": None if item.price is None else item.units * item.price.low,
            "high": None if item.price is None else item.units * item.price.high,
            "usd": item.usd,
            "year": (item.price.year if item.price else 0) or None,
            "source": item.price.source if item.price else None,
            "sourced": item.price is not None and item.price.confidence != UNSOURCED,
            "used": item.price is not None and item.price.used,
            "quoted": item.price is not None and item.price.source == QUOTED,
            "unit_usd": item.price.value if item.price else None,
            "unit": item.price.unit if item.price else None,
        }
        for item in items
        if item.count
    ]


def bill_text(items: Sequence[BillItem]) -> str:
    """Return a bill in one cell of a table: "8 x gpu/h100-sxm at 30000 USD; ..."."""
    return "; ".join(map(_item_text, (item for item in items if item.count)))


def _item_text(item: BillItem) -> str:
    named = " ".join(filter(None, (item.size, part_name(item))))
    return f"{figures.exact(item.bought)} x {named} at {'no price' if item.each is None else f'{item.each!r} USD'}"


def price_words(row: SystemRow) -> str:
    """Return a row's price, and its share at old or unsourced prices."""
    if row.scenario is None or row.capital is None:
        return "no published price"
    weak = quality_words(row.bill, int(row.scenario.machine.prices))
    return f"{figures.figure(row.capital, price_unit(row.scenario))}{f', {weak}' if weak else ''}"


def month_words(row: SystemRow) -> str:
    """Return a row's cost of a month and of what it consists; "" without a price."""
    if row.scenario is None or row.month is None:
        return ""
    months = figures.exact(row.scenario.machine.service_life_years * MONTHS_A_YEAR)
    parts = [
        f"{_amount(row.month.capital)} of it the purchase over {months} months",
        f"{_amount(row.month.electricity)} electricity",
    ]
    parts += [f"{_amount(row.month.failures)} lost to failures"] * (row.month.failures >= CENT)
    return f"about {figures.figure(row.month.total, 'USD')} a month ({', '.join(parts)})"


def billion_words(row: SystemRow) -> str:
    """Return the cost of a billion samples with its unit; "" without a price."""
    if row.scenario is None or row.cost is None:
        return ""
    return f"{figures.figure(row.cost.total, running_cost_unit(row.scenario))} a billion samples"


def split_content(split: SplitCost | None) -> dict[str, float | None]:
    """Return the parts of a cost as a JSON-ready object; null where infinite or unknown."""
    names = {"capital": "capital", "electricity": "electricity", "lost_to_failures": "failures"}
    return {name: _finite(getattr(split, field)) if split else None for name, field in names.items()}


def _amount(usd: float) -> str:
    return figures.figure(usd) if usd >= CENT else "0"


def _finite(number: float | None) -> float | None:
    return number if number is not None and isfinite(number) else None
