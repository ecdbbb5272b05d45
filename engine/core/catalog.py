"""The catalogue of hardware parts: a TOML file each, whose every constant has a value, unit, range, confidence and source.

A part's kind is its folder. How a kind's constants are called and in which unit each is, says the dataclass that a device reads.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, lru_cache
from pathlib import Path
from threading import RLock
from tomllib import loads
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar, cast, get_args

from ..errors import BadFile, nearest
from ..paths import written_path
from ..registry import every
from ..version import PROGRAM
from .constants import LEAST, Confidence, Constant, Said
from .own_parts import known
from .own_parts.folder import NO_FOLDER, PartsFolder, Shelf, look
from .own_parts.known import BETWEEN, REFERENCE, OwnPart

VARIABLE = "EMBERPOOL_PARTS"  # of the environment: a folder of one's own
FOLDERS: tuple[Path, ...] = (
    Path(__file__).parent.parent / "hardware" / "catalog",
    *(written_path(text).absolute() for text in (os.environ.get(VARIABLE, "").strip(),) if text),
)
ORDER = "order.toml"  # the one file that is no part: which parts lists show first
MOST_READ = 4096
MOST = 1e12
MOST_BYTES, MOST_LETTERS = 1_000_000, 300
NUMBERS = ("value", "low", "high")
SAID = (*NUMBERS, "confidence", "source")
Part = TypeVar("Part")
Table = dict[str, Any]
KINDS: dict[str, "Catalogue[Any]"] = {}  # by kind, as devices declare them
TOGETHER: dict[str, tuple[str, ...]] = {}  # by kind, those that one knob chooses among
_looked, _looking, _one_look = NO_FOLDER, False, RLock()


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a kind of part has to say: a constant's name and unit, whether it can be 0, and which `choices` of a knob `switch`
    stand for other sources; a part whose file does not say it has the `default`, if there is one."""

    name: str
    unit: str
    zero: bool = False
    switch: str = ""
    choices: tuple[str, ...] = ()
    default: Constant | None = None

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


class Catalogue(Mapping[str, Part], Generic[Part]):
    """All parts of a kind by name, each read when it is first asked for; raises BadFile with a sentence.

    With `of`, kinds of parts that each name one of this kind, it is by their names. `uses` are the kinds of which each part
    here names one; `aside` are constants that a file may have and that belong to no device.
    """

    def __init__(
        self,
        kind: str,
        shape: type[Part],
        *,
        of: tuple[str, ...] = (),
        uses: tuple[str, ...] = (),
        aside: tuple[Quantity, ...] = (),
    ) -> None:
        """Declare the kind; nothing is read yet."""
        self.kind, self.shape, self.of, self.uses, self._aside = kind, shape, of, uses, aside
        declared = {one.name: one.metadata.get("quantity") for one in fields(cast(Any, shape))}
        self._fields: dict[str, Quantity] = {name: one for name, one in declared.items() if one}
        self._read: dict[PartFile, tuple[Part, Mapping[str, Constant]]] = {}
        KINDS[kind] = self

    def __getitem__(self, name: str) -> Part:
        """Return a part."""
        return self._entry(name)[0]

    def __iter__(self) -> Iterator[str]:
        """Yield the names in the order of lists."""
        return iter(names(*(self.of or (self.kind,))))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(names(*(self.of or (self.kind,))))

    def check(self, path: Path | str, content: Table) -> None:
        """Raise BadFile where a content is no part of this kind."""
        self._parsed(path, content)

    def aside(self, name: str) -> Mapping[str, Constant]:
        """Return the constants by name that a part's file has beside those of its device."""
        return self._entry(name)[1]

    def _entry(self, name: str) -> tuple[Part, Mapping[str, Constant]]:
        file = _file(self.of or (self.kind,), name)
        if self.of:
            file = _file((self.kind,), _used(file.path, file.content, self.kind))
        if file not in self._read:
            if len(self._read) >= MOST_READ:
                self._read.clear()
            self._read[file] = self._parsed(file.path, file.content)
        return self._read[file]

    def _parsed(self, path: Path | str, content: Table) -> tuple[Part, Mapping[str, Constant]]:
        own = {one.key: one for one in self._fields.values()}
        asked = {**own, **{one.key: one for one in self._aside}}
        _known(path, "", content, ("title", "summary", *self.uses, *asked))
        for word in ("title", "summary"):
            _text(path, word, content.get(word))
        for kind in self.uses:
            _used(path, content, kind)
        missing = [key for key, one in own.items() if key not in content and one.default is None]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            _refuse(path, f"lacks {missing[0]} [{own[missing[0]].unit}]{more}; add a table of {_words(SAID)} for each.")
        found = {key: _constant(path, one, content[key]) for key, one in asked.items() if key in content}
        part = self.shape(**{name: found[one.key] for name, one in self._fields.items() if one.key in found})
        return part, {one.name: found[one.key] for one in self._aside if one.key in found}


