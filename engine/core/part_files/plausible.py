"""Doubts about numbers of a user's part that are far from the catalogue's.

Such a number is mostly in another unit.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..figures import exact, figure
from .tables import Quantity

FAR = 30.0  # times outside the catalogue's range; generations of hardware differ by less
BASE_UNITS = ("B", "s", "J", "W", "FLOPS")
PREFIXES = ("f", "p", "n", "u", "m", "", "k", "M", "G", "T", "P")  # each a thousand times the one before
Range = tuple[float, float]
Table = Mapping[str, Any]


def catalogue_range(quantity: Quantity, contents: Iterable[Table]) -> Range | None:
    """Return the least and the largest number of a constant among parts.

    The default counts too, 0 does not. Return None if all are 0 or there is none.
    """
    tables = [table for content in contents for _, table in _tables(quantity.key, content.get(quantity.key))]
    default = [quantity.default.low, quantity.default.value, quantity.default.high] if quantity.default else []
    numbers = [number for number in (*default, *(table[word] for table in tables for word in ("low", "value", "high"))) if number]
    return (min(numbers), max(numbers)) if numbers else None


def doubts(
    path: Path | str, kind: str, quantities: Iterable[Quantity], content: Table, catalogue: Iterable[Table]
) -> Iterator[str]:
    """Yield a sentence for each value far outside the catalogue's range.

    content: the valid content of a part's file. catalogue: the contents of the shipped parts of its kind.
    """
    contents = tuple(catalogue)
    for quantity in quantities:
        limits = catalogue_range(quantity, contents) if quantity.key in content else None
        for key, table in _tables(quantity.key, content.get(quantity.key)) if limits else ():
            if (limits and table["value"]) and not limits[0] / FAR <= table["value"] <= limits[1] * FAR:
                yield f"{path} gives {_doubt(key, quantity.unit, kind, table['value'], limits)}"


def _tables(key: str, table: Any) -> Iterator[tuple[str, Table]]:
    """Yield a constant's table and those of its other sources and years, with their keys."""
    if isinstance(table, Mapping):
        yield key, table
        for group in ("others", "years"):
            yield from ((f"{key}.{group}.{name}", source_table) for name, source_table in table.get(group, {}).items())


def _doubt(key: str, unit: str, kind: str, number: float, limits: Range) -> str:
    """Return how far a number lies from the catalogue's, and the unit that it may be in."""
    is_above = number > limits[1]
    times, end = (number / limits[1], limits[1]) if is_above else (limits[0] / number, limits[0])
    steps = next((steps for steps in (1, 2, 3) if times <= FAR * 1000.0**steps), 3)
    written = shifted_unit(unit, -steps if is_above else steps)
    slip = f"is it in {written}?" if written else "check the number and its unit."
    extreme = "largest" if is_above else "least"
    return (
        f"{key} = {exact(number)} {unit}, {figure(times)} times {'above' if is_above else 'below'} the {extreme} of the "
        f"catalogue's parts of the kind {kind}, {exact(end)} {unit}; {slip}"
    )


def shifted_unit(unit: str, steps: int) -> str:
    """Return the unit that is 1000 ** `steps` times as large, such as MB/s for GB/s and -1.

    Return "" if the unit has no such prefix.
    """
    first, slash, rest = unit.partition("/")
    for base in BASE_UNITS:
        prefix = first.removesuffix(base)
        if first.endswith(base) and prefix in PREFIXES:
            place = PREFIXES.index(prefix) + steps
            smallest = PREFIXES.index("") if base in ("B", "FLOPS") else 0  # there is no part of a byte
            return f"{PREFIXES[place]}{base}{slash}{rest}" if smallest <= place < len(PREFIXES) else ""
    return ""
