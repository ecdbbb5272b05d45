"""The tables of a part's file: constants with their units, ranges and sources, prices by year, whether it can be bought."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn, get_args

from ...errors import BadFile, nearest
from ..constants import COUNTS, REPLACED, Confidence, Constant, Said, least_of
from ..figures import exact

MOST = 1e12
MOST_BYTES, MOST_LETTERS = 1_000_000, 300
NUMBERS = ("value", "low", "high")
SAID = (*NUMBERS, "confidence", "source")
MONEY = ("USD", "USD/GB")  # units of prices, each of which is of a year
FIRST, LAST = 2000, 2100
AVAILABILITY, FORM = "availability", "form"
STATES = ("on sale", "announced", "discontinued", "research")  # and "unknown", of a part whose file does not say it
FORMS = ("SXM", "PCIe", "superchip", "OAM")
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,39}")  # of a list, where any name will do
SINCE = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2]))?")
Table = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a part can be bought, since which year or month, and who says so."""

    state: str = "unknown"
    since: str = ""
    source: str = ""

    @property
    def mark(self) -> str:
        """What a list says of a part that cannot be bought today, "" of others."""
        since = f" since {self.since}" if self.since else ""
        return f"{self.state}{since}" if self.state not in ("on sale", "unknown") else ""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a kind of part has to say: a constant's name and unit, whether it can be 0, and which `choices` of a knob `switch`
    stand for other sources; a part whose file does not say it has the `default`, if there is one, or none if it is `optional`.
    Its range is a `choice` where it is what vendors offer, which is never drawn."""

    name: str
    unit: str
    zero: bool = False
    switch: str = ""
    choices: tuple[str, ...] = ()
    default: Constant | None = None
    optional: bool = False
    choice: bool = False

    @property
    def key(self) -> str:
        """The name of the constant's table, as `machine.assume` has it behind the device."""
        return self.name.replace(" ", "-")


def quantity(name: str, unit: str, default: Constant | None = None, **more: Any) -> Any:
    """Declare a dataclass field that is a constant of a part's file; see Quantity for the keywords."""
    if default is None:
        return field(metadata={"quantity": Quantity(name, unit, **more)})
    named = replace(default, name=name, unit=unit, zero=more.get("zero", False), choice=more.get("choice", False))
    return field(default=named, metadata={"quantity": Quantity(name, unit, default=named, **more)})


def optional_price(unit: str, name: str = "price", zero: bool = False) -> Any:
    """Declare a dataclass field that is a price; a part for which none is published has None."""
    return field(default=None, kw_only=True, metadata={"quantity": Quantity(name, unit, zero=zero, optional=True)})


def available(path: Path | str, content: Table) -> Availability:
    """Return whether a part can be bought; raises BadFile."""
    if AVAILABILITY not in content:
        return Availability()
    table, needed = content[AVAILABILITY], ("state", "since", "source")
    known_keys(path, AVAILABILITY, table, needed)
    if missing := [key for key in needed if key not in table]:
        refuse(path, f"does not say {missing[0]} of {AVAILABILITY}; it has {words(needed)}.")
    if table["state"] not in STATES:
        refuse(path, f"gives {AVAILABILITY}.state = {table['state']!r:.40}; {nearest(str(table['state']), STATES)}")
    if not SINCE.fullmatch(str(table["since"])):
        refuse(path, f'gives {AVAILABILITY}.since = {table["since"]!r:.40}; write a year or a month: "2024" or "2024-11".')
    return Availability(table["state"], str(table["since"]), line(path, f"{AVAILABILITY}.source", table["source"]))


def check_form(path: Path | str, content: Table, forms: tuple[str, ...]) -> None:
    """Raise BadFile where a part does not say one of the forms of its kind."""
    if content.get(FORM) not in forms:
        said = f"says {FORM} = {content[FORM]!r:.40}" if FORM in content else f"does not say its {FORM}"
        refuse(path, f'{said}; write {FORM} = "{forms[0]}" or another of {words(forms)}.')


def check_words(path: Path | str, key: str, listed: Any, allowed: Sequence[str]) -> None:
    """Raise BadFile where a list has words beside those that are allowed, of which none means any name."""
    such = f'["{allowed[0]}"], of {words(allowed)}' if allowed else '["NAME"]'
    right = isinstance(listed, list) and listed and all(isinstance(one, str) and WORD.fullmatch(one) for one in listed)
    if not right or len({*listed}) < len(listed):
        refuse(path, f"says {key} = {listed!r:.60}, which is no list of different words; write {key} = {such}.")
    if strange := next((one for one in listed if allowed and one not in allowed), ""):
        refuse(path, f"says {key} of {strange!r}, which is not known; write {key} = {such}.")


