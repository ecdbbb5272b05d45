"""The catalogue of hardware parts: a TOML file each, whose every constant has a value, unit, range, confidence and source.

A part's kind is its folder. How a kind's constants are called and in which unit each is, says the dataclass that a device reads.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, lru_cache
from pathlib import Path
from tomllib import loads
from typing import Any, Generic, NoReturn, TypeVar, cast, get_args

from ..errors import BadFile, nearest
from .constants import Confidence, Constant, Said

FOLDERS: tuple[Path, ...] = (Path(__file__).parent.parent / "hardware" / "catalog",)
ORDER = "order.toml"  # the one file that is no part: which parts lists show first
NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,39}")  # what links, CSV cells and lists of choices can carry
MOST = 1e12
MOST_BYTES, MOST_LETTERS = 1_000_000, 300
NUMBERS = ("value", "low", "high")
SAID = (*NUMBERS, "confidence", "source")
MONEY = ("USD", "USD/GB")  # units of prices, each of which is of a year
FIRST, LAST = 2000, 2100
AVAILABILITY, FORM = "availability", "form"
STATES = ("on sale", "announced", "discontinued", "research")  # and "unknown", of a part whose file does not say it
FORMS = ("SXM", "PCIe", "superchip", "OAM")
SINCE = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2]))?")
Part = TypeVar("Part")
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
    stand for other sources; a part whose file does not say it has the `default`, if there is one, or none if it is `optional`."""

    name: str
    unit: str
    zero: bool = False
    switch: str = ""
    choices: tuple[str, ...] = ()
    default: Constant | None = None
    optional: bool = False

    @property
    def key(self) -> str:
        """The name of the constant's table, as `machine.assume` has it behind the device."""
        return self.name.replace(" ", "-")


def quantity(name: str, unit: str, default: Constant | None = None, **more: Any) -> Any:
    """Declare a dataclass field that is a constant of a part's file; see Quantity for the keywords."""
    if default is None:
        return field(metadata={"quantity": Quantity(name, unit, **more)})
    named = replace(default, name=name, unit=unit, zero=more.get("zero", False))
    return field(default=named, metadata={"quantity": Quantity(name, unit, default=named, **more)})


def optional_price(unit: str, name: str = "price", zero: bool = False) -> Any:
    """Declare a dataclass field that is a price; a part for which none is published has None."""
    return field(default=None, kw_only=True, metadata={"quantity": Quantity(name, unit, zero=zero, optional=True)})


class Catalogue(Mapping[str, Part], Generic[Part]):
    """All parts of a kind by name, each read when it is first asked for; raises BadFile with a sentence.

    With `of`, kinds of parts that each name one of this kind, it is by their names. `uses` are the kinds of which each part
    here names one; `aside` are constants that a file may have and that belong to no device. `forms` are those that a part can
    have as a piece of hardware, of which each says its own.
    """

    def __init__(
        self,
        kind: str,
        shape: type[Part],
        *,
        of: tuple[str, ...] = (),
        uses: tuple[str, ...] = (),
        aside: tuple[Quantity, ...] = (),
        forms: tuple[str, ...] = (),
    ) -> None:
        """Declare the kind; nothing is read yet."""
        self.kind, self.shape, self.of, self.uses, self._aside = kind, shape, of, uses, aside
        self._forms = forms
        declared = {one.name: one.metadata.get("quantity") for one in fields(cast(Any, shape))}
        self._fields: dict[str, Quantity] = {name: one for name, one in declared.items() if one}
        self._read: dict[Path, tuple[Part, Mapping[str, Constant]]] = {}

    def __getitem__(self, name: str) -> Part:
        """Return a part."""
        return self._entry(name)[0]

    def __iter__(self) -> Iterator[str]:
        """Yield the names in the order of lists."""
        return iter(names(*(self.of or (self.kind,))))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(names(*(self.of or (self.kind,))))

    def aside(self, name: str) -> Mapping[str, Constant]:
        """Return the constants by name that a part's file has beside those of its device."""
        return self._entry(name)[1]

    def _entry(self, name: str) -> tuple[Part, Mapping[str, Constant]]:
        path = _files(FOLDERS, self.of or (self.kind,))[name]
        if self.of:
            path = _files(FOLDERS, (self.kind,))[_used(path, _content(path), self.kind)]
        if path not in self._read:
            self._read[path] = self._parsed(path, _content(path))
        return self._read[path]

    def _parsed(self, path: Path, content: Table) -> tuple[Part, Mapping[str, Constant]]:
        own = {one.key: one for one in self._fields.values()}
        asked = {**own, **{one.key: one for one in self._aside}}
        _known(path, "", content, ("title", "summary", AVAILABILITY, *[FORM] * bool(self._forms), *self.uses, *asked))
        _available(path, content)
        if self._forms:
            _form(path, content, self._forms)
        for word in ("title", "summary"):
            _text(path, word, content.get(word))
        for kind in self.uses:
            _used(path, content, kind)
        missing = [key for key, one in own.items() if not (key in content or one.default or one.optional)]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            _refuse(path, f"lacks {missing[0]} [{own[missing[0]].unit}]{more}; add a table of {_words(SAID)} for each.")
        found = {key: _constant(path, one, content[key]) for key, one in asked.items() if key in content}
        part = self.shape(**{name: found[one.key] for name, one in self._fields.items() if one.key in found})
        return part, {one.name: found[one.key] for one in self._aside if one.key in found}


