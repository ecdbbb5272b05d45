"""A knob: the declaration of a scenario's field, with unit, range, label and help.

Each knob is declared once. The declaration is used to parse, check, list, draw and export the knob, and to write it into links.
"""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from itertools import groupby
from math import isfinite
from types import UnionType
from typing import Annotated, Any, Literal, get_args

from ..core.arithmetic import total
from ..core.catalog import PartNames
from ..core.figures import count, exact
from ..core.part_files.lists import LISTING, PartList
from ..errors import BadKnob, nearest_hint

Kind = Literal["float", "int", "choice", "switch", "floats", "ints", "widths", "text", "assumptions"]
# The run in which a knob matters: estimate, full run (with training, outages, a file, or memories), a campaign,
# or the running costs, which need no run.
Acts = Literal["always", "full run", "training", "outages", "file", "memories", "campaign", "running costs"]
PLACES: Mapping[str, str] = {"campaign": "a campaign", "running costs": "the running costs"}  # all others: a full run
# The kind of a knob by the type of its field; a text with choices has the kind "choice".
KINDS: Mapping[Any, Kind] = {
    float: "float",
    int: "int",
    bool: "switch",
    str: "text",
    tuple[float, ...]: "floats",
    tuple[int, ...]: "ints",
    Annotated[tuple[int, ...], "widths"]: "widths",
    tuple[tuple[str, float], ...]: "assumptions",
}
AUTO = "auto"
MAX_REPR_LENGTH, MAX_SETTING_LENGTH = 400, 60  # characters of a value that a REPL shows, and of one knob in it
NAME = re.compile(r"[A-Za-z0-9.-]{1,80}")
WORDS = {"on": True, "off": False, "true": True, "false": False}
TIMES = "*"  # between a value and its number of repetitions in a list
SEPARATOR: dict[str, str] = {"floats": ";", "ints": ";", "widths": "-"}
MAX_ASSUMPTIONS = 200  # constants; a machine has about a hundred
MAX_VALUES = 20_000
# Fewer widths: each layer adds tasks to every batch and estimate.
MAX_VALUES_BY_KIND = {"floats": MAX_VALUES, "ints": MAX_VALUES, "widths": 64}


