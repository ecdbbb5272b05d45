"""A guess of what the columns of an unknown table mean, by their names and the first records."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...errors import BadFile
from .cells import is_number

Role = Literal["label", "id", "list", "number", "time", "text", "constant"]
ISO_TIME = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?)?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?")
OTHER_TIME = re.compile(r"\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}([ ,T]+\d{1,2}:\d{2}.*)?|.*\b\d{1,2}:\d{2}:\d{2}\b.*")
NAMED_TIME = re.compile(  # a date that names its month or weekday
    r"(?=.*\d)(?=.*\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*\b).{6,64}$", re.I
)
WHOLE = re.compile(r"[+-]?\d+(\.0*)?")
BRACKETED = re.compile(r"[\[({].*[\])}]", re.S)
WORDS: Mapping[Role, re.Pattern[str]] = {
    "label": re.compile(
        r"^(is_?)?(label|click(ed)?|clk|target|y|conversion|converted|purchased?|bought|liked?|like|install(ed)?)$"
    ),
    "time": re.compile(r"(^|_)(time|timestamp|ts|date|datetime|day|hour|unix|created|updated)(_|$)|time(stamp)?(ms)?$|_at$"),
    "id": re.compile(
        r"(^|_)(u?id|uuid|key|code|user|item|movie|product|video|ad|site|device|sku|asin|hash|cat|category)s?$"
        r"|(user|item|movie|product|video|ad|site|device|session|shop|store|news|song|track|artist|page|query|doc|customer)id$"
    ),
    "number": re.compile(
        r"(^|_)(price|age|count|cnt|num|amount|duration|ratio|length|score|rate|size|width|height|views?|seconds|ms|pct|percent"
        r"|weight|quantity|qty|total|avg|mean|revenue|cost|budget|balance|year)(_|$)"
    ),
}
RATING = re.compile(r"(^|_)(ratings?|stars?|score|watch_ratio|played_ratio_pct|overall)$")
EVENT = re.compile(r"(^|_)(event(_?type)?|behaviou?r(_?type)?|action(_?type)?|interaction(_?type)?)$")
WANTED_EVENTS = ("purchase", "buy", "transaction", "conversion", "click", "clk", "cart", "addtocart", "like", "fav")
FEW, MANY_VALUES = 20, 0.5  # distinct values of a class; share of distinct cells that makes text free
SAMPLE = 1000  # records that are looked at


@dataclass(frozen=True, slots=True)
class Guess:
    """What a column seems to be; a `list` has its `separator`, a label perhaps a `rule` such as ">= 4", a time its format."""

    name: str
    role: Role
    separator: str = ""
    rule: str = ""


def guesses(columns: Mapping[str, Sequence[str]]) -> tuple[Guess, ...]:
    """Return a guess of each column, given by name and its first cells; at most one is the label, and one the time."""
    found = {name: _guess(name, [cell.strip() for cell in cells[:SAMPLE]]) for name, cells in columns.items()}
    label = _label(found, columns)
    times = [name for name, one in found.items() if one.role == "time"]
    for name in times[1:]:
        found[name] = Guess(name, "text")
    for name, one in found.items():
        if one.role == "label" and (label is None or name != label.name):
            found[name] = Guess(name, "id")
    if label:
        found[label.name] = label
    return tuple(found.values())


def _guess(name: str, cells: Sequence[str]) -> Guess:
    """Return what a column is by itself."""
    filled = [cell for cell in cells if cell]
    word = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower().strip()
    distinct = len(set(filled))
    if distinct < 2:
        return Guess(name, "constant")
    numeric = all(map(is_number, filled))
    whole = numeric and all(map(WHOLE.fullmatch, filled))
    if not numeric and all(ISO_TIME.fullmatch(cell) or OTHER_TIME.fullmatch(cell) for cell in filled):
        return _time(name, filled)
    if not numeric and NAMED_TIME.match(filled[0]) and (guess := _time(name, filled)).role == "time":
        return guess
    if set(map(_truth, filled)) == {0, 1} and not WORDS["id"].search(word):
        return Guess(name, "label")
    if numeric and WORDS["time"].search(word):
        return Guess(name, "time")
    if WORDS["number"].search(word) and numeric:
        return Guess(name, "number")
    if not numeric and (separator := _separator(filled)):
        return Guess(name, "list", separator)
    if numeric and not whole:
        return Guess(name, "number")
    if not numeric and _free(word, filled):
        return Guess(name, "text")
    return Guess(name, "id")


def _time(name: str, cells: Sequence[str]) -> Guess:
    """Return a column of times, with their format where a day could be a month; text where none is known that reads them."""
    from pyarrow import array  # late: Arrow takes a third of a second

    from .time_formats import time_formats
    from .times import Times

    texts = array(cells, "large_string")
    try:
        Times()(texts, str)
    except BadFile:
        formats = time_formats(texts)
        return Guess(name, "time", rule=formats[0]) if formats else Guess(name, "text")
    return Guess(name, "time")


def _truth(cell: str) -> int | None:
    if is_number(cell):
        return int(float(cell)) if float(cell) in (0, 1) else None
    return {"true": 1, "false": 0}.get(cell.lower())


def _separator(cells: Sequence[str]) -> str:
    """Return what stands between the ids of most cells that have several, or ""."""
    bracketed = 2 * sum(map(bool, map(BRACKETED.fullmatch, cells))) > len(cells)
    inner = [cell[1:-1] if bracketed else cell for cell in cells]
    if bracketed:
        return next((mark for mark in ",;|" if any(mark in cell for cell in inner)), " ")
    for mark in "|;, ":
        several = [cell for cell in inner if mark in cell.strip(mark)]
        pieces = [piece.strip() for cell in several for piece in cell.split(mark) if piece.strip()]
        again = len(set(pieces)) <= len(pieces) / 2
        tokens = all(re.fullmatch(r"[\w&' -]{1,40}" if mark == "|" else r"[\w-]{1,40}", piece) for piece in pieces)
        if pieces and tokens and again and 5 * len(several) > len(inner):
            return mark
    return ""


def _free(word: str, cells: Sequence[str]) -> bool:
    """Return whether texts are prose, titles and the like, rather than ids."""
    if WORDS["id"].search(word):
        return False
    blanks = sum(" " in cell for cell in cells)
    return 4 * blanks > len(cells) and len(set(cells)) > MANY_VALUES * len(cells)


def _label(found: Mapping[str, Guess], columns: Mapping[str, Sequence[str]]) -> Guess | None:
    """Return which column seems to be the label, and by which rule: by its name, then by what it holds."""
    words = {name: re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower().strip() for name in found}
    binary = [name for name, one in found.items() if one.role == "label"]
    for name in binary:
        if WORDS["label"].search(words[name]):
            return Guess(name, "label")
    for name in found:
        cells = [cell.strip() for cell in columns[name][:SAMPLE] if cell.strip()]
        if EVENT.search(words[name]) and 2 <= len(set(cells)) <= FEW and not all(map(is_number, cells)):
            return Guess(name, "label", rule=_event_rule(cells))
        if RATING.search(words[name]) and cells and all(map(is_number, cells)) and len(set(cells)) > 1:
            return Guess(name, "label", rule=f">= {_threshold(list(map(float, cells))):g}")
    ends = [name for name in (*[*found][:1], *[*found][-1:]) if name in binary]  # where labels stand by custom
    return Guess((ends or binary)[0], "label") if ends or len(binary) == 1 else None


def _event_rule(cells: Sequence[str]) -> str:
    counts = Counter(cells)
    wanted = next(
        (event for word in WANTED_EVENTS for event in counts if event.lower() == word), min(counts, key=lambda e: counts[e])
    )
    return f"== '{wanted}'"


def _threshold(values: Sequence[float]) -> float:
    """Return the value that nearest to half of the values reach: of ratings to 5 it is mostly 4."""
    possible = sorted(set(values), reverse=True)[:-1]
    return min(possible, key=lambda least: abs(sum(value >= least for value in values) / len(values) - 0.5))
