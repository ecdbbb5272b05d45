"""Quotes of pieces of a bill, stored in the unit of the part's file."""

from math import floor, log10

from ...core.figures import exact
from ...core.part_files.lists import LISTING, MOST_USD, QUOTES, PartEntry, bare_name, read_entries
from ...errors import BadKnob
from .bill import BillItem

DIGITS = 15  # of a price of a piece; a quote of a unit times the units gives it back to so many digits


def piece_quote(quotes: str, item: BillItem) -> float | None:
    """Return the quoted USD of one part of a bill; None without a quote.

    quotes: the quotes as `machine.quotes` lists them.
    """
    entry = next((entry for entry in read_entries(quotes) if _is_of(entry, item)), None)
    if entry is None or entry.number is None:
        return None
    usd = entry.number * item.units
    return round(usd, DIGITS - 1 - floor(log10(usd))) if usd else 0.0


def with_piece_quote(quotes: str, item: BillItem, usd: float | None) -> str:
    """Return quotes with a price of one part of a bill.

    If `usd` is None, the quotes have none of the part.
    Raises BadKnob for a price out of range, and for a part that has no file and so no quote.
    """
    if item.kind not in QUOTES.kinds():
        raise BadKnob(f"{item.part} has no file in the catalogue, so it cannot be quoted; leave its price as it is.")
    if usd is not None and not 0 <= usd <= MOST_USD * min(item.units, 1.0):
        raise BadKnob(f"{usd!r} USD is not a price of {item.part}; write USD from 0 to {exact(MOST_USD * min(item.units, 1.0))}.")
    others = [entry for entry in read_entries(quotes) if not _is_of(entry, item)]
    own = [] if usd is None else [PartEntry(item.kind, item.part, _key(item), usd / item.units)]
    return LISTING.join(entry.text for entry in (*others, *own))


def _key(item: BillItem) -> str:
    """Return the key of a bill's price as quotes write it: "" for the first of its kind."""
    return "" if item.key == QUOTES.kinds().get(item.kind, (item.key,))[0] else item.key


def _is_of(entry: PartEntry, item: BillItem) -> bool:
    return (entry.kind, bare_name(entry.name), entry.key) == (item.kind, bare_name(item.part), _key(item))
