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

import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from ...core.figures import count
from ...errors import BadFile, nearest
from ...paths import FileState, file_state
from .layouts import Layout
from .numbering import AS_THEY_ARE, FIRST_SEEN, HASHED, known
from .records import LITERAL, MULTILINE, QUOTES

KEYS = ("format", "label", "ids", "dense", "time", "columns", "delimiter", "rows", "lists", "quotes", "time_format")
TEXT_ALONE = ("columns", "delimiter", "quotes")
RULE = re.compile(r"\s*(?P<column>.+?)\s*(?:(?P<rule>>=|<=|!=|==|>|<)\s*(?P<value>.+?)\s*)?")
SAVED = "# A guess of the columns, accepted in the explorer."
KEPT = Path(".emberpool") / "mappings"
LARGEST = 100_000  # bytes of a mapping
MOST_COLUMNS = 1000


def beside(path: Path) -> Path:
    """Return where the mapping of a data file would be."""
    return Path(f"{path}.toml")


def place(path: Path) -> Path | None:
    """Return the mapping of a data file: `clicks.csv.toml`, `clicks.toml` if that is one, or one kept by the file's digest."""
    if beside(path).exists():
        return beside(path)
    sibling = path.with_suffix(".toml")
    if path.suffix != ".toml" and sibling.is_file() and _is_mapping(sibling):
        return sibling
    kept = _kept(path)
    return kept if kept and kept.is_file() else None


def name_of(path: Path) -> str:
    """Return the name of a data file's mapping, as a message begins; where there is none, of the one to write."""
    return (place(path) or beside(path)).name


def _is_mapping(there: Path) -> bool:
    """Return whether a TOML file is a mapping, and no scenario or settings of something else; one with a fault may be."""
    try:
        found = tomllib.loads(there.read_text(encoding="utf-8-sig")) if there.stat().st_size <= LARGEST else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return True
    return not set(KEYS).isdisjoint(found)


def _kept(path: Path) -> Path | None:
    """Return where the mapping of a file would be that could not be written beside it; None where none is kept for it."""
    if not KEPT.is_dir() or not path.is_file() or KEPT.parent.resolve() in path.resolve().parents:
        return None  # an upload, of a visitor who has a mapping of its own
    return KEPT / f"{_digest(path, file_state(path))}.toml"


@lru_cache(256)
def _digest(path: Path, state: FileState) -> str:
    """Return the SHA-256 of a file in such a state: it is asked for many times."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def save(path: Path, text: str) -> Path:
    """Write a mapping beside its data file, or where that cannot be, in the data folder by the file's digest; raises BadFile.

    One that is there already, and was not saved so, is never written over.
    """
    there = place(path)
    if there is not None and not is_saved(there):
        raise BadFile(f"{there.name} is there already and is not ours to write over; change it yourself, or move it away.")
    try:
        return _written(there or beside(path), text)
    except OSError:
        try:
            KEPT.mkdir(parents=True, exist_ok=True)
            kept = _kept(path)
            if kept is None:
                raise BadFile(f"{path.name} cannot be read; give a readable file.")
            return _written(kept, text)
        except OSError as error:
            why = error.strerror or error
            raise BadFile(f"The mapping can be written neither beside {path.name} nor in {KEPT} ({why}); make room.") from error


def _written(there: Path, text: str) -> Path:
    unfinished = there.with_name(f"{there.name}.{os.getpid()}")
    try:
        unfinished.write_text(f"{_mark(text)}\n{text}", encoding="utf-8")
        unfinished.replace(there)
    finally:
        unfinished.unlink(missing_ok=True)
    return there


def is_saved(there: Path) -> bool:
    """Return whether a mapping is as it was accepted in the explorer, and so may be taken back there."""
    try:
        mark, _, text = there.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return False
    return mark == _mark(text)


def _mark(text: str) -> str:
    """Return the first line of an accepted mapping: it tells one that somebody has changed since."""
    return f"{SAVED} SHA-256 {sha256(text.encode()).hexdigest()[:16]}"


def take_back(path: Path) -> None:
    """Remove the mapping of a data file if it was accepted in the explorer; raises BadFile where it cannot be removed."""
    there = place(path)
    if there is not None and is_saved(there):
        try:
            there.unlink()
        except OSError as error:
            raise BadFile(f"{there.name} cannot be removed: {error.strerror}; remove it yourself.") from error


def content(path: Path) -> dict[str, Any]:
    """Return what the mapping of a data file says, nothing where there is none; raises BadFile."""
    there = place(path)
    if there is None:
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
    name = name_of(path)
    texts = {key: _texts(name, key, given[key]) for key in ("ids", "dense", "columns") if key in given}
    for key in ("label", "time", "delimiter", "rows", "lists", "quotes", "time_format"):
        if not isinstance(given.get(key, ""), str):
            raise BadFile(f"{name}: {key} is no text; write it in quotes.")
    changes: dict[str, Any] = dict(texts) | {
        key: given[key] for key in ("time", "delimiter", "rows", "lists", "quotes", "time_format") if key in given
    }
    if "label" in given:
        changes |= _label(name, given["label"]) if given["label"] else {"label": "", "rule": "", "known": ()}
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
    _check_once(name, found)


def _check_once(name: str, found: Layout) -> None:
    """Raise BadFile for a column that is named twice, or not among those of a file without a header."""
    for key, columns in (("ids", found.ids), ("dense", found.dense)):
        if again := next((column for column in columns if columns.count(column) > 1), ""):
            raise BadFile(f"{name}: {key} names {again[:40]!r} twice; name each column once.")
    for column in found.wanted if found.columns else ():
        if found.columns.count(column) != 1:
            raise BadFile(f"{name}: column {column[:40]!r} is not once among columns; {nearest(column[:40], found.columns)}")


def refuse_idle(path: Path, given: dict[str, Any], what: str, idle: Sequence[str]) -> None:
    """Raise BadFile for a key of a mapping that does nothing for `what` the file is."""
    for key in given:
        if key in idle:
            raise BadFile(f"{name_of(path)}: {key} does nothing for {what}; take it away.")


def _texts(name: str, key: str, given: Any) -> tuple[str, ...]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or len(texts) > MOST_COLUMNS or not all(isinstance(one, str) and one for one in texts):
        raise BadFile(f'{name}: {key} is no list of at most {count(MOST_COLUMNS)} column names; write {key} = ["COLUMN", ...].')
    return tuple(texts)


def _value(text: str | None) -> float | str:
    if text is None:
        return 1.0
    try:
        return float(text)
    except ValueError:
        return text.strip("'\"")
