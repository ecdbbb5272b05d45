"""What the columns of a frame mean: a mapping in Python's types, checked, guessed, and written as a mapping file's text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from ..core.figures import count
from ..errors import BadInput, nearest
from ..workload.readers.guess import WORDS, Guess
from ..workload.readers.mapping import MOST_COLUMNS
from ..workload.readers.mapping_text import columns_of as guessed_columns
from .arrow_columns import is_list, plain_type
from .knob_values import shown

LABELS = ("label", "labels", "click", "clicks", "clicked", "clk", "is_click", "is_clicked", "target", "y")
KEYS = ("label", "ids", "dense", "time")  # of a mapping that name columns, in the order in which they are written
SEVERAL = ("ids", "dense", "columns")  # keys whose values are lists
EXAMPLE = 'mapping={"label": "clicked", "ids": ["user", "item"], "dense": ["age"]}'
EARLIEST = 10**8  # seconds since 1970 that a column of times has at least: less is an hour, or a day of the month
Columns = Mapping[str, Any]


def mapping_of(written: Any) -> Columns | None:
    """Return a mapping whose values are texts, numbers and lists of them, whatever iterables were written; raises BadInput."""
    if written is None:
        return None
    if not isinstance(written, Mapping):
        raise BadInput(f"mapping={shown(written)} is no mapping; write a dict such as {EXAMPLE}.")
    return {str(key): _value(str(key), value) for key, value in written.items()}


def _value(key: str, value: Any) -> Any:
    if key not in SEVERAL or isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return _single(key, value)
    if hasattr(value, "iterrows") or getattr(value, "ndim", 1) > 1:
        raise _unusable(key, value)
    if not getattr(value, "ndim", 1):  # an array of numpy's without an axis
        return _single(key, value)
    names = list(islice(value, MOST_COLUMNS + 1))
    if len(names) > MOST_COLUMNS:
        raise BadInput(f"mapping gives {key!r} more than {count(MOST_COLUMNS)} values; write the names of columns, {EXAMPLE}.")
    texts = [_single(key, name) for name in names]
    return sorted(texts, key=str) if isinstance(value, set | frozenset) else texts


def _single(key: str, value: Any) -> str | bool | int | float:
    """Return a text or number in Python's own type; raises BadInput."""
    value = value.as_py() if hasattr(value, "as_py") else value  # a scalar of Arrow's
    found = value.item() if hasattr(value, "item") and getattr(value, "size", 1) == 1 else value
    if not isinstance(found, str | bool | int | float) or found != found:
        raise _unusable(key, value)
    return str.__str__(found) if isinstance(found, str) else found


def _unusable(key: str, value: Any) -> BadInput:
    return BadInput(f"mapping gives {key!r} {shown(value)}; write a text, or a list of texts.")


def columns_of(mapping: Columns, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that a mapping names, all where it names a format; raises BadInput for one that is not there."""
    if "format" in mapping:
        return names
    if not mapping.get("ids"):
        raise BadInput(f"mapping names no ids; write {EXAMPLE}.")
    wanted: list[str] = []
    for key in KEYS[1:]:
        written = mapping.get(key, ())
        wanted += map(str, written if isinstance(written, list | tuple) else [written])
    for name in wanted:
        if name not in names:
            raise BadInput(f"mapping names the column {name!r}, which data lacks; {nearest(name, names)}")
    label = str(mapping.get("label", ""))
    ruled = max((name for name in names if re.match(rf"{re.escape(name)}\s*([<>=!]|$)", label)), key=len, default=None)
    if label and ruled is None:
        raise BadInput(f"mapping names the label {label!r}, which data lacks; {nearest(label, names)}")
    return tuple(dict.fromkeys([*([ruled] if ruled is not None else []), *wanted]))


def toml(mapping: Columns) -> str:
    """Write a mapping as TOML, the same for equal ones; raises BadInput."""
    order = [key for key in KEYS if key in mapping] + sorted(key for key in mapping if key not in KEYS)
    return "".join(f"{_key(key)} = {_text(key, mapping[key])}\n" for key in order)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key, re.ASCII) else _text(key, key)


def _text(key: str, value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(_text(key, one) for one in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) or key in KEYS:  # columns may be numbered
        try:
            return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007F").encode().decode()
        except UnicodeEncodeError:  # half of a pair of UTF-16
            raise _unusable(key, value) from None
    return repr(value)


def guess(head: Any) -> Columns:
    """Return the mapping of a frame by its first rows, whose label's name says so; raises BadInput.

    Where a type says what a column is, that holds: texts, categories and lists are ids, truth and numbers with a point are
    dense. Whole numbers and times are what they would be in a file.
    """
    label, seem = _label(head.schema.names), {column.name: column for column in guessed(head)}
    roles = {field.name: _role(field, seem[field.name], head.column(field.name)) for field in head.schema if field.name != label}
    found: dict[str, Any] = {"label": label}
    found |= {key: [name for name, role in roles.items() if role == key] for key in ("ids", "dense")}
    times = [name for name, role in roles.items() if role == "time"]
    if len(times) > 1:
        raise BadInput(f"{' and '.join(times[:2])} of data could each be the time; say what counts: {EXAMPLE}.")
    if not found["ids"]:
        raise BadInput(
            f"data has no column of ids beside {label!r}; its columns are {listed(head.schema.names)}. Write {EXAMPLE}."
        )
    return {key: value for key, value in (found | {"time": (times or [""])[0]}).items() if value}


def guessed(head: Any) -> list[Guess]:
    """Return what the columns of a frame would be in a file, by its first rows."""
    cells = {name: ["" if cell is None else str(cell) for cell in head.column(name).to_pylist()] for name in head.schema.names}
    return guessed_columns(cells, [field.name for field in head.schema if is_list(field.type)])


def _label(names: list[str]) -> str:
    """Return the column that is named like a label: as frames always could name it, or else as files may; raises BadInput."""
    labels = [name for name in names if name.lower() in LABELS]
    labels = labels or [name for name in names if WORDS["label"].search(name.lower())]
    if len(labels) != 1:
        doubt = f"{' and '.join(labels)} could each be the label" if labels else f"No column of data is named like {LABELS[0]}"
        raise BadInput(f"{doubt}; its columns are {listed(names)}. Say what they mean: {EXAMPLE}.")
    return labels[0]


def _role(field: Any, seems: Guess, column: Any) -> str:
    """Return the key of a mapping under which a column belongs; raises BadInput for a type that is none of them."""
    from pyarrow import compute, types

    kind = plain_type(field.type)
    if types.is_boolean(field.type) or types.is_floating(kind) or types.is_decimal(kind):
        return "dense"
    texts = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    if types.is_dictionary(field.type) or is_list(kind) or any(one(kind) for one in texts):
        return "ids"
    if types.is_timestamp(kind) or types.is_date(kind):
        return "time"
    if not types.is_integer(field.type):  # nor those that stand for something else, as pandas' periods
        raise BadInput(
            f"Column {field.name!r} of data is of type {field.type}, neither ids nor numbers; say what counts: {EXAMPLE}."
        )
    # Where an hour seems to be the time, a later one seems to be text.
    if seems.role in ("time", "text") and (compute.min(column).as_py() or 0) >= EARLIEST:
        return "time"
    return "dense" if seems.role == "number" else "ids"


def listed(names: list[str]) -> str:
    """Return some names as a sentence lists them."""
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