def names(*kinds: str) -> tuple[str, ...]:
    """Return the names of all parts of some kinds, in the order of lists: choices of a knob follow from the files."""
    return tuple(_files(FOLDERS, kinds))


def summaries() -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, name, title and summary of every part."""
    for kind in _kinds(FOLDERS[0]):
        for name, path in _files(FOLDERS, (kind,)).items():
            title, summary = (_text(path, word, _content(path).get(word)) for word in ("title", "summary"))
            yield kind, name, title, summary


def availability(kind: str, name: str) -> Availability:
    """Return whether a part of a kind can be bought; raises BadFile."""
    path = _files(FOLDERS, (kind,))[name]
    return _available(path, _content(path))


def form(kind: str, name: str) -> str:
    """Return the form of a part of a kind as a piece of hardware, "" where it says none."""
    return str(_content(_files(FOLDERS, (kind,))[name]).get(FORM, ""))


def _available(path: Path, content: Table) -> Availability:
    if AVAILABILITY not in content:
        return Availability()
    table, needed = content[AVAILABILITY], ("state", "since", "source")
    _known(path, AVAILABILITY, table, needed)
    if missing := [key for key in needed if key not in table]:
        _refuse(path, f"does not say {missing[0]} of {AVAILABILITY}; it has {_words(needed)}.")
    if table["state"] not in STATES:
        _refuse(path, f"gives {AVAILABILITY}.state = {table['state']!r:.40}; {nearest(str(table['state']), STATES)}")
    if not SINCE.fullmatch(str(table["since"])):
        _refuse(path, f'gives {AVAILABILITY}.since = {table["since"]!r:.40}; write a year or a month: "2024" or "2024-11".')
    return Availability(table["state"], str(table["since"]), _text(path, f"{AVAILABILITY}.source", table["source"]))


def _form(path: Path, content: Table, forms: tuple[str, ...]) -> None:
    if content.get(FORM) not in forms:
        said = f"says {FORM} = {content[FORM]!r:.40}" if FORM in content else f"does not say its {FORM}"
        _refuse(path, f'{said}; write {FORM} = "{forms[0]}" or another of {_words(forms)}.')


@lru_cache(maxsize=256)
def _files(folders: tuple[Path, ...], kinds: tuple[str, ...]) -> Mapping[str, Path]:
    """Return the file of each part by name, the first folder's first, and before them those that its order names."""
    found: dict[str, Path] = {}
    known = _kinds(folders[0])
    for strange in (folder / kind for folder in folders for kind in _kinds(folder) if kind not in known):
        _refuse(strange, f"is no kind of part; {nearest(strange.name, known)}")
    for kind in kinds:
        first = _content(folders[0] / ORDER).get(kind, ())
        for folder in folders:
            paths = {path.stem: path for path in (folder / kind).glob("*.toml")}
            for name in (*(one for one in first if one in paths), *sorted(paths.keys() - set(first))):
                if not NAME.fullmatch(name):
                    _refuse(paths[name], "cannot name a part; a name is of at most 40 small letters, digits, '.' and '-'.")
                if name in found:
                    _refuse(paths[name], f"has the name of a part in {found[name]}; give the file another name.")
                found[name] = paths[name]
    return found


@cache
def _kinds(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.name for path in folder.iterdir() if path.is_dir()))


@cache
def _content(path: Path) -> Table:
    """Return what a file says; raises BadFile."""
    try:
        if path.stat().st_size > MOST_BYTES:
            _refuse(path, f"is longer than {MOST_BYTES:,} bytes; a part takes a few thousand.")
        return loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        _refuse(path, f"cannot be read: {error.strerror}; make it a text file that you may read.")
    except (ValueError, RecursionError) as error:
        _refuse(path, f"is not valid TOML: {str(error).rstrip('.')}; correct it there.")