@dataclass(frozen=True, slots=True)
class Knob:
    """The declaration of one field of a scenario.

    label, help, unit: texts for readers.
    low, high: the inclusive range; `high` of a text is its largest length.
    choices: the allowed words, or a function that returns them.
    allowed_numbers: the allowed whole numbers, if not all of the range.
    log: True if the knob's slider is logarithmic.
    main: True if the knob is one of the main knobs.
    acts: where the knob has an effect: always, or only in one kind of run or answer, such as "full run" or "training".
    learned: True if the knob changes the generated data, and so what the model learns from them.
    added_later: True for a knob added to a model version without changing results: keys leave it out at its default.
    by_table: True if the value is one for all tables, or a tuple with one for each table.
    parts: the grammar of a text that lists parts.
    needs: the fault or the knob without which the knob has no effect.
    path: the dotted path.
    default: the default value.
    kind: the kind of value, which decides how it is parsed and written; from the field's type.
    optional: True if the value may be "auto" (None).
    """

    label: str
    help: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] | Callable[[], tuple[str, ...]] = ()
    allowed_numbers: tuple[int, ...] = ()
    log: bool = False
    main: bool = False
    acts: Acts = "always"
    learned: bool = False
    added_later: bool = False
    by_table: bool = False
    parts: PartList | None = None
    needs: str = ""
    path: str = ""
    default: Any = None
    kind: Kind = "text"
    optional: bool = False

    @property
    def title(self) -> str:
        """The label with its unit in brackets, as axes and table heads show it."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label

    @property
    def allowed(self) -> tuple[str, ...]:
        """The allowed words of a knob with choices.

        A function of `choices` is called at each use, so that a new file of a variant needs no other change.
        """
        return self.choices() if callable(self.choices) else self.choices


def knob(default: Any, label: str, help: str, **keywords: Any) -> Any:
    """Return a dataclass field that is a knob; `keywords` are the other fields of Knob."""
    return field(default=default, metadata={"knob": Knob(label, help, default=default, **keywords)})


def with_kind(knob: Knob, path: str, annotation: Any) -> Knob:
    """Return a declared knob with its dotted path and the kind of value.

    `annotation` is the type of the dataclass field.
    """
    base_type = get_args(annotation)[0] if isinstance(annotation, UnionType) else annotation
    kind = "choice" if knob.choices else KINDS[base_type]
    return replace(knob, path=path, kind=kind, optional=not knob.by_table and base_type is not annotation)


def shorten(text: str, max_length: int = MAX_REPR_LENGTH) -> str:
    """Return a text on one line, without its middle if longer than `max_length`."""
    line = " ".join(text.split())
    return line if len(line) <= max_length else f"{line[: max_length - 25]} ... {line[-20:]}"


def brief_group(group: Any) -> str:
    """Return one line with the knobs of a group that differ from their defaults."""
    differing = (
        f"{knob_field.name}={_shortened(setting)}"
        for knob_field in fields(group)
        if (setting := getattr(group, knob_field.name)) != knob_field.default
    )
    return shorten(f"{type(group).__name__}({', '.join(differing)})")


def _shortened(setting: Any) -> str:
    """Return the repr of a setting, cut after `SHORT` characters."""
    text = repr(setting)
    return text if len(text) <= MAX_SETTING_LENGTH else f"{text[:MAX_SETTING_LENGTH]}..."


def offered_words(knob: Knob, scenario_word: Any) -> tuple[str, ...]:
    """Return the words that a choice offers, with the scenario's present word.

    The scenario's word may name another user's own part, which this computer's lists do not have.
    """
    parts = knob.choices if isinstance(knob.choices, PartNames) else None
    words = tuple(parts.scenario_name(word) or word for word in knob.allowed) if parts else knob.allowed
    return words if not parts or scenario_word in words else (*words, scenario_word)


def parse(knob: Knob, text: str) -> Any:
    """Return the value of a text from a link or the command line; raises BadKnob."""
    word = text.strip()
    if knob.optional and word.lower() == AUTO:
        return None
    if knob.by_table and (LISTING in word or TIMES in word):
        return check(knob, tuple(_listed_value(knob, part) for part in _repeated(knob, word)))
    if knob.kind == "switch":
        return check(knob, WORDS.get(word.lower(), text))
    if knob.kind in ("choice", "text"):
        return check(knob, word)
    if knob.kind == "assumptions":
        return check(knob, tuple(_assumption(knob, part) for part in word.split(";") if part.strip()))
    if knob.kind in SEPARATOR:
        return check(knob, tuple(_number(knob, part) for part in _repeated(knob, word)))
    return check(knob, _number(knob, word))


def _listed_value(knob: Knob, text: str) -> Any:
    """Return one of several values as written; `check` validates them together."""
    return text.strip() if knob.kind == "choice" else _number(knob, text)


def _repeated(knob: Knob, text: str) -> list[str]:
    """Return the values of a list as written, where `16*600` are 600 values.

    They are counted before any is made.
    """
    separator = SEPARATOR.get(knob.kind, LISTING)
    runs = [_run(knob, part) for part in text.split(separator)] if text else []
    _check_count(knob, total(times for _, times in runs))
    return [word for word, times in runs for _ in range(times)]


def _run(knob: Knob, text: str) -> tuple[str, int]:
    """Return a value as written, and its number of repetitions."""
    word, star, times = text.partition(TIMES)
    if not star:
        return text, 1
    if not (times.strip().isdecimal() and 0 < int(times) <= MAX_VALUES):
        raise BadKnob(
            f"{knob.path} repeats {word.strip()[:40]!r} {times.strip()[:40]!r} times; write VALUE*TIMES with a whole number "
            f"from 1 to {count(MAX_VALUES)}."
        )
    return word, int(times)


def write(knob: Knob, setting: Any) -> str:
    """Return a value as text that `parse` reads as the same value."""
    if setting is None:
        return AUTO
    if knob.kind == "switch":
        return "on" if setting else "off"
    if isinstance(setting, tuple) and knob.by_table:
        return write_runs(knob.kind, setting)
    if knob.kind in SEPARATOR:
        return SEPARATOR[knob.kind].join(repr(number) for number in setting)
    if knob.kind == "assumptions":
        return ";".join(f"{name}={number!r}" for name, number in setting)
    return str(setting) if knob.kind in ("choice", "text") else repr(setting)


def write_runs(kind: Kind, values: tuple[Any, ...]) -> str:
    """Return a list of values as text, with repeated neighbours as value*times: `16*600`."""
    listing = ((repr(word) if not isinstance(word, str) else word, len([*equal_run])) for word, equal_run in groupby(values))
    return SEPARATOR.get(kind, LISTING).join(word if times == 1 else f"{word}{TIMES}{times}" for word, times in listing)


def check(knob: Knob, setting: Any) -> Any:
    """Return `setting` as a value of the knob's type; raises BadKnob if not allowed."""
    if setting is None:
        if knob.optional:
            return None
        raise BadKnob(f"{knob.path} needs a value{_range(knob)}.")
    if knob.by_table and isinstance(setting, tuple | list):
        return _by_table(knob, tuple(setting))
    if knob.kind == "switch":
        if not isinstance(setting, bool):
            raise BadKnob(f"{knob.path}={setting!r} is not a switch; write on or off.")
        return setting
    if knob.kind == "text":
        return _text(knob, setting)
    if knob.kind == "assumptions":
        return _assumptions(knob, setting)
    if knob.kind == "choice":
        return _choice(knob, setting)
    if knob.kind in SEPARATOR:
        return _sequence(knob, setting)
    return _in_range(knob, setting)


