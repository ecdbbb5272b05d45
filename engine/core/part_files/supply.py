"""Supply of a part: whether it can be bought, and weeks to its delivery."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..constants import Constant
from .tables import AVAILABILITY, USED, YEAR_OR_MONTH, Table, check_keys, checked_line, joined_words, read_availability, refuse

DELIVERY = "delivery"
DELIVERED_KINDS = ("gpu",)  # kinds of parts whose files may state a delivery
DELIVERY_KEYS = ("weeks", "date", "source")
MAX_WEEKS = 520
USED_STATES = ("discontinued", "unknown")  # of parts that may have the price of a used one


@dataclass(frozen=True, slots=True)
class Delivery:
    """The time from an order of a part to its delivery.

    low, high: weeks. date: the year or month of the statement. source: who states it.
    """

    low: float
    high: float
    date: str = ""
    source: str = ""


def supply_tables(kind: str) -> tuple[str, ...]:
    """Return the tables of supply that files of a kind may have."""
    return (AVAILABILITY, DELIVERY) if kind in DELIVERED_KINDS else (AVAILABILITY,)


def check_supply(path: Path | str, content: Table, states: tuple[str, ...], constants: Mapping[str, Constant]) -> None:
    """Raise BadFile for a state not in `states`, a wrong delivery, or a used price.

    constants: the part's constants by key.
    """
    availability = read_availability(path, content, states)
    read_delivery(path, content)
    _check_used_prices(path, availability.state, constants)


def _check_used_prices(path: Path | str, state: str, constants: Mapping[str, Constant]) -> None:
    """Raise BadFile for the price of a used part where the part is sold new.

    state: the part's availability. constants: the part's constants by key.
    """
    if state in USED_STATES:
        return
    for key, price in constants.items():
        used_keys = [f"{key}.{USED}"] * price.used + [
            f"{key}.years.{year}" for year, dated_price in price.years if dated_price.used
        ]
        if used_keys:
            refuse(
                path,
                f"gives {used_keys[0]}, the price of a used part, but the part is {state}; write the price of a new one, as only "
                "a discontinued part has the price of a used one.",
            )


def read_delivery(path: Path | str, content: Table) -> Delivery | None:
    """Return the delivery that a part's file states, None without one; raises BadFile."""
    if DELIVERY not in content:
        return None
    table = content[DELIVERY]
    check_keys(path, DELIVERY, table, DELIVERY_KEYS)
    if missing_keys := [key for key in DELIVERY_KEYS if key not in table]:
        refuse(path, f"lacks {missing_keys[0]} in [{DELIVERY}]; this table has {joined_words(DELIVERY_KEYS)}.")
    weeks = table["weeks"]
    numbers = [number for number in weeks if type(number) in (int, float)] if isinstance(weeks, list) else []
    if len(numbers) != 2 or len(weeks) != 2 or not 0 <= numbers[0] <= numbers[1] <= MAX_WEEKS:
        refuse(path, f"gives {DELIVERY}.weeks = {weeks!r:.40}; write [LOW, HIGH], two rising numbers from 0 to {MAX_WEEKS}.")
    if not YEAR_OR_MONTH.fullmatch(str(table["date"])):
        refuse(path, f'gives {DELIVERY}.date = {table["date"]!r:.40}; write a year or a month: "2026" or "2026-05".')
    source = checked_line(path, f"{DELIVERY}.source", table["source"])
    return Delivery(float(numbers[0]), float(numbers[1]), str(table["date"]), source)
