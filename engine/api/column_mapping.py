"""The mapping that gives a frame's columns a meaning: checked, guessed, written as TOML."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from ..core.figures import count
from ..errors import BadInput, nearest_hint
from ..workload.readers.guess import Guess
from ..workload.readers.labels import copies_of, is_label_name
from ..workload.readers.mapping import MOST_COLUMNS
from ..workload.readers.mapping_text import guess_roles as guessed_columns
from .arrow_columns import is_list, plain_type
from .knob_values import short_text

LABELS = ("label", "labels", "click", "clicks", "clicked", "clk", "is_click", "is_clicked", "target", "y")
KEYS = ("label", "ids", "dense", "time", "user", "history")  # of a mapping that name columns, in the order of its lines
LIST_KEYS = ("ids", "dense", "columns", "history")  # keys whose values are lists
EXAMPLE = 'mapping={"label": "clicked", "ids": ["user", "item"], "dense": ["age"]}'
EARLIEST_SECONDS = 10**8  # seconds since 1970, the least of a column of times: smaller numbers are hours, or days of a month
Columns = Mapping[str, Any]


def mapping_of(mapping: Any) -> Columns | None:
    """Return a user's mapping with plain Python texts, numbers and lists.

    None for no mapping. Raises BadInput.
    """
    if mapping is None:
        return None
    if not isinstance(mapping, Mapping):
        raise BadInput(f"mapping={short_text(mapping)} is not a mapping; write a dict such as {EXAMPLE}.")
    return {str(key): _mapping_setting(str(key), setting) for key, setting in mapping.items()}


def _mapping_setting(key: str, setting: Any) -> Any:
    if key not in LIST_KEYS or isinstance(setting, str | bytes | Mapping) or not isinstance(setting, Iterable):
        return _single_setting(key, setting)
    if hasattr(setting, "iterrows") or getattr(setting, "ndim", 1) > 1:
        raise _unusable_error(key, setting)
    if not getattr(setting, "ndim", 1):  # an array of numpy's without an axis
        return _single_setting(key, setting)
    names = list(islice(setting, MOST_COLUMNS + 1))
    if len(names) > MOST_COLUMNS:
        raise BadInput(f"mapping gives {key!r} more than {count(MOST_COLUMNS)} values; give fewer columns, such as {EXAMPLE}.")
    texts = [_single_setting(key, name) for name in names]
    return sorted(texts, key=str) if isinstance(setting, set | frozenset) else texts


def _single_setting(key: str, setting: Any) -> str | bool | int | float:
    """Return a text or number in Python's own type; raises BadInput."""
    setting = setting.as_py() if hasattr(setting, "as_py") else setting  # a scalar of Arrow's
    scalar = setting.item() if hasattr(setting, "item") and getattr(setting, "size", 1) == 1 else setting
    if not isinstance(scalar, str | bool | int | float) or scalar != scalar:
        raise _unusable_error(key, setting)
    return str.__str__(scalar) if isinstance(scalar, str) else scalar


def _unusable_error(key: str, setting: Any) -> BadInput:
    return BadInput(f"mapping gives {key!r} {short_text(setting)}; write a text or a list of texts.")


