"""Formats of strptime for texts of times, which are found from the texts.

The first cell gives candidates, which are tried on all cells. The cell is cut into its clock, names of months and weekdays, zones
and groups of digits. Each group that could be a day, a month or a year is tried as each of these; all other pieces are taken
literally.
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
ANY_LETTER = re.compile(".", re.S)
GROUPS = {2: ("dy", "yd"), 3: ("dmy", "mdy", "ymd")}  # orders of two groups beside a month's name, and of three without
COMPACT = {8: ("%d%m%Y", "%m%d%Y", "%Y%m%d"), 6: ("%d%m%y", "%m%d%y", "%y%m%d")}
LONGEST = 64  # letters of a cell
TRIAL_CELLS = 20  # first cells, on which formats are tried before all cells


def time_formats(texts: Any) -> list[str]:
    """Return the strptime formats that read all texts, one for each possible reading.

    There are several if, for example, a day could also be a month.
    """
    return format_for_each_reading(formats_for_all(list(candidate_formats(texts[0].as_py())) if len(texts) else [], texts), texts)


def formats_for_all(formats: Sequence[str], *blocks: Any) -> list[str]:
    """Return those of the formats that read all texts of the given blocks."""
    for texts in (blocks[0][:TRIAL_CELLS], *blocks) if len(formats) > 1 else blocks:
        formats = [time_format for time_format in formats if not np.isnat(read_instants(time_format, texts)).any()]
    return list(formats)


def format_for_each_reading(formats: Sequence[str], *blocks: Any) -> list[str]:
    """Return the first of all formats that read the texts as the same times.

    Formats with other times are other readings; there is one format for each reading.
    """
    if len(formats) < 2:
        return list(formats)
    readings: dict[bytes, str] = {}
    for time_format in formats:
        readings.setdefault(b"".join(read_instants(time_format, texts).tobytes() for texts in blocks), time_format)
    return list(readings.values())


def read_instants(time_format: str, texts: Any) -> Any:
    """Return texts as instants without zones; NaT if the format does not read a text.

    The format is strptime's, or pandas' name of a format. Instants are in microseconds, or in nanoseconds if a text has so many
    digits.
    """
    import pandas  # late: it takes a second, and most times are numbers

    times = pandas.to_datetime(pandas.Series(texts.to_pylist(), dtype="object"), format=time_format, utc=True, errors="coerce")
    datetimes = times.dt.tz_localize(None).to_numpy()
    return datetimes if datetimes.dtype == "datetime64[ns]" else datetimes.astype("datetime64[us]")


def candidate_formats(cell: str) -> Iterator[str]:
    """Yield the strptime formats in which a cell may be written.

    A cell without a date has no format.
    """
    if len(cell) > LONGEST:
        return
    pieces = _pieces(cell)
    afternoon = any(kind == "word" and text.upper() in ("AM", "PM") for kind, text in pieces)
    choices = [_choices(kind, text, afternoon) for kind, text in pieces]
    digits = [place for place, (kind, _) in enumerate(pieces) if kind == "digits"]
    has_month_name = any("%b" in choice or "%B" in choice for choice in choices)
    groups = [pieces[place][1] for place in digits]
    if len(groups) == 1 and not has_month_name:
        orders: list[tuple[str, ...]] = [(directive,) for directive in COMPACT.get(len(groups[0]), ())]
    else:
        orders = [directives for order in GROUPS.get(len(groups), ()) if (directives := _order(groups, order))]
        orders = orders if has_month_name == (len(groups) == 2) else []
    for order in orders:
        for place, directive in zip(digits, order, strict=True):
            choices[place] = (directive,)
        yield from map("".join, product(*choices))


def _pieces(cell: str) -> list[tuple[str, str]]:
    """Return the pieces of a cell with their kinds.

    +0200 is an offset only behind a clock.
    """
    pieces: list[tuple[str, str]] = []
    end = 0
    while match := PIECE.match(cell, end):
        kind = next(name for name in KINDS if match[name] is not None)
        if kind == "offset" and "clock" not in (piece_kind for piece_kind, _ in pieces):
            kind, match = "rest", ANY_LETTER.match(cell, end) or match
        pieces.append((kind, match[0]))
        end = match.end()
    return pieces


def _choices(kind: str, text: str, afternoon: bool) -> tuple[str, ...]:
    """Return the directives or letters that a piece of a cell may be in a format."""
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
        directives = [short_directive for full_names, short_directive, _ in names if word in (name[:3] for name in full_names)]
        directives += [long_directive for full_names, _, long_directive in names if word in full_names]
        if directives:
            return tuple(directives)
    return (text.replace("%", "%%"),)


def _order(groups: Sequence[str], order: str) -> tuple[str, ...] | None:
    """Return the directives of groups of digits in an order.

    The result is None where a year of four digits stands elsewhere.
    """
    year_places = [place for place, group in enumerate(groups) if len(group) == 4]
    if any(len(group) not in (1, 2, 4) for group in groups) or (year_places and year_places != [order.index("y")]):
        return None
    return tuple("%Y" if letter == "y" and year_places else f"%{letter}" for letter in order)
