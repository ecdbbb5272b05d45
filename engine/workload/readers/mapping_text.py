"""Suggests a mapping for a table that nobody has described: TOML to copy, guessed from its columns' names and first rows."""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from .sniffing import DATE, NUMBER, Row

WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_]+")
CLICKS = "label", "click", "clicked", "clk", "target", "y", "like", "liked", "converted", "conversion", "purchased", "response"
RATINGS = "rating", "ratings", "stars", "score", "overall"
WATCHED = {("watch", "ratio"): 1, ("play", "ratio"): 1, ("played", "ratio", "pct"): 50}
EVENTS = "event", "behavior", "behaviour", "action", "activity"
SEEN, DONE = (
    ("view", "pv", "impression", "show", "exposure", "browse"),
    ("purchase", "buy", "click", "clk", "transaction", "like"),
)
TIMES = "timestamp", "ts", "time", "datetime", "date", "hour", "day"  # in the order in which one of them is taken
IDS = "id", "ids", "uid", "iid", "gid", "user", "item", "movie", "video", "product", "ad", "ip", "asin", "isbn", "sku", "device"
NUMBERS = (
    "age", "price", "count", "num", "number", "duration", "length", "size", "amount", "quantity", "ctr", "score", "value",
    "width", "height", "weight", "seconds", "ms", "ratio", "pct", "helpful", "votes", "rank", "rate", "dense",
)  # fmt: skip
ROW_NUMBERS = "id", "index", "row", "rowid", "unnamed"
ISO = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?")
LONGEST_ID, FEW_ROWS, MOST_RATING = 64, 10, 5
LONGEST_NAME, MOST_COLUMNS = 120, 1000  # that a mapping may name
UNLABELLED = '# label = "COLUMN"  # a run needs one, such as "COLUMN >= 4"; workload fit and workload count do not'


class Column(NamedTuple):
    """A column: its name, the words of the name, and the cells of the first rows, those that are empty left out."""

    name: str
    words: tuple[str, ...]
    cells: list[str]
    full: bool  # whether none was empty

    @property
    def numbers(self) -> list[float]:
        """The cells as numbers, none where some are not."""
        return [float(cell) for cell in self.cells] if all(map(NUMBER.fullmatch, self.cells)) else []

    def among(self, words: Sequence[str]) -> bool:
        """Return whether the name has one of some words."""
        return not set(words).isdisjoint(self.words)


def mapping_text(columns: Sequence[str], delimiter: str = ",", headerless: bool = False, rows: Sequence[Row] = ()) -> str:
    """Return a mapping as TOML: the columns' roles are guessed, from names alone where no `rows` are given."""
    every = [
        Column(
            name,
            tuple(word.lower() for word in WORD.findall(name)),
            [row[at] for row in rows if row[at]],
            all(row[at] for row in rows),
        )
        for at, name in enumerate(columns)
    ]
    usable = [column for column in every if 0 < len(column.name) <= LONGEST_NAME and columns.count(column.name) == 1][
        :MOST_COLUMNS
    ]
    label, rule = _label(usable)
    time = _time([column for column in usable if column.name != label])
    rest = [column for column in usable if column.name not in (label, time) and not column.among(TIMES) and not _is_date(column)]
    dense = [column.name for column in rest if _is_dense(column, columns)]
    ids = [column.name for column in rest if column.name not in dense and _is_id(column)]
    ids = ids or [column.name for column in rest if column.name not in dense] or [column.name for column in rest or usable]
    lines = [f"columns = {_written(list(columns))}"] if headerless else []
    lines += [f"label = {_written(rule)}" if label else UNLABELLED, f"ids = {_written(ids)}"]
    lines += [f"dense = {_written(dense)}"] if dense and dense != ids else []
    lines += [f"time = {_written(time)}"] if time else []
    lines += [f"delimiter = {_written(delimiter)}"] if delimiter != "," else []
    return "\n".join(lines) + "\n"


