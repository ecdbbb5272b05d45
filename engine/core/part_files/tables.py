"""The tables of a part's file: constants with units, ranges and sources; prices; availability."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn, get_args

from ...errors import BadFile, nearest_hint
from ..constants import COUNTS, REPLACED, Confidence, Constant, SourcedValue, lower_limit, upper_limit
from ..figures import exact

MAX_NUMBER = 1e12
MAX_LINE_LETTERS = 300
NUMBERS = ("value", "low", "high")
SOURCED_VALUE_KEYS = (*NUMBERS, "confidence", "source")
MONEY = ("USD", "USD/GB")  # units of prices, which each have a year
USED = "used"  # key of a price's table: True for the price of a used part
FIRST_YEAR, LAST_YEAR = 2000, 2100
AVAILABILITY, FORM = "availability", "form"
STATES = ("on sale", "announced", "discontinued", "research")  # and "unknown" for a part whose file does not state it
PLAIN_STATES = ("on sale", "unknown", "available")  # which need no mark
FORMS = ("SXM", "PCIe", "superchip", "OAM")
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,39}")  # a word of a list that takes any name
YEAR_OR_MONTH = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2]))?")
Table = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a part can be bought.

    state: "on sale", "announced", "discontinued", "research" or "unknown"; for software one of its own states.
    since, source: since when the state holds, and the source; "" if not stated.
    """

    state: str = "unknown"
    since: str = ""
    source: str = ""

    @property
    def mark(self) -> str:
        """The state and its date, or "" for a state in PLAIN_STATES."""
        since_text = f" since {self.since}" if self.since else ""
        return f"{self.state}{since_text}" if self.state not in PLAIN_STATES else ""


@dataclass(frozen=True, slots=True)
class Quantity:
    """The declaration of a constant that the files of a kind of part state.

    name, unit: the constant's name and unit.
    zero: True if the constant can be 0.
    switch: the machine's knob that chooses among sources; choices: the choices of this knob that stand for other sources.
    default: the constant of a part whose file does not state it; None if each file must state it.
    optional: True if a file may leave the constant out; the part then has None.
    choice: True if the range is what vendors offer, so that the constant is never drawn at random.
    """

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
        """The name of the constant's table in a file.

        In `machine.assume` it stands after the device's name.
        """
        return self.name.replace(" ", "-")


def quantity(name: str, unit: str, default: Constant | None = None, **options: Any) -> Any:
    """Return a dataclass field that is a constant of a part's file.

    `options` are the other fields of Quantity.
    """
    if default is None:
        return field(metadata={"quantity": Quantity(name, unit, **options)})
    default_constant = replace(
        default, name=name, unit=unit, zero=options.get("zero", False), choice=options.get("choice", False)
    )
    return field(default=default_constant, metadata={"quantity": Quantity(name, unit, default=default_constant, **options)})


def optional_price(unit: str, name: str = "price", zero: bool = False) -> Any:
    """Return a dataclass field that is a price, None if no price is published."""
    return field(default=None, kw_only=True, metadata={"quantity": Quantity(name, unit, zero=zero, optional=True)})


def read_availability(path: Path | str, content: Table, states: tuple[str, ...] = STATES) -> Availability:
    """Return whether a part can be bought, in one of `states`; raises BadFile."""
    if AVAILABILITY not in content:
        return Availability()
    table, required_keys = content[AVAILABILITY], ("state", "since", "source")
    check_keys(path, AVAILABILITY, table, required_keys)
    if missing_keys := [key for key in required_keys if key not in table]:
        refuse(path, f"lacks {missing_keys[0]} in [{AVAILABILITY}]; this table has {joined_words(required_keys)}.")
    if table["state"] not in states:
        refuse(path, f"gives {AVAILABILITY}.state = {table['state']!r:.40}; {nearest_hint(str(table['state']), states)}")
    if not YEAR_OR_MONTH.fullmatch(str(table["since"])):
        refuse(path, f'gives {AVAILABILITY}.since = {table["since"]!r:.40}; write a year or a month: "2024" or "2024-11".')
    return Availability(table["state"], str(table["since"]), checked_line(path, f"{AVAILABILITY}.source", table["source"]))