class PartNames:
    """The choices of a knob: the names of all parts of some kinds, ours and one's own. `part_names` makes one."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self.kinds = kinds

    def __call__(self) -> tuple[str, ...]:
        """Return the names as lists show them."""
        return names(*self.kinds)

    def settled(self, name: str) -> str | None:
        """Return the name that a scenario has for a part: that of one's own with its digest; None where none is known so."""
        if name in _files(FOLDERS[0], self.kinds) or known.find(self.kinds, name):
            return name
        found = (own_folder().parts.get((kind, name)) for kind in self.kinds) if FOLDERS[1:] else ()
        return next((part.reference for part in found if part), None)

    def shown(self, name: str) -> str:
        """Return the name of lists for that of a scenario: without its digest where that is the present one."""
        short = name.partition(BETWEEN)[0]
        return short if BETWEEN in name and self.settled(short) == name else name

    def refusal(self, name: str) -> str:
        """Return why no part is known by a name, "" where it is just none of the names."""
        if match := REFERENCE.fullmatch(name):
            return (
                "is a part of one's own whose values are not known here; give its folder (--parts-dir, EMBERPOOL_PARTS), write "
                f"{match[1]} alone for the file as it is now, or open the link, which carries them."
            )
        broken = any((kind, name) in own_folder().refused for kind in self.kinds)
        return f"is a part whose file cannot be used as it is; `{PROGRAM} list devices --check FILE` says why." if broken else ""


def part_names(*kinds: str) -> PartNames:
    """Declare the choices of a knob that chooses among the parts of some kinds."""
    TOGETHER.update(dict.fromkeys(kinds, kinds))
    return PartNames(kinds)


def names(*kinds: str) -> tuple[str, ...]:
    """Return the names of all parts of some kinds, in the order of lists: choices of a knob follow from the files."""
    ours = _files(FOLDERS[0], kinds)
    return (*ours, *(name for kind in kinds for name in own_folder().by_kind.get(kind, ()))) if FOLDERS[1:] else tuple(ours)


def own_folder() -> PartsFolder:
    """Return the folder of one's own as it was at the last look; nothing in it where none is given."""
    return NO_FOLDER if not FOLDERS[1:] else _looked if _looked.path == FOLDERS[1] else look_again()


def look_again() -> PartsFolder:
    """Look at the folder of one's own anew, and return it."""
    global _looked, _looking
    if not FOLDERS[1:]:
        return NO_FOLDER
    with _one_look:
        if _looking:  # the look itself asks for names, to refuse one
            return NO_FOLDER
        _looking = True
        try:
            shelf = Shelf(kinds(), lambda kind: TOGETHER.get(kind, (kind,)), shipped, check_part)
            _looked = look(FOLDERS[1], shelf, _looked)
        finally:
            _looking = False
        return _looked


def check_part(kind: str, path: Path | str, content: Table) -> None:
    """Raise BadFile where a part's content is not what its kind has to say, or no knob chooses one of its kind."""
    every("devices")  # which declare the kinds
    chosen = dict.fromkeys(used for one in TOGETHER for used in (one, *KINDS[one].uses))
    if kind not in chosen:
        _refuse(path, f"is of the kind {kind}, which no knob chooses; parts of one's own are {_words(tuple(chosen))}.")
    KINDS[kind].check(path, content)


def summaries() -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, name, title and summary of every part."""
    for kind in kinds():
        for name in names(kind):
            file = _file((kind,), name)
            title, summary = (_text(file.path, word, file.content.get(word)) for word in ("title", "summary"))
            yield kind, name, title, summary


def shipped(kind: str) -> Mapping[str, Path]:
    """Return the files of our own parts, by name, of a kind and of those that one knob chooses among with it."""
    return _files(FOLDERS[0], TOGETHER.get(kind, (kind,)))


def content(kind: str, name: str) -> Table:
    """Return what the file of a part says; raises KeyError, BadFile."""
    return dict(_file((kind,), name).content)


class PartFile(NamedTuple):
    """Where a part stands: a file of ours, or one of one's own."""

    path: Path | str
    own: OwnPart | None = None

    @property
    def content(self) -> Table:
        """What it says; raises BadFile."""
        return loads(self.own.text) if self.own else _content(cast(Path, self.path))


