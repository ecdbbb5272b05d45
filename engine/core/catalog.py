"""The catalogue of hardware parts: a TOML file each, whose every constant has a value, unit, range, confidence and source.

A part's kind is its folder. How a kind's constants are called and in which unit each is, says the dataclass that a device reads.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache, lru_cache
from pathlib import Path
from threading import RLock
from tomllib import loads
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar, cast

from ..errors import nearest
from ..paths import written_path
from ..registry import every
from ..version import PROGRAM
from .constants import Constant
from .figures import count
from .part_files import curves, known
from .part_files.curves import CURVE, LatencyPoints
from .part_files.folder import NO_FOLDER, PartsFolder, Shelf, look
from .part_files.known import BETWEEN, REFERENCE, OwnPart
from .part_files.tables import (
    AVAILABILITY,
    FORM,
    MOST_BYTES,
    SAID,
    Availability,
    Quantity,
    Table,
    available,
    check_form,
    check_words,
    constant,
    known_keys,
    line,
    refuse,
    words,
)

VARIABLE = "EMBERPOOL_PARTS"  # of the environment: a folder of one's own
FOLDERS: tuple[Path, ...] = (
    Path(__file__).parent.parent / "hardware" / "catalog",
    *(written_path(text).absolute() for text in (os.environ.get(VARIABLE, "").strip(),) if text),
)
ORDER = "order.toml"  # the one file that is no part: which parts lists show first
MOST_READ = 4096
NO_LISTS: Mapping[str, tuple[str, ...]] = MappingProxyType({})
Part = TypeVar("Part")
KINDS: dict[str, "Catalogue[Any]"] = {}  # by kind, as devices declare them
TOGETHER: dict[str, tuple[str, ...]] = {}  # by kind, those that one knob chooses among
_looked, _looking, _one_look = NO_FOLDER, False, RLock()


class Catalogue(Mapping[str, Part], Generic[Part]):
    """All parts of a kind by name, each read when it is first asked for; raises BadFile with a sentence.

    With `of`, kinds of parts that each name one of this kind, it is by their names. `uses` are the kinds of which each part
    here names one; `aside` are constants that a file may have and that belong to no device. `forms` are those that a part can
    have as a piece of hardware, of which each says its own. `lists` are keys of lists that a file may have, with the words that
    can stand in each, any name where there are none. With `curve` a file may have a curve of its latency under load.
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
        lists: Mapping[str, tuple[str, ...]] = NO_LISTS,
        curve: bool = False,
    ) -> None:
        """Declare the kind; nothing is read yet."""
        self.kind, self.shape, self.of, self.uses, self._aside = kind, shape, of, uses, aside
        self._forms, self._lists, self._curve = forms, lists, curve
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

    def quantities(self) -> tuple[Quantity, ...]:
        """Return the constants of a device that a file of this kind has."""
        return tuple(self._fields.values())

    def units(self) -> dict[str, str]:
        """Return the unit of each constant that a file of this kind may have, by its key."""
        return {one.key: one.unit for one in (*self._fields.values(), *self._aside)}

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
        heads = ("title", "summary", AVAILABILITY, *[FORM] * bool(self._forms), *[CURVE] * self._curve, *self._lists, *self.uses)
        known_keys(path, "", content, (*heads, *asked))
        for word in ("title", "summary"):
            line(path, word, content.get(word))
        available(path, content)
        if self._forms:
            check_form(path, content, self._forms)
        for key in self._lists.keys() & content.keys():
            check_words(path, key, content[key], self._lists[key])
        if self._curve and CURVE in content:
            curves.curve(path, content[CURVE])
        for kind in self.uses:
            _used(path, content, kind)
        missing = [key for key, one in own.items() if not (key in content or one.default or one.optional)]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            refuse(path, f"lacks {missing[0]} [{own[missing[0]].unit}]{more}; add a table of {words(SAID)} for each.")
        found = {key: constant(path, one, content[key]) for key, one in asked.items() if key in content}
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


class AnyPart(PartNames):
    """The names of all parts of some kinds, and those of `lone` kinds, of which no knob chooses one, by the kind itself."""

    def __init__(self, kinds: tuple[str, ...], lone: tuple[str, ...]) -> None:
        super().__init__(kinds)
        self.lone = lone

    def __call__(self) -> tuple[str, ...]:
        """Return each name once."""
        return (*dict.fromkeys(super().__call__()), *self.lone)

    def settled(self, name: str) -> str | None:
        """Return the name that a scenario has for a part."""
        return name if name in self.lone else super().settled(name)


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
        refuse(path, f"is of the kind {kind}, which no knob chooses; parts of one's own are {words(tuple(chosen))}.")
    KINDS[kind].check(path, content)


def units(kind: str) -> dict[str, str]:
    """Return the unit of each constant of a kind of part, by its key in a file."""
    every("devices")  # which declare the kinds
    return KINDS[kind].units()


def summaries() -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, name, title and summary of every part."""
    for kind in kinds():
        for name in names(kind):
            file = _file((kind,), name)
            title, summary = (line(file.path, word, file.content.get(word)) for word in ("title", "summary"))
            yield kind, name, title, summary


def availability(kind: str, name: str) -> Availability:
    """Return whether a part of a kind can be bought; raises BadFile."""
    file = _file((kind,), name)
    return available(file.path, file.content)


def form(kind: str, name: str) -> str:
    """Return the form of a part of a kind as a piece of hardware, "" where it says none."""
    return str(content(kind, name).get(FORM, ""))


def listed(kind: str, name: str, key: str) -> tuple[str, ...]:
    """Return the words of a list in the file of a part of a kind, none where it does not have the list."""
    return tuple(content(kind, name).get(key, ()))


def latency_points(kind: str, name: str) -> LatencyPoints | None:
    """Return the latencies under load in the file of a part of a kind, None where it has none; raises KeyError, BadFile."""
    return _latency_points(_file((kind,), name))


@lru_cache(maxsize=MOST_READ)
def _latency_points(file: "PartFile") -> LatencyPoints | None:
    content = file.content
    return curves.curve(file.path, content[CURVE]) if CURVE in content else None


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
            refuse(path, f"is longer than {count(MOST_BYTES)} bytes; a part takes a few thousand.")
        return loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        refuse(path, f"cannot be read: {error.strerror}; make it a text file that you may read.")
    except (ValueError, RecursionError) as error:
        refuse(path, f"is not valid TOML: {str(error).rstrip('.')}; correct it there.")


def _used(path: Path | str, content: Table, kind: str) -> str:
    """Return which part of another kind a part names."""
    name = content.get(kind)
    if name not in names(kind) and not known.find((kind,), str(name)):
        said = f"names the {kind} {name!r}, which has no file" if kind in content else f"does not name its {kind}"
        refuse(path, f'{said}; write {kind} = "NAME"; {nearest(str(name), names(kind))}')
    return str(name)
