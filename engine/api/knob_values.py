"""From what a script writes for a knob to values of the knob: one value, or the values of an axis.

An axis is any iterable: list, tuple, set (sorted), range, generator, numpy array, column of a frame. A knob that takes
several numbers as one value reads a flat tuple of numbers as that value and a flat list as an axis, as it always did;
the widths of an MLP, of which there are always several, read both as one value. What could be either is refused. A knob with
one value for all tables, or one per table, reads a flat tuple as one per table.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from ..core.figures import count
from ..errors import BadInput, BadKnob
from ..scenario import knobs
from ..scenario.knobs import Knob
from ..scenario.scenario import KNOBS, known
from ..sweep.axes import MOST_POINTS, Axis

FIRST = "is the first argument, without a name: ep.estimate('tiny', ...)."
COLUMNS = "is a key of mapping=, beside data=."
ELSEWHERE = {  # names that are no knob, and where they belong
    "data": "is read by ep.run(data=FILE) to train on it, by ep.fit(FILE) for a scenario like it; an estimate reads no file.",
    "mapping": "goes with the data of ep.run, ep.sweep or ep.fit.",
    "jobs": "is of ep.run and ep.sweep, which compute with several processes.",
    "within_percent": "is of ep.enough, which has a target.",
    **dict.fromkeys(("base", "preset", "scenario", "link"), FIRST),
    **dict.fromkeys(("label", "ids", "dense"), COLUMNS),
}
TITLES = {knob.title: path for path, knob in KNOBS.items()}
SHOWN = 60  # characters of a value in a sentence


def path_of(name: str) -> str:
    """Return the path of a knob by its path, its title or its last part; raises BadKnob naming the nearest."""
    dotted = name.replace("__", ".")
    if dotted in KNOBS:
        return dotted
    if name in TITLES:
        return TITLES[name]
    paths = [path for path in KNOBS if path.rpartition(".")[2] == dotted]
    if len(paths) > 1:
        raise BadKnob(f"{name!r} is the last part of {' and '.join(paths)}; write one of them, with __ for the point.")
    if not paths and name in ELSEWHERE:
        raise BadInput(f"{name}= is no knob; it {ELSEWHERE[name]}")
    return paths[0] if paths else known(dotted).path


def keyword(path: str) -> str:
    """Return the shortest keyword of a knob: the last part of its path where that is one knob's alone."""
    last = path.rpartition(".")[2]
    return last if sum(one.rpartition(".")[2] == last for one in KNOBS) == 1 else path.replace(".", "__")


