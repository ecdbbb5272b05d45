"""A mapping says the meaning of a data file's columns: `clicks.csv.toml` for `clicks.csv`.

    label = "rating >= 4"        # a column, and the rule for a click; without a rule the column is 0 or 1
    ids = ["user", "item"]       # columns of ids; each has a table
    dense = ["age"]              # columns of numbers x; the model gets log(1 + x)
    time = "timestamp"           # the column to sort by; without it rows are trained in the order of the file
    time_format = "%d/%m/%Y"     # the format of times, if they could be read in two ways
    columns = ["user", "item"]   # the names of all columns of a text without a header
    delimiter = "|"              # the delimiter of a text; a comma by default
    rows = "hashed"              # into the model's rows; or "as they are", "first seen first", "hashed into 100000"
    lists = " "                  # the separator in cells with several ids; lists in Parquet need none
    quotes = "none"              # quotation marks are part of the text; "multiline": quoted cells may hold line ends
    user = "user"                # the user whose events make a history
    history = ["item"]           # columns of ids of a history's events; a fit makes sequences of them
    anchors = "events"           # each event in a row's lists is a sample; or "rows": a row is a sample

Without `rows`, the ids of a column are numbered in the order first seen if all of them fit into its table; otherwise they are
hashed. A file without a `label` has only lookups, to which the generator can be fitted. `format = "taobao"` names a known format,
whose layout the other keys change. A key that would have no effect is refused.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from ...core.figures import count
from ...errors import BadFile, nearest_hint
from ...paths import FileState, file_state, open_regular
from ...user_text import decoded_file, read_toml_table
from .layouts import ANCHORS, Layout
from .numbering import AS_THEY_ARE, FIRST_SEEN, HASHED, is_numbering
from .records import LITERAL, MULTILINE, QUOTES

HISTORY_KEYS = ("user", "history", "anchors")
KEYS = (
    "format",
    "label",
    "ids",
    "dense",
    "time",
    "columns",
    "delimiter",
    "rows",
    "lists",
    "quotes",
    "time_format",
    *HISTORY_KEYS,
)
TEXT_KEYS = ("time", "delimiter", "rows", "lists", "quotes", "time_format", "user", "anchors")
TEXT_ALONE = ("columns", "delimiter", "quotes")
RULE = re.compile(r"\s*(?P<column>.+?)\s*(?:(?P<rule>>=|<=|!=|==|>|<)\s*(?P<value>.+?)\s*)?")
SAVED = "# A guess of the columns, accepted in the explorer."
KEPT_MAPPINGS = Path(".emberpool") / "mappings"
LARGEST = 100_000  # bytes of a mapping
MOST_COLUMNS = 1000


def mapping_beside(path: Path) -> Path:
    """Return the path of a data file's mapping in the same folder.

    The mapping need not exist.
    """
    return Path(f"{path}.toml")


def place(path: Path) -> Path | None:
    """Return the path of the mapping that a data file has, or None.

    The mapping is `clicks.csv.toml`, or `clicks.toml` if that file is a mapping, or a file that was saved under the data file's
    digest.
    """
    if mapping_beside(path).exists():
        return mapping_beside(path)
    sibling = path.with_suffix(".toml")
    if path.suffix != ".toml" and sibling.is_file() and _is_mapping(sibling):
        return sibling
    kept_mapping = _kept_place(path)
    return kept_mapping if kept_mapping and kept_mapping.is_file() else None


def mapping_name(path: Path) -> str:
    """Return the name of a data file's mapping, or of the mapping to write."""
    return (place(path) or mapping_beside(path)).name


def _is_mapping(mapping_file: Path) -> bool:
    """Return whether a TOML file is a mapping, not a scenario or other settings.

    A faulty file counts as a mapping.
    """
    try:
        keys = read_toml_table(mapping_file, most_bytes=LARGEST)
    except BadFile:
        return True
    return not set(KEYS).isdisjoint(keys)


def _kept_place(path: Path) -> Path | None:
    """Return the path of a file's mapping in the data folder, by the file's digest, or None.

    A mapping is kept there if the file's own folder is not writable.
    """
    if not KEPT_MAPPINGS.is_dir() or not path.is_file() or KEPT_MAPPINGS.parent.resolve() in path.resolve().parents:
        return None  # an upload, which has a mapping of its own visitor
    return KEPT_MAPPINGS / f"{_digest(path, file_state(path))}.toml"


@lru_cache(256)
def _digest(path: Path, state: FileState) -> str:
    """Return the SHA-256 of a file, kept by its `state`, as the digest is needed many times."""
    with open_regular(path) as file:
        return file_digest(file, "sha256").hexdigest()


