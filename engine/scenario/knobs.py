"""A knob is one field of a scenario that knows its unit, range, label and help.

Declared once, it is parsed, validated, written into links, listed, drawn and exported from that declaration.
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

from ..core.catalog import PartNames
from ..core.figures import count, exact
from ..errors import BadKnob, nearest

Kind = Literal["float", "int", "choice", "switch", "floats", "ints", "widths", "text", "assumptions"]
# What must run for a knob to matter: the estimate, a full run (that trains, is struck, reads a file, fills memories), a campaign;
# or the running costs, which no run needs.
Acts = Literal["always", "full run", "training", "outages", "file", "memories", "campaign", "running costs"]
PLACES: Mapping[str, str] = {"campaign": "a campaign", "running costs": "the running costs"}  # of all others, a full run
# The kind of a knob by the type of its field; of a text that has choices it is "choice".
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
SCREEN, SHORT = 400, 60  # characters of a value that a REPL shows, and of one knob in it
NAME = re.compile(r"[A-Za-z0-9.-]{1,80}")
WORDS = {"on": True, "off": False, "true": True, "false": False}
LISTING = ";"  # between names of parts, and between values of tables
TIMES = "*"  # between a value and how many times a list has it
SEPARATOR: dict[str, str] = {"floats": ";", "ints": ";", "widths": "-"}
MOST_ASSUMED = 200  # constants; a machine has about a hundred
MOST_REPEATED = 20_000
# Of widths fewer: a layer is some tasks of each batch, and of each estimate.
MOST_ITEMS = {"floats": MOST_REPEATED, "ints": MOST_REPEATED, "widths": 64}


@dataclass(frozen=True, slots=True)
class Knob:
    """What one field means: `low` and `high` are inclusive; `optional` allows "auto" (None). The field's type says the kind.

    `acts` says when, and `needs` names the fault or the knob without which it does nothing; `only` lists the whole
    numbers that exist, where not every one of the range does. `high` of a text is its length. What the generator draws by a
    `learned` knob is trained on, whether the estimate shows it or not. A text may list `parts`, ';' between their names. A knob
    that is `later` than keys was added without moving results: at its default, keys leave it out. One `by_table` is a value for
    all tables, or a tuple with one for each.
    """

    label: str
    help: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] | Callable[[], tuple[str, ...]] = ()
    only: tuple[int, ...] = ()
    log: bool = False
    main: bool = False
    acts: Acts = "always"
    learned: bool = False
    later: bool = False
    by_table: bool = False
    parts: PartNames | None = None
    needs: str = ""
    path: str = ""
    default: Any = None
    kind: Kind = "text"
    optional: bool = False

    @property
    def title(self) -> str:
        """The label with its unit in brackets, as on axes and table heads."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label

    @property
    def allowed(self) -> tuple[str, ...]:
        """The names a choice can take; registries are asked late, so that a new file is enough."""
        return self.choices() if callable(self.choices) else self.choices


def knob(default: Any, label: str, help: str, **more: Any) -> Any:
    """Declare a dataclass field that is a knob; see Knob for the keywords."""
    return field(default=default, metadata={"knob": Knob(label, help, default=default, **more)})


def typed(knob: Knob, path: str, annotation: Any) -> Knob:
    """Return a declared knob with its dotted path, and its kind by the type of its field."""
    some = get_args(annotation)[0] if isinstance(annotation, UnionType) else annotation
    kind = "choice" if knob.choices else KINDS[some]
    return replace(knob, path=path, kind=kind, optional=not knob.by_table and some is not annotation)


def brief(text: str, most: int = SCREEN) -> str:
    """Return a text without its middle where it is longer than a screen."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 25]} ... {line[-20:]}"


def brief_group(group: Any) -> str:
    """Return a group of knobs as one line of those that differ from their defaults."""
    differing = (f"{one.name}={_short(value)}" for one in fields(group) if (value := getattr(group, one.name)) != one.default)
    return brief(f"{type(group).__name__}({', '.join(differing)})")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHORT else f"{text[:SHORT]}..."


def offered(knob: Knob, own: Any) -> tuple[str, ...]:
    """Return the words of a choice as a scenario has them, `own` among them, which may be a part of another's."""
    parts = knob.choices if isinstance(knob.choices, PartNames) else None
    words = tuple(parts.settled(word) or word for word in knob.allowed) if parts else knob.allowed
    return words if not parts or own in words else (*words, own)


def parse(knob: Knob, text: str) -> Any:
    """Read a value as written in a link or on the command line; raises BadKnob with a sentence."""
    word = text.strip()
    if knob.optional and word.lower() == AUTO:
        return None
    if knob.by_table and (LISTING in word or TIMES in word):
        return check(knob, tuple(_plain(knob, part) for part in _repeated(knob, word)))
    if knob.kind == "switch":
        return check(knob, WORDS.get(word.lower(), text))
    if knob.kind in ("choice", "text"):
        return check(knob, word)
    if knob.kind == "assumptions":
        return check(knob, tuple(_assumption(knob, part) for part in word.split(";") if part.strip()))
    if knob.kind in SEPARATOR:
        return check(knob, tuple(_number(knob, part) for part in _repeated(knob, word)))
    return check(knob, _number(knob, word))