def check_form(path: Path | str, content: Table, forms: tuple[str, ...]) -> None:
    """Raise BadFile if a part's file does not state one of the allowed `forms`."""
    if content.get(FORM) not in forms:
        complaint = f"says {FORM} = {content[FORM]!r:.40}" if FORM in content else f"does not say its {FORM}"
        refuse(path, f'{complaint}; write {FORM} = "{forms[0]}" or another of {joined_words(forms)}.')


def check_words(path: Path | str, key: str, word_list: Any, allowed: Sequence[str]) -> None:
    """Raise BadFile if a list has words that are not in `allowed`.

    Empty `allowed` allows any names.
    """
    example = f'["{allowed[0]}"], of {joined_words(allowed)}' if allowed else '["NAME"]'
    is_word_list = (
        isinstance(word_list, list) and word_list and all(isinstance(word, str) and WORD.fullmatch(word) for word in word_list)
    )
    if not is_word_list or len({*word_list}) < len(word_list):
        refuse(path, f"says {key} = {word_list!r:.60}, which is no list of different words; write {key} = {example}.")
    if strange := next((word for word in word_list if allowed and word not in allowed), ""):
        refuse(path, f"says {key} of {strange!r}, which is not known; write {key} = {example}.")


def read_constant(path: Path | str, quantity: Quantity, table: Any) -> Constant:
    """Return the constant in a table, with the values of other sources.

    The table's key `others` has the values of other sources. Raises BadFile.
    """
    extra_keys = ("others",) * bool(quantity.switch) + ("year", "years", USED) * (quantity.unit in MONEY)
    check_keys(
        path,
        quantity.key,
        table,
        (*SOURCED_VALUE_KEYS, "unit", "note", *extra_keys),
        (*SOURCED_VALUE_KEYS, "unit", *extra_keys[:1] * (quantity.unit in MONEY)),
    )
    if table["unit"] != quantity.unit:
        refuse(path, f"gives {quantity.key} in {table['unit']!r}, but the unit must be {quantity.unit!r}; convert the value.")
    if (note := table.get("note", "")) != "":
        checked_line(path, f"{quantity.key}.note", note)
    numbers, origin = _numbers(path, quantity, quantity.key, table), confidence_and_source(path, quantity.key, table)
    main_constant = Constant(quantity.name, *numbers, *origin, note, zero=quantity.zero, choice=quantity.choice)
    if quantity.unit in MONEY:
        return _dated(path, quantity, main_constant, table)
    other_tables = table.get("others", {})
    check_keys(path, f"{quantity.key}.others", other_tables, quantity.choices)
    source_values = {choice: _source_value(path, quantity, choice, table) for choice in other_tables}
    return main_constant.with_other_sources(quantity.switch, **source_values) if source_values else main_constant


def _dated(path: Path | str, quantity: Quantity, price: Constant, table: Table) -> Constant:
    """Return a price with its year, and with its values of other years."""
    year_tables = table.get("years", {})
    if not isinstance(year_tables, dict):
        refuse(
            path,
            f"gives {quantity.key}.years = {year_tables!r:.40}, which is no table; write [{quantity.key}.years] and below it "
            "years.",
        )
    years = {str(table["year"]): table["year"], **{year: int(year) for year in year_tables if re.fullmatch("[0-9]{4}", year)}}
    for year in (str(table["year"]), *year_tables):
        if not isinstance(years.get(year), int) or not FIRST_YEAR <= years[year] <= LAST_YEAR:
            refuse(path, f"says {quantity.key} of the year {year!r:.40}; write a whole number from {FIRST_YEAR} to {LAST_YEAR}.")
    if str(table["year"]) in year_tables:
        refuse(path, f"gives {quantity.key} of {table['year']} twice; remove one of the two.")
    prices = {years[year]: _source_value(path, quantity, year, table, "years") for year in year_tables}
    used_years = [years[year] for year in year_tables if _is_used(path, f"{quantity.key}.years.{year}", year_tables[year])]
    return replace(price, year=table["year"], used=_is_used(path, quantity.key, table)).with_years(prices, used_years)


def _is_used(path: Path | str, key: str, table: Table) -> bool:
    """Return whether a table has the price of a used part; raises BadFile."""
    if not isinstance(used := table.get(USED, False), bool):
        refuse(path, f"gives {key}.{USED} = {used!r:.40}; write true for the price of a used part, and false for a new one's.")
    return used


