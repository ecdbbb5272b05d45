"""A mapping beside a data file says what its columns mean: `clicks.csv.toml` that of `clicks.csv`.

    label = "rating >= 4"        # a column, and from when on it is a click; without a rule the column is 0 or 1
    ids = ["user", "item"]       # one table each
    dense = ["age"]              # numbers, log(1 + x) of them is trained on
    time = "timestamp"           # sort by it; without it rows are trained as they stand
    time_format = "%d/%m/%Y"     # how times are written, where that could be read in two ways
    columns = ["user", "item"]   # of a text without a header
    delimiter = "|"              # of a text; a comma without it
    rows = "hashed"              # into the model's rows; or "as they are", "first seen first", "hashed into 100000"
    lists = " "                  # between the ids of a cell that holds several; lists in Parquet are ids as they are
    quotes = "none"              # quotation marks are part of the text; "multiline": quoted cells may hold line ends

Without `rows` a column's ids are numbered in the order first seen if all of them fit into its table, else hashed. Without a
`label` the file has lookups alone, to which the generator can be fitted. `format = "taobao"` names a format that is known;
other keys then lie over its layout. A key that would do nothing is refused.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import BadFile, nearest
from .layouts import Layout
from .numbering import AS_THEY_ARE, FIRST_SEEN, HASHED, known
from .records import LITERAL, MULTILINE, QUOTES

KEYS = ("format", "label", "ids", "dense", "time", "columns", "delimiter", "rows", "lists", "quotes", "time_format")
TEXT_ALONE = ("columns", "delimiter", "quotes")
RULE = re.compile(r"\s*(?P<column>.+?)\s*(?:(?P<rule>>=|<=|!=|==|>|<)\s*(?P<value>.+?)\s*)?")
LARGEST = 100_000  # bytes of a mapping
MOST_COLUMNS = 1000


def beside(path: Path) -> Path:
    """Return where the mapping of a data file would be."""
    return Path(f"{path}.toml")


def content(path: Path) -> dict[str, Any]:
    """Return what the mapping of a data file says, nothing where there is none; raises BadFile."""
    there = beside(path)
    if not there.exists():
        return {}
    try:
        if there.stat().st_size > LARGEST or not there.is_file():
            raise BadFile(f"{there.name} is no mapping, which is a short text; take it away.")
        found = tomllib.loads(there.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadFile(f"{there.name} is not valid TOML: {error}; mend it.") from error
    for key in found:
        if key not in KEYS:
            raise BadFile(f"{there.name}: {key[:40]!r} is not known; {nearest(key[:40], KEYS)}")
    return found


def layout(path: Path, given: dict[str, Any], base: Layout | None = None) -> Layout:
    """Return the layout that a mapping describes, over that of the format `base`; raises BadFile."""
    name = beside(path).name
    texts = {key: _texts(name, key, given[key]) for key in ("ids", "dense", "columns") if key in given}
    for key in ("label", "time", "delimiter", "rows", "lists", "quotes", "time_format"):
        if not isinstance(given.get(key, ""), str):
            raise BadFile(f"{name}: {key} is no text; write it in quotes.")
    changes: dict[str, Any] = dict(texts) | {
        key: given[key] for key in ("time", "delimiter", "rows", "lists", "quotes", "time_format") if key in given
    }
    if given.get("label"):
        changes |= _label(name, given["label"])
    found = replace(base or Layout(f"mapped by {name}", "", ()), **changes)
    if not found.ids:
        raise BadFile(f'{name} names no ids; write ids = ["COLUMN", ...], and label = "COLUMN" to train on it.')
    _check(name, found)
    return found


def _label(name: str, text: str) -> dict[str, Any]:
    """Return what a label's text changes in a layout; raises BadFile."""
    match = RULE.fullmatch(text)
    if match is None:
        raise BadFile(f"{name}: label={text[:40]!r} is no rule; write a column, or a column and a rule such as >= 4.")
    rule, value = match["rule"] or "", _value(match["value"])
    if isinstance(value, str) and rule not in ("==", "!="):
        raise BadFile(f"{name}: label={text[:40]!r} compares with no number; texts are only == or != something.")
    return {"label": match["column"], "rule": rule, "value": value, "known": ()}


def _check(name: str, found: Layout) -> None:
    """Raise BadFile for a layout whose parts do not go together."""
    rows, delimiter, lists, quotes = found.rows, found.delimiter, found.lists, found.quotes
    if not known(rows):
        raise BadFile(
            f"{name}: rows={rows[:40]!r} is not known; write {HASHED!r}, {AS_THEY_ARE!r}, {FIRST_SEEN!r} or 'hashed into 100000'."
        )
    if quotes not in QUOTES:
        raise BadFile(f"{name}: quotes={quotes[:20]!r} is not known; write {LITERAL!r} or {MULTILINE!r}, or leave it out.")
    if (lists == delimiter and quotes == LITERAL) or '"' in lists:
        raise BadFile(f"{name}: lists={lists[:10]!r} cannot part ids, as it parts columns or quotes; write another one.")
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise BadFile(f"{name}: delimiter={delimiter[:10]!r} is not one character; write one such as a comma or \\t.")
    if found.time_format and (not found.time or "%" not in found.time_format):
        why = "names no time" if not found.time else "is no format of strptime"
        raise BadFile(f'{name}: time_format={found.time_format[:40]!r} {why}; write time = "COLUMN", time_format = "%d/%m/%Y".')
    for column in found.wanted if found.columns else ():
        if found.columns.count(column) != 1:
            raise BadFile(f"{name}: column {column[:40]!r} is not once among columns; {nearest(column[:40], found.columns)}")


def refuse_idle(path: Path, given: dict[str, Any], what: str, idle: Sequence[str]) -> None:
    """Raise BadFile for a key of a mapping that does nothing for `what` the file is."""
    for key in given:
        if key in idle:
            raise BadFile(f"{beside(path).name}: {key} does nothing for {what}; take it away.")


def _texts(name: str, key: str, given: Any) -> tuple[str, ...]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or len(texts) > MOST_COLUMNS or not all(isinstance(one, str) and one for one in texts):
        raise BadFile(f'{name}: {key} is no list of at most {MOST_COLUMNS:,} column names; write {key} = ["COLUMN", ...].')
    return tuple(texts)


def _value(text: str | None) -> float | str:
    if text is None:
        return 1.0
    try:
        return float(text)
    except ValueError:
        return text.strip("'\"")