def _file(kinds: tuple[str, ...], name: str) -> PartFile:
    """Return where the part of a name stands; raises KeyError, and BadFile for a file of one's own that cannot be used."""
    if path := _files(FOLDERS[0], kinds).get(name):
        return PartFile(path)
    folder = own_folder()
    for kind in kinds:
        if part := known.find((kind,), name) or folder.parts.get((kind, name)):
            return PartFile(part.where, part)
        if refused := folder.refused.get((kind, name)):
            raise refused
    raise KeyError(name)


def kinds() -> tuple[str, ...]:
    """Return the kinds of parts, sorted."""
    return _kinds(FOLDERS[0])


@lru_cache(maxsize=256)
def _files(folder: Path, kinds: tuple[str, ...]) -> Mapping[str, Path]:
    """Return the file of each of our own parts by name, before others those that the order names."""
    found: dict[str, Path] = {}
    for kind in kinds:
        first = _content(folder / ORDER).get(kind, ())
        paths = {path.stem: path for path in (folder / kind).glob("*.toml")}
        found |= {name: paths[name] for name in (*(one for one in first if one in paths), *sorted(paths.keys() - set(first)))}
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


def _used(path: Path | str, content: Table, kind: str) -> str:
    """Return which part of another kind a part names."""
    name = content.get(kind)
    if name not in names(kind) and not known.find((kind,), str(name)):
        said = f"names the {kind} {name!r}, which has no file" if kind in content else f"does not name its {kind}"
        _refuse(path, f'{said}; write {kind} = "NAME"; {nearest(str(name), names(kind))}')
    return str(name)


def _constant(path: Path | str, one: Quantity, table: Any) -> Constant:
    """Read a constant's table, and in its `others` what other sources say."""
    switched = ("others",) if one.switch else ()
    _known(path, one.key, table, (*SAID, "unit", "note", *switched), (*SAID, "unit"))
    if table["unit"] != one.unit:
        _refuse(path, f"gives {one.key} in {table['unit']!r}, but it is taken in {one.unit!r}; convert it.")
    if (note := table.get("note", "")) != "":
        _text(path, f"{one.key}.note", note)
    found = Constant(one.name, *_numbers(path, one, one.key, table), *_source(path, one.key, table), note, zero=one.zero)
    others = table.get("others", {})
    _known(path, f"{one.key}.others", others, one.choices)
    said = {choice: _other(path, one, choice, table) for choice, table in others.items()}
    return found.disputed(one.switch, **said) if said else found


def _other(path: Path | str, one: Quantity, choice: str, table: Any) -> Said:
    key = f"{one.key}.others.{choice}"
    _known(path, key, table, SAID, SAID)
    value, _, low, high = _numbers(path, one, key, table)
    return value, low, high, *_source(path, key, table)


def _numbers(path: Path | str, one: Quantity, key: str, table: Table) -> tuple[float, str, float, float]:
    """Return value, unit, low and high."""
    for word in NUMBERS:
        number, least = table[word], "from 0" if one.zero else "above 0 and up"
        right = isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= MOST
        if not right or (number == 0 and not one.zero) or 0 < number < LEAST:
            _refuse(path, f"gives {key}.{word} = {number!r}; write a number {least} to {MOST:g}, in {one.unit}.")
    value, low, high = (table[word] for word in NUMBERS)
    if not low <= value <= high:
        _refuse(path, f"gives {key} = {value} {one.unit} outside its range of {low} to {high}; widen low to high around it.")
    return value, one.unit, low, high


def _source(path: Path | str, key: str, table: Table) -> tuple[Confidence, str]:
    if (sure := table["confidence"]) not in get_args(Confidence):
        _refuse(path, f"gives {key}.confidence = {sure!r}; {nearest(str(sure), get_args(Confidence))}")
    return sure, _text(path, f"{key}.source", table["source"])


def _known(path: Path | str, where: str, table: Any, known: Sequence[str], needed: Sequence[str] = ()) -> None:
    """Refuse what is no table, has an unknown key, or lacks a needed one."""
    if not isinstance(table, dict):
        _refuse(path, f"gives {where} = {table!r:.40}, which is no table; write [{where}] and below it {_words(known)}.")
    for key in table:
        if key not in known:
            _refuse(path, f"says {key!r:.60}{where and f' of {where}'}, which is not known; {nearest(key, tuple(known))}")
    for key in needed:
        if key not in table:
            _refuse(path, f"does not say {key} of {where}; a constant has {_words(needed)}.")


def _text(path: Path | str, key: str, text: Any) -> str:
    if not isinstance(text, str) or not 0 < len(text) <= MOST_LETTERS or not text.isprintable():
        _refuse(path, f"must say {key} in one line of 1 to {MOST_LETTERS} printable characters.")
    return text


def _words(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _refuse(path: Path | str, sentence: str) -> NoReturn:
    raise BadFile(f"{path} {sentence}")
