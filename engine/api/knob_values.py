"""Settings of knobs from a script's arguments: one value, or the values of an axis.

An axis is any iterable: list, tuple, set (sorted), range, generator, numpy array, column of a frame. For a knob that takes
several numbers as one value, a flat tuple of numbers is one value and a flat list is an axis. For the widths of an MLP, which
always has several, both are one value. For a knob with one value for all tables or one per table, a flat tuple has one per table.
An ambiguous argument is refused.
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
from ..scenario.scenario import KNOBS, declaration
from ..sweep.axes import MOST_POINTS, Axis

BASE_ARGUMENT = "is the first argument, without a name: ep.estimate('tiny', ...)."
COLUMNS = "is a key of mapping=, beside data=."
OTHER_ARGUMENTS = {  # names that are no knob, and where they belong
    "data": (
        "is an argument of ep.run(data=FILE), which trains on the file, and ep.fit(FILE), which fits a scenario to it; an "
        "estimate reads no file."
    ),
    "mapping": "goes with the data of ep.run, ep.sweep or ep.fit.",
    "jobs": "is of ep.run and ep.sweep, which compute with several processes.",
    "within_percent": "is of ep.enough, which has a target.",
    **dict.fromkeys(("base", "preset", "scenario", "link"), BASE_ARGUMENT),
    **dict.fromkeys(("label", "ids", "dense"), COLUMNS),
}
TITLES = {knob.title: path for path, knob in KNOBS.items()}
VALUE_CHARACTERS = 60  # characters of a value in a sentence


def path_of(name: str) -> str:
    """Return the path of the knob that `name` names by path, title or last part.

    Raises BadKnob, which names the most similar knob.
    """
    dotted = name.replace("__", ".")
    if dotted in KNOBS:
        return dotted
    if name in TITLES:
        return TITLES[name]
    paths = [path for path in KNOBS if path.rpartition(".")[2] == dotted]
    if len(paths) > 1:
        raise BadKnob(
            f"{name!r} is the last part of several knobs: {' and '.join(paths)}; write one of these names in full, with __ for "
            "the point."
        )
    if not paths and name in OTHER_ARGUMENTS:
        raise BadInput(f"{name}= is not a knob; it {OTHER_ARGUMENTS[name]}")
    return paths[0] if paths else declaration(dotted).path


def keyword(path: str) -> str:
    """Return the shortest keyword of a knob.

    It is the last part of the path, or the whole path with `__` if another knob has the same last part.
    """
    last_part = path.rpartition(".")[2]
    return last_part if sum(known_path.rpartition(".")[2] == last_part for known_path in KNOBS) == 1 else path.replace(".", "__")


def by_path(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments by the dotted path of their knob.

    Raises BadKnob for a knob that is named twice.
    """
    names: dict[str, str] = {}
    for name in changes:
        path = path_of(name)
        if path in names:
            raise BadKnob(f"{names[path]!r} and {name!r} are two names of the knob {path}; give it once.")
        names[path] = name
    return {path: changes[name] for path, name in names.items()}