def _plain(knob: Knob, text: str) -> Any:
    """Return one of several values as written; `check` looks at it with the others."""
    return text.strip() if knob.kind == "choice" else _number(knob, text)


def _repeated(knob: Knob, text: str) -> list[str]:
    """Return the values of a list as written, of which `16*600` are 600; counted before any is made."""
    separator = SEPARATOR.get(knob.kind, LISTING)
    runs = [_run(knob, part) for part in text.split(separator)] if text else []
    _counted(knob, sum(times for _, times in runs))
    return [word for word, times in runs for _ in range(times)]


def _run(knob: Knob, text: str) -> tuple[str, int]:
    """Return a value as written and how many times it is repeated."""
    word, star, times = text.partition(TIMES)
    if not star:
        return text, 1
    if not (times.strip().isdecimal() and 0 < int(times) <= MOST_REPEATED):
        raise BadKnob(
            f"{knob.path} repeats {word.strip()[:40]!r} {times.strip()[:40]!r} times; write VALUE*TIMES with a whole number "
            f"from 1 to {count(MOST_REPEATED)}."
        )
    return word, int(times)


def write(knob: Knob, value: Any) -> str:
    """Write a value so that `parse` reads the same value back; floats by repr."""
    if value is None:
        return AUTO
    if knob.kind == "switch":
        return "on" if value else "off"
    if isinstance(value, tuple) and knob.by_table:
        return runs(knob.kind, value)
    if knob.kind in SEPARATOR:
        return SEPARATOR[knob.kind].join(repr(item) for item in value)
    if knob.kind == "assumptions":
        return ";".join(f"{name}={number!r}" for name, number in value)
    return str(value) if knob.kind in ("choice", "text") else repr(value)


def runs(kind: Kind, values: tuple[Any, ...]) -> str:
    """Write a list so that `parse` reads it back, equal neighbours as one value and their number, such as `16*600`."""
    listing = ((repr(value) if not isinstance(value, str) else value, len([*same])) for value, same in groupby(values))
    return SEPARATOR.get(kind, LISTING).join(word if times == 1 else f"{word}{TIMES}{times}" for word, times in listing)


def check(knob: Knob, value: Any) -> Any:
    """Return `value` in the knob's own type if the knob can take it; raises BadKnob."""
    if value is None:
        if knob.optional:
            return None
        raise BadKnob(f"{knob.path} needs a value{_range(knob)}.")
    if knob.by_table and isinstance(value, tuple | list):
        return _by_table(knob, tuple(value))
    if knob.kind == "switch":
        if not isinstance(value, bool):
            raise BadKnob(f"{knob.path}={value!r} is not a switch; write on or off.")
        return value
    if knob.kind == "text":
        return _text(knob, value)
    if knob.kind == "assumptions":
        return _assumptions(knob, value)
    if knob.kind == "choice":
        return _choice(knob, value)
    if knob.kind in SEPARATOR:
        return _sequence(knob, value)
    return _in_range(knob, value)


def _by_table(knob: Knob, values: tuple[Any, ...]) -> Any:
    """Return a value for each table, or the one of a list that has no other."""
    if not values:
        raise BadKnob(f"{knob.path} is empty; write one value, or one per table separated by {LISTING!r}.")
    _counted(knob, len(values))
    try:
        known = {(type(value), value) for value in values}
    except TypeError:
        raise BadKnob(f"{knob.path}={values!r} has more than plain values; write one per table.") from None
    checked = {key: (_choice if knob.kind == "choice" else _in_range)(knob, key[1]) for key in known}
    in_order = tuple([checked[type(value), value] for value in values])
    return in_order if len(in_order) > 1 else in_order[0]


def _choice(knob: Knob, value: Any) -> str:
    """Return one of the words that are allowed; a part of one's own by the name that says its content.

    A year among them may be a number, as files and tables have it.
    """
    whole = type(value) is int or (isinstance(value, float) and value.is_integer())
    word = str(int(value)) if whole and abs(value) < 1e4 else value
    parts = knob.choices if isinstance(knob.choices, PartNames) and isinstance(word, str) else None
    found: str | None = parts.settled(word) if parts else word if word in knob.allowed else None
    if found is None:
        if parts and (why := parts.refusal(word)):
            raise BadKnob(f"{knob.path}={value!r} {why}")
        listing = "systems" if knob.path == "system" else ""
        raise BadKnob(f"{knob.path}={value!r} is not known; {nearest(str(value), knob.allowed, listing)}")
    return found


def _text(knob: Knob, value: Any) -> str:
    most = int(knob.high or 200)
    if not isinstance(value, str) or len(value) > most or not value.isprintable():
        raise BadKnob(f"{knob.path} must be a printable text of at most {most} characters.")
    return _part_list(knob, knob.parts, value) if knob.parts and value else value


def listed(text: str) -> tuple[str, ...]:
    """Return the names in a list of parts."""
    return tuple(name for part in text.split(LISTING) if (name := part.strip()))