def constant(path: Path | str, one: Quantity, table: Any) -> Constant:
    """Read a constant's table, and in its `others` what other sources say."""
    more = ("others",) * bool(one.switch) + ("year", "years") * (one.unit in MONEY)
    known_keys(path, one.key, table, (*SAID, "unit", "note", *more), (*SAID, "unit", *more[:1] * (one.unit in MONEY)))
    if table["unit"] != one.unit:
        refuse(path, f"gives {one.key} in {table['unit']!r}, but it is taken in {one.unit!r}; convert it.")
    if (note := table.get("note", "")) != "":
        line(path, f"{one.key}.note", note)
    numbers, origin = _numbers(path, one, one.key, table), confidence_and_source(path, one.key, table)
    found = Constant(one.name, *numbers, *origin, note, zero=one.zero, choice=one.choice)
    if one.unit in MONEY:
        return _dated(path, one, found, table)
    others = table.get("others", {})
    known_keys(path, f"{one.key}.others", others, one.choices)
    said = {choice: _other(path, one, choice, table) for choice in others}
    return found.disputed(one.switch, **said) if said else found


def _dated(path: Path | str, one: Quantity, found: Constant, table: Table) -> Constant:
    """Return a price with its year, and with what it was in other years."""
    others = table.get("years", {})
    if not isinstance(others, dict):
        refuse(path, f"gives {one.key}.years = {others!r:.40}, which is no table; write [{one.key}.years] and below it years.")
    years = {str(table["year"]): table["year"], **{year: int(year) for year in others if re.fullmatch("[0-9]{4}", year)}}
    for year in (str(table["year"]), *others):
        if not isinstance(years.get(year), int) or not FIRST <= years[year] <= LAST:
            refuse(path, f"says {one.key} of the year {year!r:.40}; write a whole number from {FIRST} to {LAST}.")
    if str(table["year"]) in others:
        refuse(path, f"gives {one.key} of {table['year']} twice; keep one.")
    said = {years[year]: _other(path, one, year, table, "years") for year in others}
    return replace(found, year=table["year"]).dated(said)


def _other(path: Path | str, one: Quantity, choice: str, tables: Any, among: str = "others") -> Said:
    key, table = f"{one.key}.{among}.{choice}", tables[among][choice]
    known_keys(path, key, table, SAID, SAID)
    value, _, low, high = _numbers(path, one, key, table)
    return value, low, high, *confidence_and_source(path, key, table)


def _numbers(path: Path | str, one: Quantity, key: str, table: Table) -> tuple[float, str, float, float]:
    """Return value, unit, low and high."""
    for word in NUMBERS:
        number, least = table[word], _from(one)
        right = isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= MOST
        if not right or (number == 0 and not one.zero) or 0 < number < least_of(one.unit):
            refuse(path, f"gives {key}.{word} = {number!r}; write a number {least} to {exact(MOST)}, in {one.unit}.")
    value, low, high = (table[word] for word in NUMBERS)
    if not low <= value <= high:
        refuse(path, f"gives {key} = {value} {one.unit} outside its range of {low} to {high}; widen low to high around it.")
    return value, one.unit, low, high


def _from(one: Quantity) -> str:
    """Return in words where the numbers begin that a quantity can be."""
    if one.unit in COUNTS:
        return "0, or from 1" if one.zero else "from 1"
    return "from 0" if one.zero else "above 0 and up"


def confidence_and_source(path: Path | str, key: str, table: Table) -> tuple[Confidence, str]:
    """Return how sure a table is and its source; raises BadFile."""
    if (sure := table["confidence"]) not in get_args(Confidence):
        refuse(path, f"gives {key}.confidence = {sure!r}; {nearest(str(sure), get_args(Confidence))}")
    return sure, line(path, f"{key}.source", table["source"])


def known_keys(path: Path | str, where: str, table: Any, known: Sequence[str], needed: Sequence[str] = ()) -> None:
    """Refuse what is no table, has an unknown key, or lacks a needed one."""
    if not isinstance(table, dict):
        refuse(path, f"gives {where} = {table!r:.40}, which is no table; write [{where}] and below it {words(known)}.")
    for key in table:
        if new := REPLACED.get(key):
            refuse(path, f"says {key}, which {new} has replaced; docs/parts.md says what that is.")
        if key not in known:
            refuse(path, f"says {key!r:.60}{where and f' of {where}'}, which is not known; {nearest(key, tuple(known))}")
    for key in needed:
        if key not in table:
            refuse(path, f"does not say {key} of {where}; a constant has {words(needed)}.")


def line(path: Path | str, key: str, text: Any) -> str:
    """Return a text of one printable line; raises BadFile."""
    if not isinstance(text, str) or not 0 < len(text) <= MOST_LETTERS or not text.isprintable():
        refuse(path, f"must say {key} in one line of 1 to {MOST_LETTERS} printable characters.")
    return text


def words(words: Sequence[str]) -> str:
    """Return words as a sentence lists them."""
    return f"{', '.join(words[:-1])} and {words[-1]}"


def refuse(path: Path | str, sentence: str) -> NoReturn:
    """Raise BadFile of a file, with what is wrong in it and what to write."""
    raise BadFile(f"{path} {sentence}")
