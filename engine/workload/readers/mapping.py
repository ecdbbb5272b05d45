"""A mapping beside a data file says what its columns mean: `clicks.csv.toml` that of `clicks.csv`.

    label = "rating >= 4"        # a column, and from when on it is a click; without a rule the column is 0 or 1
    ids = ["user", "item"]       # one table each
    dense = ["age"]              # numbers, log(1 + x) of them is trained on
    time = "timestamp"           # sort by it; without it rows are trained as they stand
    columns = ["user", "item"]   # of a text without a header
    delimiter = "|"              # of a text; a comma without it
    rows = "hashed"              # into the model's rows; or "as they are", "first seen first", "hashed into 100000"
    lists = " "                  # between the ids of a cell that holds several, of a text; lists in Parquet are ids as they are

Or `format = "taobao"` names one that is known.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from ...errors import BadFile, nearest
from .layouts import Layout
from .numbering import AS_THEY_ARE, FIRST_SEEN, HASHED, known

KEYS = ("format", "label", "ids", "dense", "time", "columns", "delimiter", "rows", "lists")
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
        found = tomllib.loads(there.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadFile(f"{there.name} is not valid TOML: {error}; mend it.") from error
    for key in found:
        if key not in KEYS:
            raise BadFile(f"{there.name}: {key[:40]!r} is not known; {nearest(key[:40], KEYS)}")
    return found


def layout(path: Path, given: dict[str, Any]) -> Layout:
    """Return the layout that a mapping describes; raises BadFile."""
    name = beside(path).name
    texts = {key: _texts(name, key, given.get(key, [])) for key in ("ids", "dense", "columns")}
    for key in ("label", "time", "delimiter", "rows", "lists"):
        if not isinstance(given.get(key, ""), str):
            raise BadFile(f"{name}: {key} is no text; write it in quotes.")
    if not texts["ids"] or not given.get("label"):
        raise BadFile(
            f'{name} names no {"ids" if given.get("label") else "label"}; write label = "COLUMN" and ids = ["COLUMN", ...].'
        )
    match = RULE.fullmatch(given["label"])
    if match is None:
        raise BadFile(f"{name}: label={given['label'][:40]!r} is no rule; write a column, or a column and a rule such as >= 4.")
    rule, value = match["rule"] or "", _value(match["value"])
    if isinstance(value, str) and rule not in ("==", "!="):
        raise BadFile(f"{name}: label={given['label'][:40]!r} compares with no number; texts are only == or != something.")
    rows, delimiter, lists = _said(name, given)
    read = match["column"], texts["ids"], texts["dense"], rule, value, given.get("time", ""), texts["columns"]
    found = Layout(f"mapped by {name}", *read, delimiter, rows, lists=lists)
    for column in found.wanted if texts["columns"] else ():
        if texts["columns"].count(column) != 1:
            raise BadFile(f"{name}: column {column[:40]!r} is not once among columns; {nearest(column[:40], texts['columns'])}")
    return found


def _said(name: str, given: dict[str, Any]) -> tuple[str, str, str]:
    """Return how ids become rows, what parts columns, and what parts ids of a cell; raises BadFile."""
    rows, delimiter, lists = (given.get(key, usual) for key, usual in (("rows", HASHED), ("delimiter", ","), ("lists", "")))
    if not known(rows):
        raise BadFile(
            f"{name}: rows={rows[:40]!r} is not known; write {HASHED!r}, {AS_THEY_ARE!r}, {FIRST_SEEN!r} or 'hashed into 100000'."
        )
    if lists == delimiter or '"' in lists:
        raise BadFile(f"{name}: lists={lists[:10]!r} cannot part ids, as it parts columns or quotes; write another one.")
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise BadFile(f"{name}: delimiter={delimiter[:10]!r} is not one character; write one such as a comma or \\t.")
    return rows, delimiter, lists


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
