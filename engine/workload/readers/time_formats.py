"""Formats of strptime in which texts may be written: found in the first cell, and tried on all.

A cell is cut into its clock, names of months and weekdays, zones and groups of digits. Groups that could be day, month or year
stand for each of them in turn; everything else is taken by its letters.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

MONTHS = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
PIECE = re.compile(
    r"(?P<clock>(?<!\d)\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?(?!\d))|(?P<offset>(?<=[\d )])[+-]\d{2}:?\d{2}(?!\d))"
    r"|(?P<word>[A-Za-z]+)|(?P<digits>\d+)|(?P<rest>.)",
    re.S,
)
KINDS = ("clock", "offset", "word", "digits", "rest")
ANYTHING = re.compile(".", re.S)
GROUPS = {2: ("dy", "yd"), 3: ("dmy", "mdy", "ymd")}  # with a month's name, and without
COMPACT = {8: ("%d%m%Y", "%m%d%Y", "%Y%m%d"), 6: ("%d%m%y", "%m%d%y", "%y%m%d")}
LONGEST = 64  # letters of a cell
FIRST = 20  # cells that are tried before all others


def time_formats(texts: Any) -> list[str]:
    """Return the formats that read all texts, one of each reading: two where a day could be a month."""
    return of_each_reading(reading_all(list(candidates(texts[0].as_py())) if len(texts) else [], texts), texts)


def reading_all(formats: Sequence[str], *blocks: Any) -> list[str]:
    """Return which formats read every text of some blocks."""
    for texts in (blocks[0][:FIRST], *blocks) if len(formats) > 1 else blocks:
        formats = [written for written in formats if not np.isnat(instants(written, texts)).any()]
    return list(formats)


def of_each_reading(formats: Sequence[str], *blocks: Any) -> list[str]:
    """Return the first of the formats that read all texts alike, for each reading."""
    if len(formats) < 2:
        return list(formats)
    readings: dict[bytes, str] = {}
    for written in formats:
        readings.setdefault(b"".join(instants(written, texts).tobytes() for texts in blocks), written)
    return list(readings.values())


def instants(written: str, texts: Any) -> Any:
    """Read texts by a format of strptime's or a word of pandas' for one, NaT for what is written otherwise; without zones.

    Instants are of microseconds, or of nanoseconds where a text has so many digits.
    """
    import pandas  # late: it takes a second, and most times are numbers

    times = pandas.to_datetime(pandas.Series(texts.to_pylist(), dtype="object"), format=written, utc=True, errors="coerce")
    found = times.dt.tz_localize(None).to_numpy()
    return found if found.dtype == "datetime64[ns]" else found.astype("datetime64[us]")


def candidates(cell: str) -> Iterator[str]:
    """Yield the formats in which a cell may be written; none for what has no date."""
    if len(cell) > LONGEST:
        return
    pieces = _pieces(cell)
    afternoon = any(kind == "word" and text.upper() in ("AM", "PM") for kind, text in pieces)
    choices = [_choices(kind, text, afternoon) for kind, text in pieces]
    digits = [place for place, (kind, _) in enumerate(pieces) if kind == "digits"]
    named = any("%b" in choice or "%B" in choice for choice in choices)
    groups = [pieces[place][1] for place in digits]
    if len(groups) == 1 and not named:
        orders: list[tuple[str, ...]] = [(whole,) for whole in COMPACT.get(len(groups[0]), ())]
    else:
        orders = [found for order in GROUPS.get(len(groups), ()) if (found := _order(groups, order))]
        orders = orders if named == (len(groups) == 2) else []
    for order in orders:
        for place, directive in zip(digits, order, strict=True):
            choices[place] = (directive,)
        yield from map("".join, product(*choices))


def _pieces(cell: str) -> list[tuple[str, str]]:
    """Return the pieces of a cell by their kinds; only behind a clock is +0200 an offset."""
    pieces: list[tuple[str, str]] = []
    end = 0
    while match := PIECE.match(cell, end):
        kind = next(name for name in KINDS if match[name] is not None)
        if kind == "offset" and "clock" not in (before for before, _ in pieces):
            kind, match = "rest", ANYTHING.match(cell, end) or match
        pieces.append((kind, match[0]))
        end = match.end()
    return pieces


def _choices(kind: str, text: str, afternoon: bool) -> tuple[str, ...]:
    """Return what a piece of a cell may be in a format."""
    if kind == "clock":
        seconds = {1: "", 2: ":%S"}[text.count(":")] + "".join(f"{mark}%f" for mark in ".," if mark in text)
        return (f"{'%I' if afternoon else '%H'}:%M{seconds}",)
    if kind == "offset":
        return ("%z",)
    if kind == "word":
        if text.upper() in ("AM", "PM"):
            return ("%p",)
        names = ((MONTHS, "%b", "%B"), (WEEKDAYS, "%a", "%A"))
        word = text.capitalize()
        found = [short for known, short, _ in names if word in (name[:3] for name in known)]
        found += [long for known, _, long in names if word in known]
        if found:
            return tuple(found)
    return (text.replace("%", "%%"),)


def _order(groups: Sequence[str], order: str) -> tuple[str, ...] | None:
    """Return the directives of groups of digits in an order; None where a year of four digits stands elsewhere."""
    wide = [place for place, group in enumerate(groups) if len(group) == 4]
    if any(len(group) not in (1, 2, 4) for group in groups) or (wide and wide != [order.index("y")]):
        return None
    return tuple("%Y" if letter == "y" and wide else f"%{letter}" for letter in order)