def _by_table(knob: Knob, values: tuple[Any, ...]) -> Any:
    """Return a value for each table, or the single value of a list."""
    if not values:
        raise BadKnob(f"{knob.path} is empty; write one value, or one per table, separated by {LISTING!r}.")
    _check_count(knob, len(values))
    try:
        typed_settings = {(type(setting), setting) for setting in values}
    except TypeError:
        raise BadKnob(
            f"{knob.path}={values!r} contains something that is not a single value; write one value per table."
        ) from None
    checked = {key: (_choice if knob.kind == "choice" else _in_range)(knob, key[1]) for key in typed_settings}
    in_order = tuple([checked[type(setting), setting] for setting in values])
    return in_order if len(in_order) > 1 else in_order[0]


def _choice(knob: Knob, setting: Any) -> str:
    """Return an allowed word; a user's own part is named by its content.

    A year among the words may be a number, as files and tables have it.
    """
    is_integer = type(setting) is int or (isinstance(setting, float) and setting.is_integer())
    word = str(int(setting)) if is_integer and abs(setting) < 1e4 else setting
    parts = knob.choices if isinstance(knob.choices, PartNames) and isinstance(word, str) else None
    word_in_force: str | None = parts.scenario_name(word) if parts else word if word in knob.allowed else None
    if word_in_force is None:
        if parts and (refusal := parts.refusal(word)):
            raise BadKnob(f"{knob.path}={setting!r} {refusal}")
        listing = "systems" if knob.path == "system" else ""
        raise BadKnob(f"{knob.path}={setting!r} is not known; {nearest_hint(str(setting), knob.allowed, listing)}")
    return word_in_force


def _text(knob: Knob, text: Any) -> str:
    max_length = int(knob.high or 200)
    if not isinstance(text, str) or len(text) > max_length or not text.isprintable():
        raise BadKnob(f"{knob.path} must be a printable text of at most {count(max_length, 'character')}.")
    return knob.parts.settled(knob.path, text) if knob.parts and text else text


def _assumption(knob: Knob, text: str) -> tuple[str, float]:
    name, equals, number = text.partition("=")
    if not equals:
        raise BadKnob(f"{knob.path}={text!r} is not an assumption; write device.constant=number, separated by ';'.")
    return name.strip(), float(_number(knob, number))


