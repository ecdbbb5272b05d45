"""Supply of a part: whether it can be bought, and weeks to its delivery."""

from dataclasses import dataclass
from pathlib import Path

from .tables import AVAILABILITY, YEAR_OR_MONTH, Table, check_keys, checked_line, joined_words, read_availability, refuse

DELIVERY = "delivery"
DELIVERED_KINDS = ("gpu",)  # kinds of parts whose files may state a delivery
DELIVERY_KEYS = ("weeks", "date", "source")
MAX_WEEKS = 520


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


def check_supply(path: Path | str, content: Table, states: tuple[str, ...]) -> None:
    """Raise BadFile for a state that is none of `states`, or for a wrong delivery."""
    read_availability(path, content, states)
    read_delivery(path, content)


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