def by_path(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by the path of their knob; raises BadKnob for a knob that is named twice."""
    names: dict[str, str] = {}
    for name in changes:
        path = path_of(name)
        if path in names:
            raise BadKnob(f"{names[path]!r} and {name!r} are both {path}; name it once.")
        names[path] = name
    return {path: changes[name] for path, name in names.items()}


def settings(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return one value for each knob, where a list cannot span an axis; raises BadKnob."""
    found: dict[str, Any] = {}
    for path, written in by_path(changes).items():
        value = plain(written, path)
        if isinstance(value, list | tuple) and not _several(KNOBS[path]):
            raise BadKnob(
                f"{path}={shown(written)} gives several values where one is needed; a list is an axis of ep.estimate and ep.run."
            )
        found[path] = _one(KNOBS[path], value, written)
    return found


def split(changes: Mapping[str, Any], flat_lists: bool = True) -> tuple[dict[str, Any], tuple[Axis, ...]]:
    """Return the knobs that are set, and the axes that the others span; raises BadKnob.

    Without `flat_lists`, a flat list for a knob that takes several numbers is refused, as it could be its value too.
    """
    values: dict[str, Any] = {}
    axes: list[Axis] = []
    for path, written in by_path(changes).items():
        value = plain(written, path)
        if _spans(KNOBS[path], value, flat_lists):
            axes.append(_axis(KNOBS[path], value, isinstance(written, set | frozenset)))
        else:
            values[path] = _one(KNOBS[path], value, written)
    return values, tuple(axes)


def plain(value: Any, path: str) -> Any:
    """Return a value in Python's own types: numbers of numpy and decimals as numbers, any iterable as a list or tuple."""
    if isinstance(value, str):
        return str.__str__(value)
    if value is None or isinstance(value, bool | int | float | dict):
        return value
    if isinstance(value, Decimal | Fraction):
        return _number(path, value)
    if np.ma.is_masked(value):
        raise BadKnob(f"{path}={shown(value)} has a masked cell, which is no value; fill it, as with .filled(), or take it away.")
    if isinstance(value, bytes | bytearray | os.PathLike) or hasattr(value, "iterrows"):
        raise _strange(path, value)
    if hasattr(value, "as_py"):  # a scalar of Arrow
        return plain(value.as_py(), path)
    if hasattr(value, "tolist") and getattr(value, "size", 1) <= MOST_POINTS:  # numpy, pandas, Arrow
        listed = value.tolist()
        return [plain(one, path) for one in listed] if isinstance(listed, list) else plain(listed, path)
    if not isinstance(value, Iterable):
        raise _strange(path, value)
    items = list(islice(value, MOST_POINTS + 1))
    if len(items) > MOST_POINTS:
        raise BadKnob(f"{path} gets more than {count(MOST_POINTS)} values; take fewer.")
    found = [plain(one, path) for one in items]
    return tuple(found) if isinstance(value, tuple) else found


def shown(value: Any) -> str:
    """Return a value as a sentence has it: short, on one line."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # whatever a stranger's repr does
        text = f"<{type(value).__name__}>"
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 20]}...{text[-17:]}"


def _strange(path: str, value: Any) -> BadKnob:
    kind = type(value).__name__
    return BadKnob(f"{path}={shown(value)} is no value of a knob, but of type {kind}; write a number, a text or a list of them.")


def _number(path: str, value: Decimal | Fraction) -> float | int:
    try:
        number = float(value)
    except (ValueError, OverflowError):  # a NaN that signals, or more than any number
        raise _strange(path, value) from None
    return int(number) if number.is_integer() else number


def _several(knob: Knob) -> bool:
    """Return whether one value of the knob is several numbers, or may be one per table."""
    return knob.kind in knobs.SEPARATOR or knob.kind == "assumptions" or knob.by_table


def _one(knob: Knob, value: Any, written: Any) -> Any:
    """Return one value of a knob; raises BadKnob, also for several numbers without an order."""
    if isinstance(written, set | frozenset):
        raise BadKnob(f"{knob.path}={shown(written)} is a set, which has no order; write a tuple.")
    return _read(knob, tuple(value) if isinstance(value, list) else value)


def _spans(knob: Knob, value: Any, flat_lists: bool) -> bool:
    """Return whether a value spans an axis; raises BadKnob where it could be either."""
    if not isinstance(value, list | tuple):
        return False
    if not _several(knob):
        return True
    if knob.kind == "assumptions":
        return _spans_assumptions(knob, value)
    numbers = [isinstance(one, bool | int | float) or (knob.kind == "choice" and isinstance(one, str)) for one in value]
    if knob.kind == "widths" or isinstance(value, tuple):
        if any(numbers) and not all(numbers):
            raise BadKnob(f"{knob.path}={shown(value)} mixes numbers and lists; {_both(knob)}")
        return bool(value) and not numbers[0]
    if value and all(numbers) and not (flat_lists or knob.by_table):
        raise BadKnob(f"{knob.path}={shown(value)} can be one value or an axis; {_both(knob)}")
    return True


def _spans_assumptions(knob: Knob, value: list[Any] | tuple[Any, ...]) -> bool:
    pairs = [isinstance(one, list | tuple) and len(one) == 2 and isinstance(one[0], str) for one in value]
    if isinstance(value, list) and any(pairs):
        raise BadKnob(
            f"{knob.path}={shown(value)} can be one value or an axis; write a dict for one value, a list of dicts for an axis."
        )
    return isinstance(value, list)


def _both(knob: Knob) -> str:
    return f"write {knob.path.rpartition('.')[2]}=(8, 4) for one value, [(8, 4), (8, 8)] for an axis of two."


def _axis(knob: Knob, items: list[Any] | tuple[Any, ...], unordered: bool) -> Axis:
    if not items:
        none = ", or () for none" if knob.kind == "floats" else ""
        raise BadKnob(f"{knob.path} is given a list without a value; give at least one{none}.")
    values = [_read(knob, _item(knob, one)) for one in items]
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            raise BadKnob(f"axis {knob.path} gives {knobs.write(knob, value)[:SHOWN]} twice; name each value once.")
        seen.add(value)
    ordered = sorted(values, key=lambda one: (one is not None, isinstance(one, tuple), one)) if unordered else values
    return Axis(knob.path, tuple(ordered))


def _item(knob: Knob, one: Any) -> Any:
    if not isinstance(one, list | tuple):
        return one
    if not _several(knob):
        raise BadKnob(f"{knob.path} takes one value at each point, and {shown(one)} is a list in a list; write one flat list.")
    return tuple(one)


def _read(knob: Knob, value: Any) -> Any:
    """Return a value in its knob's own type: a text as links write it; raises BadKnob."""
    if isinstance(value, dict):
        if knob.kind != "assumptions":
            raise BadKnob(f"{knob.path}={shown(value)} is a dict; write one value, or a list of values for an axis.")
        return knobs.check(knob, tuple(value.items()))
    if not isinstance(value, str):
        return knobs.check(knob, value)
    if knob.kind in ("float", "int", "choice", "switch") and "," in value:
        name = knob.path.rpartition(".")[2]
        raise BadKnob(f"{knob.path}={shown(value)} is a text of several values; write a list for an axis: {name}=[...].")
    if knob.kind in ("float", "int") and ":" in value:
        raise BadKnob(f"{knob.path}={shown(value)} is a range; write it as ep.sweep(BASE, '{knob.path}={value[:SHOWN]}').")
    return knobs.parse(knob, value)