def _source_value(path: Path | str, quantity: Quantity, choice: str, tables: Any, group: str = "others") -> SourcedValue:
    key, table = f"{quantity.key}.{group}.{choice}", tables[group][choice]
    check_keys(path, key, table, (*SOURCED_VALUE_KEYS, *(USED,) * (group == "years")), SOURCED_VALUE_KEYS)
    nominal, _, low, high = _numbers(path, quantity, key, table)
    return nominal, low, high, *confidence_and_source(path, key, table)


def _numbers(path: Path | str, quantity: Quantity, key: str, table: Table) -> tuple[float, str, float, float]:
    """Return value, unit, low and high."""
    maximum = upper_limit(quantity.name, quantity.unit)
    for word in NUMBERS:
        number, lowest_text = table[word], _range_start(quantity)
        is_number = isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= MAX_NUMBER
        if not is_number or (number == 0 and not quantity.zero) or 0 < number < lower_limit(quantity.unit) or number > maximum:
            allowed_text = f"a number {lowest_text} to {exact(MAX_NUMBER)}, in {quantity.unit}"
            if maximum < MAX_NUMBER:
                percent_text = f": {exact(number / 100)} for {exact(number)} %" if is_number and maximum < number <= 100 else ""
                allowed_text = f"a share {quantity.unit}, {lowest_text} to {exact(maximum)}{percent_text}"
            refuse(path, f"gives {key}.{word} = {number!r}; write {allowed_text}.")
    nominal, low, high = (table[word] for word in NUMBERS)
    if not low <= nominal <= high:
        refuse(
            path, f"gives {key} = {nominal} {quantity.unit} outside its range of {low} to {high}; widen low to high around it."
        )
    return nominal, quantity.unit, low, high


def _range_start(quantity: Quantity) -> str:
    """Return the lower limit of a quantity's numbers in words."""
    if quantity.unit in COUNTS:
        return "0, or from 1" if quantity.zero else "from 1"
    return "from 0" if quantity.zero else "above 0 and up"


def confidence_and_source(path: Path | str, key: str, table: Table) -> tuple[Confidence, str]:
    """Return the confidence and the source that a table states; raises BadFile."""
    if (sure := table["confidence"]) not in get_args(Confidence):
        refuse(path, f"gives {key}.confidence = {sure!r}; {nearest_hint(str(sure), get_args(Confidence))}")
    return sure, checked_line(path, f"{key}.source", table["source"])


def check_keys(
    path: Path | str, table_name: str, table: Any, allowed_keys: Sequence[str], required_keys: Sequence[str] = ()
) -> None:
    """Raise BadFile unless `table` is a table with all required keys and only allowed keys."""
    if not isinstance(table, dict):
        refuse(
            path,
            f"gives {table_name} = {table!r:.40}, which is no table; "
            f"write [{table_name}] and below it {joined_words(allowed_keys)}.",
        )
    for key in table:
        if replacement := REPLACED.get(key):
            refuse(path, f"says {key}, which {replacement} has replaced; docs/parts.md says what that is.")
        if key not in allowed_keys:
            refuse(
                path,
                f"says {key!r:.60}{table_name and f' of {table_name}'}, which is not known; "
                f"{nearest_hint(key, tuple(allowed_keys))}",
            )
    for key in required_keys:
        if key not in table:
            refuse(path, f"lacks {key} of {table_name}; a constant has {joined_words(required_keys)}.")


def checked_line(path: Path | str, key: str, text: Any) -> str:
    """Return a text that must be one printable line; raises BadFile for another."""
    if not isinstance(text, str) or not 0 < len(text) <= MAX_LINE_LETTERS or not text.isprintable():
        refuse(path, f"must say {key} in one line of 1 to {MAX_LINE_LETTERS} printable characters.")
    return text


def joined_words(words: Sequence[str]) -> str:
    """Return words as an enumeration in a sentence."""
    return f"{', '.join(words[:-1])} and {words[-1]}"


def refuse(path: Path | str, sentence: str) -> NoReturn:
    """Raise BadFile with the file's path, and a sentence on the fault and its remedy."""
    raise BadFile(f"{path} {sentence}")
