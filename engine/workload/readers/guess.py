"""A guess of each column's role in an unknown table.

The guess is made from the names of the columns and the first records.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...errors import BadFile
from .labels import copies_of, is_label_name, label_rule, plain_name, truth
from .notations import foreign_notation
from .records import is_number

Role = Literal["label", "id", "list", "user", "event", "number", "time", "text", "constant"]
ISO_TIME = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?)?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?")
OTHER_TIME = re.compile(r"\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}([ ,T]+\d{1,2}:\d{2}.*)?|.*\b\d{1,2}:\d{2}:\d{2}\b.*")
NAMED_TIME = re.compile(  # a date that names its month or weekday
    r"(?=.*\d)(?=.*\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*\b).{6,64}$", re.I
)
WHOLE_NUMBER = re.compile(r"[+-]?\d+(\.0*)?")
BRACKETED = re.compile(r"[\[({].*[\])}]", re.S)
WORDS: Mapping[Role, re.Pattern[str]] = {
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
MAX_CLASSES, MANY_VALUES = 20, 0.5  # most distinct values of a class; share of distinct cells beyond which text is prose
SAMPLE = 1000  # records of a guess


@dataclass(frozen=True, slots=True)
class Guess:
    """The guessed role of a column.

    name: the name of the column.
    role: the role: label, id, list, number, time, text or constant; or, as a user may say, the user or an event of a history.
    separator: the text between the ids of a list, or of a history's events.
    rule: the rule of a label such as ">= 4", or the format of a time.
    note: a sentence for the user on what is in doubt.
    withheld: True for a column that no guess may make an input, such as one named like the label.
    """

    name: str
    role: Role
    separator: str = ""
    rule: str = ""
    note: str = ""
    withheld: bool = False


def is_known_name(name: str) -> bool:
    """Return whether files often give a column such a name."""
    word = plain_name(name)
    return is_label_name(name) or any(pattern.search(word) for pattern in (*WORDS.values(), RATING, EVENT))


def guess_columns(columns: Mapping[str, Sequence[str]]) -> tuple[Guess, ...]:
    """Return a guess of each column's role, from its name and first cells.

    At most one column is the label, and at most one the time.
    """
    guesses_by_name = {name: _guess(name, [cell.strip() for cell in cells[:SAMPLE]]) for name, cells in columns.items()}
    label = _label(guesses_by_name, columns)
    times = [name for name, guess in guesses_by_name.items() if guess.role == "time"]
    for name in times[1:]:
        guesses_by_name[name] = Guess(name, "text")
    for name, guess in guesses_by_name.items():
        if guess.role == "label" and (label is None or name != label.name):
            guesses_by_name[name] = _second_label(guess, label)
    if label:
        guesses_by_name[label.name] = label
        for name in copies_of(label.name, columns):
            note = f"{name} is left out: in the first rows it is a copy of the label {label.name}, which no input may show."
            guesses_by_name[name] = Guess(name, "text", note=note, withheld=True)
    return tuple(guesses_by_name.values())


def _second_label(guess: Guess, label: Guess | None) -> Guess:
    """Return the guess of a column of 0 and 1 beside the label: an id, unless it is named like a label itself."""
    if not guess.withheld or label is None:
        return Guess(guess.name, "id")
    note = (
        f"{guess.name} is left out: it is named like a label, as {label.name} is; write it among ids or dense if it is an input."
    )
    return Guess(guess.name, "text", note=note, withheld=True)


def _named_label(name: str, texts: Sequence[str]) -> Guess:
    """Return the guess of a column that is named like the label."""
    if len(set(texts)) < 2:
        note = f"{name} is named like the label, but has only one value in the first rows, so it is left out."
        return Guess(name, "constant", note=note, withheld=True)
    rule, note = label_rule(name, texts)
    return Guess(name, "text" if rule is None else "label", rule=rule or "", note=note, withheld=True)


def _guess(name: str, cells: Sequence[str]) -> Guess:
    """Return the guess of a column, without a look at the other columns."""
    texts = [cell for cell in cells if cell]
    if is_label_name(name):
        return _named_label(name, texts)
    if len(set(texts)) < 2:
        return Guess(name, "constant")
    word, numeric = plain_name(name), all(map(is_number, texts))
    if not numeric and (guess := _moment(name, texts)):
        return guess
    if not WORDS["id"].search(word) and (set(map(truth, texts)) == {0, 1} or _are_signs(texts)):
        return Guess(name, "label", rule="== 1") if _are_signs(texts) else Guess(name, "label")
    return _number(name, word, texts) if numeric else _text(name, word, texts)


def _are_signs(texts: Sequence[str]) -> bool:
    """Return whether cells are -1 and 1, as labels are and ids are not."""
    return all(map(is_number, texts)) and set(map(float, texts)) == {-1.0, 1.0}


def _number(name: str, word: str, texts: Sequence[str]) -> Guess:
    """Return the guess of a column of numbers."""
    if WORDS["time"].search(word):
        return Guess(name, "time")
    if WORDS["number"].search(word) or not all(map(WHOLE_NUMBER.fullmatch, texts)):
        return Guess(name, "number")
    return Guess(name, "id")


def _text(name: str, word: str, texts: Sequence[str]) -> Guess:
    """Return the guess of a column of texts: lists, ids, or a text that is left out."""
    if fault := foreign_notation(texts):
        return Guess(name, "text", note=f"{name} is left out: its cells, such as {texts[0][:24]!r}, {fault}.", withheld=True)
    if separator := _separator(texts):
        return Guess(name, "list", separator)
    return Guess(name, "text" if _is_prose(word, texts) else "id")


def _moment(name: str, texts: Sequence[str]) -> Guess | None:
    """Return the guess of a column whose texts look like dates or times, None for other texts."""
    if all(ISO_TIME.fullmatch(cell) or OTHER_TIME.fullmatch(cell) for cell in texts):
        return _time(name, texts)
    guess = _time(name, texts) if NAMED_TIME.match(texts[0]) else None
    return guess if guess and guess.role == "time" else None


def _time(name: str, cells: Sequence[str]) -> Guess:
    """Return the guess of a column of times.

    The guess has a format where a day could be a month. The column is a text where no known format reads the cells.
    """
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


def _separator(cells: Sequence[str]) -> str:
    """Return the separator between the ids of most cells with several ids, or ""."""
    bracketed = 2 * sum(map(bool, map(BRACKETED.fullmatch, cells))) > len(cells)
    inner = [cell[1:-1] if bracketed else cell for cell in cells]
    if bracketed:
        return next((mark for mark in ",;|" if any(mark in cell for cell in inner)), " ")
    for mark in "|;, ":
        list_cells = [cell for cell in inner if mark in cell.strip(mark)]
        pieces = [piece.strip() for cell in list_cells for piece in cell.split(mark) if piece.strip()]
        has_repeats = len(set(pieces)) <= len(pieces) / 2
        tokens = all(re.fullmatch(r"[\w&' -]{1,40}" if mark == "|" else r"[\w-]{1,40}", piece) for piece in pieces)
        if pieces and tokens and has_repeats and 5 * len(list_cells) > len(inner):
            return mark
    return ""


def _is_prose(word: str, cells: Sequence[str]) -> bool:
    """Return whether texts are prose, titles and the like, rather than ids."""
    if WORDS["id"].search(word):
        return False
    blanks = sum(" " in cell for cell in cells)
    return 4 * blanks > len(cells) and len(set(cells)) > MANY_VALUES * len(cells)


def _label(guesses_by_name: Mapping[str, Guess], columns: Mapping[str, Sequence[str]]) -> Guess | None:
    """Return the guess of the label, with its rule: by the columns' names, then by their cells."""
    binary = [name for name, guess in guesses_by_name.items() if guess.role == "label"]
    for name in binary:
        if guesses_by_name[name].withheld:
            return guesses_by_name[name]
    for name, guess in guesses_by_name.items():
        cells = [cell.strip() for cell in columns[name][:SAMPLE] if cell.strip()]
        if guess.withheld:
            continue
        if EVENT.search(plain_name(name)) and 2 <= len(set(cells)) <= MAX_CLASSES and not all(map(is_number, cells)):
            return Guess(name, "label", rule=_event_rule(cells))
        if RATING.search(plain_name(name)) and cells and all(map(is_number, cells)) and len(set(cells)) > 1:
            return Guess(name, "label", rule=f">= {_threshold(list(map(float, cells))):g}")
    if any(guess.withheld and guess.role == "text" for guess in guesses_by_name.values()):
        return None  # the named label is asked about, and no other column may take its place
    ends = [
        name for name in (*[*guesses_by_name][:1], *[*guesses_by_name][-1:]) if name in binary
    ]  # where labels stand by custom
    return guesses_by_name[(ends or binary)[0]] if ends or len(binary) == 1 else None


def _event_rule(cells: Sequence[str]) -> str:
    counts = Counter(cells)
    positive_event = next(
        (event for word in WANTED_EVENTS for event in counts if event.lower() == word), min(counts, key=lambda e: counts[e])
    )
    return f"== '{positive_event}'"


def _threshold(values: Sequence[float]) -> float:
    """Return the value that nearly half of the values reach: mostly 4 of ratings to 5."""
    thresholds = sorted(set(values), reverse=True)[:-1]
    return min(thresholds, key=lambda threshold: abs(sum(rating >= threshold for rating in values) / len(values) - 0.5))