def save(path: Path, text: str) -> Path:
    """Write the mapping of a data file; return its path.

    The mapping is written into the folder of the data file or, if that fails, into the data folder under the file's digest. A
    mapping that this function has not written, or that was changed since, is never replaced. Raises BadFile.
    """
    mapping_file = place(path)
    if mapping_file is not None and not is_saved(mapping_file):
        raise BadFile(
            f"{mapping_file.name} exists already and was not written by the explorer, so it is not replaced; change it "
            "yourself, or move it away."
        )
    try:
        return _write(mapping_file or mapping_beside(path), text)
    except OSError:
        try:
            KEPT_MAPPINGS.mkdir(parents=True, exist_ok=True)
            kept_mapping = _kept_place(path)
            if kept_mapping is None:
                raise BadFile(f"{path.name} cannot be read; give a readable file.")
            return _write(kept_mapping, text)
        except OSError as error:
            cause = error.strerror or error
            raise BadFile(
                f"The mapping can be written neither beside {path.name} nor in {KEPT_MAPPINGS} ({cause}); free some space."
            ) from error


def _write(mapping_file: Path, text: str) -> Path:
    partial_file = mapping_file.with_name(f"{mapping_file.name}.{os.getpid()}")
    try:
        partial_file.write_text(f"{_mark(text)}\n{text}", encoding="utf-8")
        partial_file.replace(mapping_file)
    finally:
        partial_file.unlink(missing_ok=True)
    return mapping_file


def is_saved(mapping_file: Path) -> bool:
    """Return whether `save` has written a mapping and it is unchanged since.

    Only such a mapping may the explorer remove.
    """
    try:
        mark, _, text = decoded_file(mapping_file, most_bytes=LARGEST).partition("\n")
    except BadFile:
        return False
    return mark == _mark(text)


def _mark(text: str) -> str:
    """Return the first line of a saved mapping.

    Its hash shows whether the mapping has changed since.
    """
    return f"{SAVED} SHA-256 {sha256(text.encode()).hexdigest()[:16]}"


def remove_mapping(path: Path) -> None:
    """Delete the mapping of a data file if `save` has written it.

    Raises BadFile if the file cannot be deleted.
    """
    mapping_file = place(path)
    if mapping_file is not None and is_saved(mapping_file):
        try:
            mapping_file.unlink()
        except OSError as error:
            raise BadFile(f"{mapping_file.name} cannot be removed: {error.strerror}; remove it yourself.") from error


def read_mapping(path: Path) -> dict[str, Any]:
    """Return the values of a data file's mapping by key, empty without a mapping.

    Raises BadFile.
    """
    mapping_file = place(path)
    if mapping_file is None:
        return {}
    mapping_content = read_toml_table(mapping_file, mapping_file.name, LARGEST)
    for key in mapping_content:
        if key not in KEYS:
            raise BadFile(f"{mapping_file.name}: {key[:40]!r} is not known; {nearest_hint(key[:40], KEYS)}")
    return mapping_content


def layout(path: Path, mapping_content: dict[str, Any], base: Layout | None = None) -> Layout:
    """Return the layout that a mapping describes.

    The mapping changes the layout `base` of a known format, if given. Raises BadFile.
    """
    name = mapping_name(path)
    texts = {
        key: _texts(name, key, mapping_content[key]) for key in ("ids", "dense", "columns", "history") if key in mapping_content
    }
    for key in ("label", *TEXT_KEYS):
        if not isinstance(mapping_content.get(key, ""), str):
            raise BadFile(f"{name}: {key} is not a text; write it in quotes.")
    changes: dict[str, Any] = dict(texts) | {key: mapping_content[key] for key in TEXT_KEYS if key in mapping_content}
    if "label" in mapping_content:
        changes |= (
            _label(name, mapping_content["label"]) if mapping_content["label"] else {"label": "", "rule": "", "known_labels": ()}
        )
    mapped_layout = replace(base or Layout(f"mapped by {name}", "", ()), **changes)
    event_columns = dict.fromkeys((*filter(None, (mapped_layout.user,)), *mapped_layout.history))
    mapped_layout = replace(mapped_layout, ids=(*mapped_layout.ids, *(c for c in event_columns if c not in mapped_layout.ids)))
    if not mapped_layout.ids:
        raise BadFile(f'{name} names no ids; write ids = ["COLUMN", ...], and label = "COLUMN" to train on it.')
    _check(name, mapped_layout)
    return mapped_layout


def _label(name: str, text: str) -> dict[str, Any]:
    """Return the fields of a layout that a label's text changes; raises BadFile."""
    match = RULE.fullmatch(text)
    if match is None:
        raise BadFile(f"{name}: label={text[:40]!r} is not a rule; write a column, or a column and a rule such as >= 4.")
    rule, label_value = match["rule"] or "", _label_value(match["value"])
    if isinstance(label_value, str) and rule not in ("==", "!="):
        raise BadFile(
            f"{name}: label={text[:40]!r} compares with something that is not a number; texts can only be compared by == or !=."
        )
    return {"label": match["column"], "rule": rule, "label_value": label_value, "known_labels": ()}