def _written(value: str | list[str]) -> str:
    """Return a value as TOML writes it, on one line of characters that can be seen."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08X}" for letter in text)


def _label(columns: Sequence[Column]) -> tuple[str, str]:
    """Return the column that says what a click is, and its rule; nothing where none plainly does."""
    possible = [column for column in columns if not column.among(TIMES) and column.words[-1:] not in (("id",), ("ids",))]
    for rule_of in (_click_rule, _watched_rule, _rating_rule, _event_rule):
        for column in possible:
            if rule := rule_of(column):
                return column.name, rule
    binary = [column.name for column in possible if column.full and set(column.cells) == {"0", "1"}]
    stars = [column.name for column in possible if _is_rating(column.numbers) and not column.among(IDS)]
    if len(binary) == 1:
        return binary[0], binary[0]
    return (stars[0], f"{stars[0]} >= 4") if len(stars) == 1 else ("", "")


def _click_rule(column: Column) -> str:
    """Return when a column named like a label is a click, "" for one that is not."""
    if not column.among(CLICKS):
        return ""
    values = set(column.cells)
    if values <= {"0", "1"}:
        return column.name
    if len(values) == 2 and (yes := [cell for cell in values if cell.lower() in ("true", "yes", "y", "t", "click")]):
        return f'{column.name} == "{yes[0]}"'
    if not column.numbers:
        return ""
    ranked = sorted(column.numbers)
    return f"{column.name} > 0" if ranked[0] <= 0 else f"{column.name} >= {ranked[len(ranked) // 2]:g}"


def _watched_rule(column: Column) -> str:
    return next((f"{column.name} >= {least}" for words, least in WATCHED.items() if set(words) <= set(column.words)), "")


def _rating_rule(column: Column) -> str:
    if not column.among(RATINGS) or (column.cells and not column.numbers):
        return ""
    most = max(column.numbers, default=MOST_RATING)
    return f"{column.name} >= {4 if most <= MOST_RATING else round(0.7 * most, 2):g}"


def _event_rule(column: Column) -> str:
    """Return which events of a column are clicks: all but those that are only seen, or one that is done."""
    if not column.among(EVENTS):
        return ""
    for words, sign in ((SEEN, "!="), (DONE, "==")):
        for cell in dict.fromkeys(column.cells):
            if any(word in cell.lower() for word in words) and '"' not in cell:
                return f'{column.name} {sign} "{cell}"'
    return ""


def _is_rating(numbers: Sequence[float]) -> bool:
    different = set(numbers)
    return len(different) > 2 and different <= {half / 2 for half in range(1, 2 * MOST_RATING + 1)}


def _time(columns: Sequence[Column]) -> str:
    """Return the column by which rows can be sorted, "" where none can."""
    for word in TIMES:
        for column in columns:
            if word in column.words and column.full and (column.numbers or all(map(ISO.fullmatch, column.cells))):
                return column.name
    unnamed = [column for column in columns if column.cells and column.full and _is_clock(column.numbers)]
    return unnamed[0].name if unnamed else ""


def _is_clock(numbers: Sequence[float]) -> bool:
    """Return whether numbers are seconds or milliseconds since 1970, from 1995 to 2039."""
    return bool(numbers) and any(all(8e8 * scale <= number < 2.2e9 * scale for number in numbers) for scale in (1, 1000))


def _is_date(column: Column) -> bool:
    return bool(column.cells) and all(map(DATE.fullmatch, column.cells)) and not column.numbers


def _is_dense(column: Column, columns: Sequence[str]) -> bool:
    """Return whether a column is a number to train on rather than an id."""
    if column.cells and not column.numbers:
        return False
    if re.fullmatch(r"I\d+", column.name, re.I):
        return any(re.fullmatch(r"C\d+", name, re.I) for name in columns)
    fractions = any(number % 1 for number in column.numbers)
    return fractions or (column.among(NUMBERS) and column.words[-1:] not in (("id",), ("ids",)))


def _is_id(column: Column) -> bool:
    """Return whether a column may be an id: no number of the row, and no text of several words."""
    if column.cells:
        numbers = column.numbers
        if (
            column.among(ROW_NUMBERS)
            and len(column.words) == 1
            and len(numbers) >= FEW_ROWS
            and len(set(numbers)) == len(numbers)
        ):
            return False
        return not any(" " in cell or len(cell) > LONGEST_ID for cell in column.cells)
    return column.among(IDS) or bool(re.fullmatch(r"C\d+", column.name, re.I)) or column.name.lower().endswith("id")