def _part_list(knob: Knob, parts: PartNames, text: str) -> str:
    """Return a list of parts, each once and sorted, so that equal lists are one text; raises BadKnob for an unknown one."""
    if strange := next((name for name in listed(text) if parts.settled(name) is None), None):
        why = parts.refusal(strange) or f"is not known; {nearest(strange, parts())}"
        raise BadKnob(f"{knob.path} names {strange[:60]!r}, which {why}")
    return settled_list(parts, text)


def settled_list(parts: PartNames, text: str) -> str:
    """Return a list of parts by the names that a scenario has for them."""
    return LISTING.join(sorted({parts.settled(name) or name for name in listed(text)}))


def _assumption(knob: Knob, text: str) -> tuple[str, float]:
    name, equals, number = text.partition("=")
    if not equals:
        raise BadKnob(f"{knob.path}={text!r} is not an assumption; write device.constant=number, ';' between several.")
    return name.strip(), float(_number(knob, number))


def _assumptions(knob: Knob, value: Any) -> tuple[tuple[str, float], ...]:
    """Assumptions are kept sorted by name, so that their order makes no difference."""
    try:
        pairs = tuple((str(name), number) for name, number in value)
    except (TypeError, ValueError):
        raise BadKnob(f"{knob.path}={value!r} is no assumption; write device.constant=number, ';' between several.") from None
    names = [name for name, _ in pairs]
    strange = [name for name in names if not NAME.fullmatch(name)]
    if strange:
        raise BadKnob(f"{knob.path} names {strange[0][:40]!r}, which cannot be a constant; write device.constant=number.")
    if len(pairs) > MOST_ASSUMED or len(set(names)) < len(names):
        raise BadKnob(f"{knob.path} may name each constant once, and at most {MOST_ASSUMED}; it names {len(names)}.")
    return tuple(sorted((name, float(_in_range(knob, number))) for name, number in pairs))


def _sequence(knob: Knob, value: Any) -> tuple[Any, ...]:
    items = tuple(value) if isinstance(value, tuple | list) else (value,)
    if not items and knob.kind != "floats":
        raise BadKnob(f"{knob.path} is empty; write numbers separated by {SEPARATOR[knob.kind]!r}.")
    _counted(knob, len(items))
    try:
        return _in_ranges(knob, items, frozenset(map(type, items)))
    except TypeError:  # a list or table among them, which cannot be remembered
        raise BadKnob(f"{knob.path}={value!r} has more than numbers; write numbers alone{_range(knob)}.") from None


def _counted(knob: Knob, items: int) -> None:
    """Refuse a list that is too long before anything is made of it."""
    most = MOST_ITEMS.get(knob.kind, MOST_REPEATED)
    if items > most:
        raise BadKnob(f"{knob.path} has {count(items, 'value')}; at most {count(most)} are allowed: leave some out.")


@lru_cache(maxsize=256)
def _in_ranges(knob: Knob, items: tuple[Any, ...], types: frozenset[type]) -> tuple[Any, ...]:
    """Check each number; hundreds of tables are checked again with each scenario. `types` tells True and 1 apart."""
    return tuple(_in_range(knob, item) for item in items)


def _number(knob: Knob, text: str) -> float | int:
    try:
        return _whole(float(text), knob, text) if _integral(knob) else float(text)
    except ValueError:
        unit = f", in {knob.unit}" if knob.unit else ""
        raise BadKnob(f"{knob.path}={text!r} is not a number; write the number alone{unit}.") from None


def _integral(knob: Knob) -> bool:
    return knob.kind in ("int", "ints", "widths")


def _whole(number: float, knob: Knob, text: Any) -> int:
    if not isfinite(number) or number != int(number):
        raise BadKnob(f"{knob.path}={text} must be a whole number{_range(knob)}.")
    return int(text) if isinstance(text, str) and text.strip().lstrip("+-").isdigit() else int(number)


def _in_range(knob: Knob, value: Any) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadKnob(f"{knob.path}={value!r} is not a number{_range(knob)}.")
    if abs(value) > sys.float_info.max or value != value:
        written = f"a number beyond {sys.float_info.max:g}" if isinstance(value, int) else str(value)
        raise BadKnob(f"{knob.path}={written} is not finite; choose a number{_range(knob)}.")
    low, high = knob.low, knob.high
    if (low is not None and value < low) or (high is not None and value > high):
        unit = f" {knob.unit}" if knob.unit else ""
        raise BadKnob(f"{knob.path}={value}{unit} is out of range; choose a number{_range(knob)}.")
    if knob.only and value not in knob.only:
        *most, last = knob.only
        raise BadKnob(f"{knob.path}={value} does not exist; choose {', '.join(map(str, most))} or {last}.")
    return _whole(value, knob, value) if _integral(knob) else float(value)


def _range(knob: Knob) -> str:
    unit = f" {knob.unit}" if knob.unit else ""
    if knob.low is not None and knob.high is not None:
        return f" from {exact(knob.low)} to {exact(knob.high)}{unit}"
    return f" of at least {exact(knob.low)}{unit}" if knob.low is not None else ""