def _assumptions(knob: Knob, setting: Any) -> tuple[tuple[str, float], ...]:
    """Return assumptions sorted by name, so that their order makes no difference."""
    try:
        pairs = tuple((str(name), number) for name, number in setting)
    except (TypeError, ValueError):
        raise BadKnob(f"{knob.path}={setting!r} is not an assumption; write device.constant=number, separated by ';'.") from None
    names = [name for name, _ in pairs]
    strange = [name for name in names if not NAME.fullmatch(name)]
    if strange:
        raise BadKnob(
            f"{knob.path} has the name {strange[0][:40]!r}, which is not that of a constant; write device.constant=number."
        )
    if len(pairs) > MAX_ASSUMPTIONS or len(set(names)) < len(names):
        raise BadKnob(f"{knob.path} has {len(names)} names; name each constant once, and at most {MAX_ASSUMPTIONS}.")
    return tuple(sorted((name, float(_in_range(knob, number))) for name, number in pairs))


def _sequence(knob: Knob, setting: Any) -> tuple[Any, ...]:
    items = tuple(setting) if isinstance(setting, tuple | list) else (setting,)
    if not items and knob.kind != "floats":
        raise BadKnob(f"{knob.path} is empty; write numbers separated by {SEPARATOR[knob.kind]!r}.")
    _check_count(knob, len(items))
    try:
        return _in_ranges(knob, items, frozenset(map(type, items)))
    except TypeError:  # an unhashable list or table among them
        raise BadKnob(
            f"{knob.path}={setting!r} contains something that is not a number; write only numbers{_range(knob)}."
        ) from None


def _check_count(knob: Knob, items: int) -> None:
    """Refuse a list that is too long before a value of it is made."""
    limit = MAX_VALUES_BY_KIND.get(knob.kind, MAX_VALUES)
    if items > limit:
        raise BadKnob(f"{knob.path} has {count(items, 'value')}; at most {count(limit)} are allowed: leave some out.")


@lru_cache(maxsize=256)
def _in_ranges(knob: Knob, items: tuple[Any, ...], types: frozenset[type]) -> tuple[Any, ...]:
    """Check each number, with a cache: hundreds of tables are checked with each scenario.

    `types` tells True and 1 apart.
    """
    return tuple(_in_range(knob, number) for number in items)


def _number(knob: Knob, text: str) -> float | int:
    try:
        return _whole_number(float(text), knob, text) if _integral(knob) else float(text)
    except ValueError:
        unit = f", in {knob.unit}" if knob.unit else ""
        raise BadKnob(f"{knob.path}={text!r} is not a number; write only the number{unit}.") from None


def _integral(knob: Knob) -> bool:
    return knob.kind in ("int", "ints", "widths")


def _whole_number(number: float, knob: Knob, text: Any) -> int:
    if not isfinite(number) or number != int(number):
        raise BadKnob(f"{knob.path}={text} must be a whole number{_range(knob)}.")
    return int(text) if isinstance(text, str) and text.strip().lstrip("+-").isdigit() else int(number)


def _in_range(knob: Knob, number: Any) -> float | int:
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise BadKnob(f"{knob.path}={number!r} is not a number{_range(knob)}.")
    if abs(number) > sys.float_info.max or number != number:
        number_text = f"a number beyond {sys.float_info.max:g}" if isinstance(number, int) else str(number)
        raise BadKnob(f"{knob.path}={number_text} is not finite; choose a number{_range(knob)}.")
    low, high = knob.low, knob.high
    if (low is not None and number < low) or (high is not None and number > high):
        unit = f" {knob.unit}" if knob.unit else ""
        raise BadKnob(f"{knob.path}={number}{unit} is out of range; choose a number{_range(knob)}.")
    if knob.allowed_numbers and number not in knob.allowed_numbers:
        *smaller, largest = knob.allowed_numbers
        raise BadKnob(
            f"{knob.path}={number} is not one of the possible values; choose {', '.join(map(str, smaller))} or {largest}."
        )
    return _whole_number(number, knob, number) if _integral(knob) else float(number)


def _range(knob: Knob) -> str:
    unit = f" {knob.unit}" if knob.unit else ""
    if knob.low is not None and knob.high is not None:
        return f" from {exact(knob.low)} to {exact(knob.high)}{unit}"
    return f" of at least {exact(knob.low)}{unit}" if knob.low is not None else ""