def settings(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return one setting for each knob, by path.

    Raises BadKnob for a bad setting, and for a list that spans an axis.
    """
    setting_by_path: dict[str, Any] = {}
    for path, argument in by_path(changes).items():
        setting = plain_setting(argument, path)
        if isinstance(setting, list | tuple) and not _takes_several(KNOBS[path]):
            raise BadKnob(
                f"{path}={short_text(argument)} has several values, but this call takes one; a list is an axis of ep.estimate "
                "and ep.run."
            )
        setting_by_path[path] = _one_setting(KNOBS[path], setting, argument)
    return setting_by_path


def split_axes(changes: Mapping[str, Any], flat_lists: bool = True) -> tuple[dict[str, Any], tuple[Axis, ...]]:
    """Return the knobs with one setting, and the axes of the other knobs; raises BadKnob.

    Without `flat_lists`, a flat list for a knob that takes several numbers is refused, as the list could be one setting too.
    """
    values: dict[str, Any] = {}
    axes: list[Axis] = []
    for path, argument in by_path(changes).items():
        setting = plain_setting(argument, path)
        if _spans(KNOBS[path], setting, flat_lists):
            axes.append(_axis(KNOBS[path], setting, isinstance(argument, set | frozenset)))
        else:
            values[path] = _one_setting(KNOBS[path], setting, argument)
    return values, tuple(axes)


def plain_setting(setting: Any, path: str) -> Any:
    """Return a setting in Python's own types; raises BadKnob.

    Numbers of numpy and decimals become numbers, any iterable becomes a list or tuple.
    """
    if isinstance(setting, str):
        return str.__str__(setting)
    if setting is None or isinstance(setting, bool | int | float | dict):
        return setting
    if isinstance(setting, Decimal | Fraction):
        return _number(path, setting)
    if np.ma.is_masked(setting):
        raise BadKnob(
            f"{path}={short_text(setting)} has a masked cell, which has no value; fill it, for example with .filled(), or "
            "remove it."
        )
    if isinstance(setting, bytes | bytearray | os.PathLike) or hasattr(setting, "iterrows"):
        raise _strange_type(path, setting)
    if hasattr(setting, "as_py"):  # a scalar of Arrow
        return plain_setting(setting.as_py(), path)
    if hasattr(setting, "tolist") and getattr(setting, "size", 1) <= MOST_POINTS:  # numpy, pandas, Arrow
        array_members = setting.tolist()
        return (
            [plain_setting(member, path) for member in array_members]
            if isinstance(array_members, list)
            else plain_setting(array_members, path)
        )
    if not isinstance(setting, Iterable):
        raise _strange_type(path, setting)
    items = list(islice(setting, MOST_POINTS + 1))
    if len(items) > MOST_POINTS:
        raise BadKnob(f"{path} gets more than {count(MOST_POINTS)} values; give fewer.")
    members = [plain_setting(member, path) for member in items]
    return tuple(members) if isinstance(setting, tuple) else members


def short_text(argument: Any) -> str:
    """Return an argument as short text on one line, for a sentence."""
    try:
        text = " ".join(repr(argument).split())
    except Exception:  # a repr of another library may raise any error
        text = f"<{type(argument).__name__}>"
    return text if len(text) <= VALUE_CHARACTERS else f"{text[: VALUE_CHARACTERS - 20]}...{text[-17:]}"


def _strange_type(path: str, setting: Any) -> BadKnob:
    kind = type(setting).__name__
    return BadKnob(
        f"{path}={short_text(setting)} has type {kind}, which no knob takes; write a number, a text or a list of them."
    )


def _number(path: str, setting: Decimal | Fraction) -> float | int:
    try:
        number = float(setting)
    except (ValueError, OverflowError):  # a signalling NaN, or a number too large for a float
        raise _strange_type(path, setting) from None
    return int(number) if number.is_integer() else number


def _takes_several(knob: Knob) -> bool:
    """Return whether one setting of the knob may have several numbers, or one per table."""
    return knob.kind in knobs.SEPARATOR or knob.kind == "assumptions" or knob.by_table


def _one_setting(knob: Knob, setting: Any, argument: Any) -> Any:
    """Return one setting of a knob in its type.

    Raises BadKnob, also for a set, which has no order.
    """
    if isinstance(argument, set | frozenset):
        raise BadKnob(f"{knob.path}={short_text(argument)} is a set, which has no order; write a tuple instead.")
    return _typed_setting(knob, tuple(setting) if isinstance(setting, list) else setting)


def _spans(knob: Knob, setting: Any, flat_lists: bool) -> bool:
    """Return whether a setting spans an axis; raises BadKnob for an ambiguous one."""
    if not isinstance(setting, list | tuple):
        return False
    if not _takes_several(knob):
        return True
    if knob.kind == "assumptions":
        return _spans_assumptions(knob, setting)
    numbers = [
        isinstance(member, bool | int | float) or (knob.kind == "choice" and isinstance(member, str)) for member in setting
    ]
    if knob.kind == "widths" or isinstance(setting, tuple):
        if any(numbers) and not all(numbers):
            raise BadKnob(f"{knob.path}={short_text(setting)} mixes numbers and lists; {_both_forms(knob)}")
        return bool(setting) and not numbers[0]
    if setting and all(numbers) and not (flat_lists or knob.by_table):
        raise BadKnob(f"{knob.path}={short_text(setting)} can be one value or an axis; {_both_forms(knob)}")
    return True


def _spans_assumptions(knob: Knob, setting: list[Any] | tuple[Any, ...]) -> bool:
    pairs = [isinstance(member, list | tuple) and len(member) == 2 and isinstance(member[0], str) for member in setting]
    if isinstance(setting, list) and any(pairs):
        raise BadKnob(
            f"{knob.path}={short_text(setting)} can be one value or an axis; "
            "write a dict for one value, a list of dicts for an axis."
        )
    return isinstance(setting, list)


def _both_forms(knob: Knob) -> str:
    return f"write {knob.path.rpartition('.')[2]}=(8, 4) for one value, [(8, 4), (8, 8)] for an axis of two."


def _axis(knob: Knob, items: list[Any] | tuple[Any, ...], unordered: bool) -> Axis:
    if not items:
        none_hint = ", or () for none" if knob.kind == "floats" else ""
        raise BadKnob(f"{knob.path} is given an empty list; give at least one value{none_hint}.")
    values = [_typed_setting(knob, _axis_member(knob, member)) for member in items]
    seen_settings: set[Any] = set()
    for setting in values:
        if setting in seen_settings:
            raise BadKnob(f"axis {knob.path} gives {knobs.write(knob, setting)[:VALUE_CHARACTERS]} twice; name each value once.")
        seen_settings.add(setting)
    ordered = sorted(values, key=lambda member: (member is not None, isinstance(member, tuple), member)) if unordered else values
    return Axis(knob.path, tuple(ordered))


def _axis_member(knob: Knob, member: Any) -> Any:
    if not isinstance(member, list | tuple):
        return member
    if not _takes_several(knob):
        raise BadKnob(
            f"{knob.path} takes one value at each point, but {short_text(member)} is a list inside a list; write one flat list."
        )
    return tuple(member)


def _typed_setting(knob: Knob, setting: Any) -> Any:
    """Return a setting in its knob's own type; texts are read as in links. Raises BadKnob."""
    if isinstance(setting, dict):
        if knob.kind != "assumptions":
            raise BadKnob(f"{knob.path}={short_text(setting)} is a dict; write one value, or a list of values for an axis.")
        return knobs.check(knob, tuple(setting.items()))
    if not isinstance(setting, str):
        return knobs.check(knob, setting)
    if knob.kind in ("float", "int", "choice", "switch") and "," in setting:
        name = knob.path.rpartition(".")[2]
        raise BadKnob(f"{knob.path}={short_text(setting)} is a text of several values; write a list for an axis: {name}=[...].")
    if knob.kind in ("float", "int") and ":" in setting:
        raise BadKnob(
            f"{knob.path}={short_text(setting)} is a range; "
            f"write it as ep.sweep(BASE, '{knob.path}={setting[:VALUE_CHARACTERS]}')."
        )
    return knobs.parse(knob, setting)