def _check(name: str, mapped_layout: Layout) -> None:
    """Raise BadFile for a layout with fields that are not valid, alone or together."""
    rows, delimiter, lists, quotes = mapped_layout.rows, mapped_layout.delimiter, mapped_layout.lists, mapped_layout.quotes
    if not is_numbering(rows):
        raise BadFile(
            f"{name}: rows={rows[:40]!r} is not known; write {HASHED!r}, {AS_THEY_ARE!r}, {FIRST_SEEN!r} or 'hashed into 100000'."
        )
    if quotes not in QUOTES:
        raise BadFile(f"{name}: quotes={quotes[:20]!r} is not known; write {LITERAL!r} or {MULTILINE!r}, or leave it out.")
    if (lists == delimiter and quotes == LITERAL) or '"' in lists:
        raise BadFile(
            f"{name}: lists={lists[:10]!r} cannot separate ids, because it separates columns or is a quotation mark; write "
            "another one."
        )
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise BadFile(f"{name}: delimiter={delimiter[:10]!r} is not one character; write one such as a comma or \\t.")
    if mapped_layout.time_format and (not mapped_layout.time or "%" not in mapped_layout.time_format):
        fault = "names no time" if not mapped_layout.time else "is no format of strptime"
        raise BadFile(
            f'{name}: time_format={mapped_layout.time_format[:40]!r} {fault}; write time = "COLUMN", time_format = "%d/%m/%Y".'
        )
    _check_histories(name, mapped_layout)
    _check_once(name, mapped_layout)
    _check_roles(name, mapped_layout)


def _check_histories(name: str, mapped_layout: Layout) -> None:
    """Raise BadFile for a statement of histories that lacks a part."""
    if mapped_layout.anchors not in ("", *ANCHORS):
        raise BadFile(f"{name}: anchors={mapped_layout.anchors[:40]!r} is not known; write {' or '.join(map(repr, ANCHORS))}.")
    if (mapped_layout.user or mapped_layout.anchors) and not mapped_layout.history:
        key = "user" if mapped_layout.user else "anchors"
        raise BadFile(f'{name}: {key} has no effect without a history; write history = ["COLUMN", ...], or remove it.')
    if mapped_layout.user in mapped_layout.history:
        raise BadFile(f"{name}: {mapped_layout.user[:40]!r} is both user and history; name the columns of events as history.")
    for column in filter(None, (mapped_layout.user, *mapped_layout.history)):
        if column in (mapped_layout.label, mapped_layout.time):
            role = "user" if column == mapped_layout.user else "history"
            second = "label" if column == mapped_layout.label else "time"
            raise BadFile(
                f"{name}: {column[:40]!r} is both {role} and {second}; name the user's id as user, and ids of events as history."
            )


def _check_once(name: str, mapped_layout: Layout) -> None:
    """Raise BadFile for a column that is named twice, or missing in `columns` without a header."""
    for key, columns in (("ids", mapped_layout.ids), ("dense", mapped_layout.dense), ("history", mapped_layout.history)):
        if repeated_name := next((column for column in columns if columns.count(column) > 1), ""):
            raise BadFile(f"{name}: {key} names {repeated_name[:40]!r} twice; name each column once.")
    for column in mapped_layout.read_columns if mapped_layout.columns else ():
        if mapped_layout.columns.count(column) != 1:
            raise BadFile(
                f"{name}: column {column[:40]!r} does not stand exactly once in columns; "
                f"{nearest_hint(column[:40], mapped_layout.columns)}"
            )


def _check_roles(name: str, mapped_layout: Layout) -> None:
    """Raise BadFile for a column that has two roles, such as a label that is an input too."""
    roles: dict[str, str] = {}
    for role, columns in mapped_layout.roles.items():
        for column in filter(None, columns):
            if first := roles.get(column):
                raise twice_refusal(name, column, first, role)
            roles[column] = role


def twice_refusal(name: str, column: str, first: str, second: str) -> BadFile:
    """Return the refusal of a column with two roles, by the mapping `name`."""
    cause = "an input that shows the label makes training look perfect" if first == "label" else "a column has one role"
    return BadFile(f"{name}: column {column[:40]!r} is both {first} and {second}; {cause}: remove it from {second}.")


def refuse_idle(path: Path, mapping_content: dict[str, Any], kind: str, idle_keys: Sequence[str]) -> None:
    """Raise BadFile if a mapping has a key without effect.

    `idle_keys` are the keys that have no effect for files of this `kind`.
    """
    for key in mapping_content:
        if key in idle_keys:
            raise BadFile(f"{mapping_name(path)}: {key} has no effect for {kind}; remove it.")


def _texts(name: str, key: str, columns: Any) -> tuple[str, ...]:
    texts = [columns] if isinstance(columns, str) else columns
    if not isinstance(texts, list) or len(texts) > MOST_COLUMNS or not all(isinstance(text, str) and text for text in texts):
        raise BadFile(
            f'{name}: {key} is not a list of at most {count(MOST_COLUMNS)} column names; write {key} = ["COLUMN", ...].'
        )
    return tuple(texts)


def _label_value(text: str | None) -> float | str:
    if text is None:
        return 1.0
    try:
        return float(text)
    except ValueError:
        return text.strip("'\"")