def _used(path: Path, content: Table, kind: str) -> str:
    """Return which part of another kind a part names."""
    name = content.get(kind)
    if name not in names(kind):
        said = f"names the {kind} {name!r}, which has no file" if kind in content else f"does not name its {kind}"
        _refuse(path, f'{said}; write {kind} = "NAME"; {nearest(str(name), names(kind))}')
    return str(name)


def _constant(path: Path, one: Quantity, table: Any) -> Constant:
    """Read a constant's table, and in its `others` what other sources say."""
    more = ("others",) * bool(one.switch) + ("year", "years") * (one.unit in MONEY)
    _known(path, one.key, table, (*SAID, "unit", "note", *more), (*SAID, "unit", *more[:1] * (one.unit in MONEY)))
    if table["unit"] != one.unit:
        _refuse(path, f"gives {one.key} in {table['unit']!r}, but it is taken in {one.unit!r}; convert it.")
    if (note := table.get("note", "")) != "":
        _text(path, f"{one.key}.note", note)
    found = Constant(one.name, *_numbers(path, one, one.key, table), *_source(path, one.key, table), note, zero=one.zero)
    if one.unit in MONEY:
        return _dated(path, one, found, table)
    others = table.get("others", {})
    _known(path, f"{one.key}.others", others, one.choices)
    said = {choice: _other(path, one, choice, table) for choice in others}
    return found.disputed(one.switch, **said) if said else found


def _dated(path: Path, one: Quantity, found: Constant, table: Table) -> Constant:
    """Return a price with its year, and with what it was in other years."""
    others = table.get("years", {})
    if not isinstance(others, dict):
        _refuse(path, f"gives {one.key}.years = {others!r:.40}, which is no table; write [{one.key}.years] and below it years.")
    years = {str(table["year"]): table["year"], **{year: int(year) for year in others if re.fullmatch("[0-9]{4}", year)}}
    for year in (str(table["year"]), *others):
        if not isinstance(years.get(year), int) or not FIRST <= years[year] <= LAST:
            _refuse(path, f"says {one.key} of the year {year!r:.40}; write a whole number from {FIRST} to {LAST}.")
    if str(table["year"]) in others:
        _refuse(path, f"gives {one.key} of {table['year']} twice; keep one.")
    said = {years[year]: _other(path, one, year, table, "years") for year in others}
    return replace(found, year=table["year"]).dated(said)


def _other(path: Path, one: Quantity, choice: str, tables: Any, among: str = "others") -> Said:
    key, table = f"{one.key}.{among}.{choice}", tables[among][choice]
    _known(path, key, table, SAID, SAID)
    value, _, low, high = _numbers(path, one, key, table)
    return value, low, high, *_source(path, key, table)


def _numbers(path: Path, one: Quantity, key: str, table: Table) -> tuple[float, str, float, float]:
    """Return value, unit, low and high."""
    for word in NUMBERS:
        number, least = table[word], "from 0" if one.zero else "above 0 and up"
        right = isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= MOST
        if not right or (number == 0 and not one.zero):
            _refuse(path, f"gives {key}.{word} = {number!r}; write a number {least} to {MOST:g}, in {one.unit}.")
    value, low, high = (table[word] for word in NUMBERS)
    if not low <= value <= high:
        _refuse(path, f"gives {key} = {value} {one.unit} outside its range of {low} to {high}; widen low to high around it.")
    return value, one.unit, low, high


def _source(path: Path, key: str, table: Table) -> tuple[Confidence, str]:
    if (sure := table["confidence"]) not in get_args(Confidence):
        _refuse(path, f"gives {key}.confidence = {sure!r}; {nearest(str(sure), get_args(Confidence))}")
    return sure, _text(path, f"{key}.source", table["source"])


def _known(path: Path, where: str, table: Any, known: Sequence[str], needed: Sequence[str] = ()) -> None:
    """Refuse what is no table, has an unknown key, or lacks a needed one."""
    if not isinstance(table, dict):
        _refuse(path, f"gives {where} = {table!r:.40}, which is no table; write [{where}] and below it {_words(known)}.")
    for key in table:
        if key not in known:
            _refuse(path, f"says {key!r:.60}{where and f' of {where}'}, which is not known; {nearest(key, tuple(known))}")
    for key in needed:
        if key not in table:
            _refuse(path, f"does not say {key} of {where}; a constant has {_words(needed)}.")


def _text(path: Path, key: str, text: Any) -> str:
    if not isinstance(text, str) or not 0 < len(text) <= MOST_LETTERS or not text.isprintable():
        _refuse(path, f"must say {key} in one line of 1 to {MOST_LETTERS} printable characters.")
    return text


def _words(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _refuse(path: Path, sentence: str) -> NoReturn:
    raise BadFile(f"{path} {sentence}")