def columns_of(mapping: Columns, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that a mapping names; all columns if it names a file format.

    names: the frame's columns. Raises BadInput for a column that the frame lacks.
    """
    if "format" in mapping:
        return names
    if not mapping.get("ids") and not mapping.get("history"):
        raise BadInput(f"mapping names no ids; write {EXAMPLE}.")
    column_names: list[str] = []
    for key in KEYS[1:]:
        key_names = mapping.get(key, ())
        column_names += map(str, key_names if isinstance(key_names, list | tuple) else [key_names])
    for name in column_names:
        if name not in names:
            raise BadInput(f"mapping names the column {name!r}, which data lacks; {nearest_hint(name, names)}")
    label = str(mapping.get("label", ""))
    ruled = max((name for name in names if re.match(rf"{re.escape(name)}\s*([<>=!]|$)", label)), key=len, default=None)
    if label and ruled is None:
        raise BadInput(f"mapping names the label {label!r}, which data lacks; {nearest_hint(label, names)}")
    return tuple(dict.fromkeys([*([ruled] if ruled is not None else []), *column_names]))


def toml(mapping: Columns) -> str:
    """Return a mapping as TOML; equal mappings give the same text. Raises BadInput."""
    order = [key for key in KEYS if key in mapping] + sorted(key for key in mapping if key not in KEYS)
    return "".join(f"{_key(key)} = {_text(key, mapping[key])}\n" for key in order)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key, re.ASCII) else _text(key, key)


def _text(key: str, setting: Any) -> str:
    if isinstance(setting, list | tuple):
        return f"[{', '.join(_text(key, name) for name in setting)}]"
    if isinstance(setting, bool):
        return str(setting).lower()
    if isinstance(setting, str) or key in KEYS:  # columns may be numbered
        try:
            return json.dumps(str(setting), ensure_ascii=False).replace("\x7f", "\\u007F").encode().decode()
        except UnicodeEncodeError:  # half of a pair of UTF-16
            raise _unusable_error(key, setting) from None
    return repr(setting)


def guess(head: Any) -> Columns:
    """Return a guessed mapping of a frame from its first rows; raises BadInput.

    The label is recognised by its name. Where possible, types decide: texts, categories and lists are ids, truth values and
    numbers with a point are dense. Whole numbers and times are guessed as in a file.
    """
    label, seem = _label(head.schema.names), {column.name: column for column in guess_columns(head)}
    left_out = _left_out(head, label)
    if left_out:
        are = (
            "is left out, as its name or its first rows are" if len(left_out) == 1 else "are left out, as names or first rows are"
        )
        way = f"name such a column in mapping to use it: {EXAMPLE}"
        warnings.warn(f"{names_text(left_out)} of data {are} like those of the label {label!r}; {way}.", stacklevel=2)
    inputs = [field for field in head.schema if field.name not in (label, *left_out)]
    roles = {field.name: _role(field, seem[field.name], head.column(field.name)) for field in inputs}
    mapping: dict[str, Any] = {"label": label}
    mapping |= {key: [name for name, role in roles.items() if role == key] for key in ("ids", "dense")}
    times = [name for name, role in roles.items() if role == "time"]
    if len(times) > 1:
        raise BadInput(f"{' and '.join(times[:2])} of data could each be the time; name the right one in mapping: {EXAMPLE}.")
    if not mapping["ids"]:
        raise BadInput(
            f"data has no column of ids except {label!r}; its columns are {names_text(head.schema.names)}. Write {EXAMPLE}."
        )
    return {key: names for key, names in (mapping | {"time": (times or [""])[0]}).items() if names}


def guess_columns(head: Any) -> list[Guess]:
    """Return a guess for each column of a frame from its first rows.

    The rules are those for a file's columns.
    """
    cells = {name: cells_of(head, name) for name in head.schema.names}
    return guessed_columns(cells, [field.name for field in head.schema if is_list(field.type)])


def _left_out(head: Any, label: str) -> list[str]:
    """Return the columns that are no inputs: those named like a label beside the label, and copies of it."""
    cells = {field.name: cells_of(head, field.name) for field in head.schema if not is_list(field.type)}
    copies = copies_of(label, cells) if label in cells else ()
    return [name for name in head.schema.names if name != label and (is_label_name(name) or name in copies)]


def cells_of(head: Any, name: str) -> list[str]:
    """Return a column's cells as texts, missing ones as empty texts."""
    return ["" if cell is None else str(cell) for cell in head.column(name).to_pylist()]


def _label(names: list[str]) -> str:
    """Return the column that is named like a label; raises BadInput.

    Names are those of LABELS, or else those in files.
    """
    labels = [name for name in names if name.lower() in LABELS]
    labels = labels or [name for name in names if is_label_name(name)]
    if len(labels) != 1:
        doubt = f"{' and '.join(labels)} could each be the label" if labels else f"No column of data has a name like {LABELS[0]}"
        raise BadInput(f"{doubt}; its columns are {names_text(names)}. Name their roles in mapping: {EXAMPLE}.")
    return labels[0]


def _role(field: Any, seems: Guess, column: Any) -> str:
    """Return the key of a mapping under which a column belongs.

    Raises BadInput for other types.
    """
    from pyarrow import compute, types

    kind = plain_type(field.type)
    if types.is_boolean(field.type) or types.is_floating(kind) or types.is_decimal(kind):
        return "dense"
    texts = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    if types.is_dictionary(field.type) or is_list(kind) or any(is_type(kind) for is_type in texts):
        return "ids"
    if types.is_timestamp(kind) or types.is_date(kind):
        return "time"
    if not types.is_integer(field.type):  # nor integers with another meaning, as pandas' periods
        raise BadInput(
            f"Column {field.name!r} of data has type {field.type}, which is neither ids nor numbers; name the columns to use in "
            f"mapping: {EXAMPLE}."
        )
    # The guess is by the hour of the first rows; later times look like text.
    if seems.role in ("time", "text") and (compute.min(column).as_py() or 0) >= EARLIEST_SECONDS:
        return "time"
    return "dense" if seems.role == "number" else "ids"


def names_text(names: list[str]) -> str:
    """Return names as text, at most 12 of them."""
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
