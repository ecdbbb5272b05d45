"""The catalogue of hardware parts: TOML files of constants with ranges and sources.

A part's kind is its folder. The dataclass that a device reads declares the name and the unit of each constant.
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

from ..errors import nearest_hint
from ..paths import user_path
from ..registry import all_variants
from ..version import PROGRAM
from .constants import Constant
from .part_files import curves, known, plausible
from .part_files.curves import CURVE, LatencyPoints
from .part_files.folder import NO_FOLDER, PartsFolder, ShippedParts, parsed, read_folder
from .part_files.known import DIGEST_SEPARATOR, REFERENCE, OwnPart
from .part_files.supply import check_supply, supply_tables
from .part_files.tables import (
    FORM,
    SOURCED_VALUE_KEYS,
    STATES,
    Availability,
    Quantity,
    Table,
    check_form,
    check_keys,
    check_words,
    checked_line,
    joined_words,
    read_availability,
    read_constant,
    refuse,
)

VARIABLE = "EMBERPOOL_PARTS"  # of the environment: a folder of one's own
FOLDERS: tuple[Path, ...] = (
    Path(__file__).parent.parent / "hardware" / "catalog",
    *(user_path(text).absolute() for text in (os.environ.get(VARIABLE, "").strip(),) if text),
)
ORDER = "order.toml"  # the one file that is no part: which parts lists show first
MAX_PARTS_READ = 4096
NO_LISTS: Mapping[str, tuple[str, ...]] = MappingProxyType({})
Part = TypeVar("Part")
KINDS: dict[str, "Catalogue[Any]"] = {}  # by kind, as devices declare them
KINDS_OF_SAME_KNOB: dict[str, tuple[str, ...]] = {}  # by kind, the kinds that the same knob chooses among
_last_look, _is_looking, _look_lock = NO_FOLDER, False, RLock()
_content = cache(parsed)  # of shipped files, which do not change


class Catalogue(Mapping[str, Part], Generic[Part]):
    """All parts of a kind by name, each from a file of its own.

    A part's file is read when the part is first used, which raises BadFile if the file has an error.

    kind: the kind, which is also the name of the folder with the parts' files.
    shape: the dataclass that a device reads; its fields declare the constants.
    used_by: kinds of parts that each name a part of this kind; here, the name of such a part finds the part that it names.
    uses: the kinds of which each part of this kind names a part.
    extra_constants: constants that a file may have although no device reads them.
    forms: the forms of hardware (such as "SXM") that a part can have; each file states one of them.
    lists: keys of lists that a file may have, with the allowed words of each list; () allows any words.
    curve: True if a file may have a curve of its latency under load.
    states: the states of availability that a file may give. texts: keys of lines that each file has, beside title and summary.
    """

    def __init__(
        self,
        kind: str,
        shape: type[Part],
        *,
        used_by: tuple[str, ...] = (),
        uses: tuple[str, ...] = (),
        extra_constants: tuple[Quantity, ...] = (),
        forms: tuple[str, ...] = (),
        lists: Mapping[str, tuple[str, ...]] = NO_LISTS,
        curve: bool = False,
        states: tuple[str, ...] = STATES,
        texts: tuple[str, ...] = (),
    ) -> None:
        """Declare the kind without reading a file."""
        self.kind, self.shape, self.used_by, self.uses, self._extra_quantities = kind, shape, used_by, uses, extra_constants
        self._forms, self._lists, self._curve, self.states = forms, lists, curve, states
        self._texts = ("title", "summary", *texts)
        declared = {field.name: field.metadata.get("quantity") for field in fields(cast(Any, shape))}
        self._fields: dict[str, Quantity] = {name: quantity for name, quantity in declared.items() if quantity}
        self._parts_by_file: dict[PartFile, tuple[Part, Mapping[str, Constant]]] = {}
        KINDS[kind] = self

    def __getitem__(self, name: str) -> Part:
        """Return the part called `name`, an instance of `shape`."""
        return self._part_and_extras(name)[0]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the parts in the order in which lists show them."""
        return iter(part_names_of(*(self.used_by or (self.kind,))))

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(part_names_of(*(self.used_by or (self.kind,))))

    def quantities(self) -> tuple[Quantity, ...]:
        """Return the declared constants that a device reads from a file of this kind."""
        return tuple(self._fields.values())

    def units(self) -> dict[str, str]:
        """Return the unit of each constant in a part's file, by the constant's key."""
        return {quantity.key: quantity.unit for quantity in self.all_quantities()}

    def all_quantities(self) -> tuple[Quantity, ...]:
        """Return the declared constants that a file of this kind may have."""
        return *self._fields.values(), *self._extra_quantities

    def check(self, path: Path | str, content: Table) -> None:
        """Raise BadFile if a file's content is no valid part of this kind."""
        self._parsed(path, content)

    def extra_constants(self, name: str) -> Mapping[str, Constant]:
        """Return, by name, the constants in a part's file that its device does not read."""
        return self._part_and_extras(name)[1]

    def _part_and_extras(self, name: str) -> tuple[Part, Mapping[str, Constant]]:
        file = _file(self.used_by or (self.kind,), name)
        if self.used_by:
            file = _file((self.kind,), _used_part_name(file.path, file.content, self.kind))
        if file not in self._parts_by_file:
            if len(self._parts_by_file) >= MAX_PARTS_READ:
                self._parts_by_file.clear()
            self._parts_by_file[file] = self._parsed(file.path, file.content)
        return self._parts_by_file[file]

    def _parsed(self, path: Path | str, content: Table) -> tuple[Part, Mapping[str, Constant]]:
        part_quantities = {quantity.key: quantity for quantity in self._fields.values()}
        quantities = {quantity.key: quantity for quantity in self.all_quantities()}
        heads = (*self._texts, *[FORM] * bool(self._forms), *[CURVE] * self._curve, *self._lists, *self.uses)
        check_keys(path, "", content, (*supply_tables(self.kind), *heads, *quantities))
        for word in self._texts:
            checked_line(path, word, content.get(word))
        if self._forms:
            check_form(path, content, self._forms)
        for key in self._lists.keys() & content.keys():
            check_words(path, key, content[key], self._lists[key])
        if self._curve and CURVE in content:
            curves.curve(path, content[CURVE])
        for kind in self.uses:
            _used_part_name(path, content, kind)
        missing_keys = [
            key for key, quantity in part_quantities.items() if not (key in content or quantity.default or quantity.optional)
        ]
        if missing_keys:
            suffix = f" and {len(missing_keys) - 1} more" if len(missing_keys) > 1 else ""
            refuse(
                path,
                f"lacks {missing_keys[0]} [{part_quantities[missing_keys[0]].unit}]{suffix}; "
                f"add a table of {joined_words(SOURCED_VALUE_KEYS)} for each.",
            )
        constants = {key: read_constant(path, quantity, content[key]) for key, quantity in quantities.items() if key in content}
        check_supply(path, content, self.states, constants)
        part = self.shape(
            **{name: constants[quantity.key] for name, quantity in self._fields.items() if quantity.key in constants}
        )
        return part, {quantity.name: constants[quantity.key] for quantity in self._extra_quantities if quantity.key in constants}


class PartNames:
    """The choices of a knob: the names of all shipped and own parts of `kinds`."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self.kinds = kinds

    def __call__(self) -> tuple[str, ...]:
        """Return the names of all parts as lists show them: NAME."""
        return part_names_of(*self.kinds)

    def scenario_name(self, name: str) -> str | None:
        """Return a part's name in a scenario: NAME or NAME~DIGEST; None if unknown."""
        if name in _files(FOLDERS[0], self.kinds) or known.find_part(self.kinds, name):
            return name
        own_parts = (own_folder().parts.get((kind, name)) for kind in self.kinds) if FOLDERS[1:] else ()
        return next((part.reference for part in own_parts if part), None)

    def list_name(self, name: str) -> str:
        """Return a part's name for lists, without the digest if its file is unchanged."""
        bare_name = name.partition(DIGEST_SEPARATOR)[0]
        return bare_name if DIGEST_SEPARATOR in name and self.scenario_name(bare_name) == name else name

    def refusal(self, name: str) -> str:
        """Return a clause why a name that looks like an own part's cannot be used.

        Return "" for any other name.
        """
        if match := REFERENCE.fullmatch(name):
            return (
                "is a user's own part whose values are unknown here; give its folder (--parts-dir, EMBERPOOL_PARTS), write "
                f"only {match[1]} for the file as it is now, or open the link, which has the values."
            )
        broken = any((kind, name) in own_folder().refused for kind in self.kinds)
        return f"is a part whose file has an error; `{PROGRAM} list devices --check FILE` says which." if broken else ""


class AnyPart(PartNames):
    """The choices of a knob: all parts of `kinds`, and the words in `lone`."""

    def __init__(self, kinds: tuple[str, ...], lone: tuple[str, ...]) -> None:
        super().__init__(kinds)
        self.lone = lone

    def __call__(self) -> tuple[str, ...]:
        """Return the names of all parts, each once, then the words in `lone`."""
        return (*dict.fromkeys(super().__call__()), *self.lone)

    def scenario_name(self, name: str) -> str | None:
        """Return the name of a part or a word in a scenario; None if unknown."""
        return name if name in self.lone else super().scenario_name(name)


def part_names(*kinds: str) -> PartNames:
    """Return the choices of a knob that chooses among the parts of `kinds`."""
    KINDS_OF_SAME_KNOB.update(dict.fromkeys(kinds, kinds))
    return PartNames(kinds)


def part_names_of(*kinds: str) -> tuple[str, ...]:
    """Return the names of all parts of `kinds`, in the order of lists."""
    shipped_paths = _files(FOLDERS[0], kinds)
    return (
        (*shipped_paths, *(name for kind in kinds for name in own_folder().by_kind.get(kind, ())))
        if FOLDERS[1:]
        else tuple(shipped_paths)
    )


def own_folder() -> PartsFolder:
    """Return the user's folder of parts as it was when it was last read.

    Return an empty folder if the user has given none.
    """
    return NO_FOLDER if not FOLDERS[1:] else _last_look if _last_look.path == FOLDERS[1] else look_again()


def look_again() -> PartsFolder:
    """Read the user's folder of parts again, and return the folder."""
    global _last_look, _is_looking
    if not FOLDERS[1:]:
        return NO_FOLDER
    with _look_lock:
        if _is_looking:  # the look itself asks for names, to refuse one
            return NO_FOLDER
        _is_looking = True
        try:
            shelf = ShippedParts(kinds(), lambda kind: KINDS_OF_SAME_KNOB.get(kind, (kind,)), shipped, check_part, part_doubts)
            _last_look = read_folder(FOLDERS[1], shelf, _last_look)
        finally:
            _is_looking = False
        return _last_look


def check_part(kind: str, path: Path | str, content: Table) -> None:
    """Raise BadFile unless the content is a valid part that a knob chooses."""
    all_variants("devices")  # which declare the kinds
    chosen_kinds = dict.fromkeys(part for same_knob in KINDS_OF_SAME_KNOB for part in (same_knob, *KINDS[same_knob].uses))
    if kind not in chosen_kinds:
        refuse(path, f"has the kind {kind}, which no knob chooses; own parts can be {joined_words(tuple(chosen_kinds))}.")
    KINDS[kind].check(path, content)


def part_doubts(kind: str, path: Path | str, content: Table) -> tuple[str, ...]:
    """Return a sentence for each number of a part far from the catalogue's."""
    catalogue = map(_content, _files(FOLDERS[0], (kind,)).values())
    return tuple(plausible.doubts(path, kind, KINDS[kind].all_quantities(), content, catalogue))


def units(kind: str) -> dict[str, str]:
    """Return the unit of each constant of a kind of part, by its key."""
    all_variants("devices")  # which declare the kinds
    return KINDS[kind].units()


def summaries() -> Iterator[tuple[str, str, str, str]]:
    """Yield (kind, name, title, summary) of every part."""
    for kind in kinds():
        for name in part_names_of(kind):
            file = _file((kind,), name)
            title, summary = (checked_line(file.path, word, file.content.get(word)) for word in ("title", "summary"))
            yield kind, name, title, summary


def availability(kind: str, name: str) -> Availability:
    """Return whether a part can be bought, since when, and the source; raises BadFile."""
    file = _file((kind,), name)
    return read_availability(file.path, file.content, KINDS[kind].states if kind in KINDS else STATES)


def form(kind: str, name: str) -> str:
    """Return the form of a part, such as "SXM", or "" if its file states none."""
    return str(part_content(kind, name).get(FORM, ""))


def list_words(kind: str, name: str, key: str) -> tuple[str, ...]:
    """Return the words of the list `key` in a part's file; () without that list."""
    return tuple(part_content(kind, name).get(key, ()))


def latency_points(kind: str, name: str) -> LatencyPoints | None:
    """Return the measured latencies of a part under load; None if not measured.

    Raises KeyError for an unknown part, BadFile for a file with an error.
    """
    return _latency_points(_file((kind,), name))


@lru_cache(maxsize=MAX_PARTS_READ)
def _latency_points(file: "PartFile") -> LatencyPoints | None:
    content = file.content
    return curves.curve(file.path, content[CURVE]) if CURVE in content else None


def shipped(kind: str) -> Mapping[str, Path]:
    """Return the files, by name, of the shipped parts that `kind`'s knob chooses among."""
    return _files(FOLDERS[0], KINDS_OF_SAME_KNOB.get(kind, (kind,)))


def part_content(kind: str, name: str) -> Table:
    """Return the content of a part's file as a table; raises KeyError, BadFile."""
    return dict(_file((kind,), name).content)


class PartFile(NamedTuple):
    """The place of a part's content: a shipped file or a user's own part."""

    path: Path | str
    own_part: OwnPart | None = None

    @property
    def content(self) -> Table:
        """The content of the part's file as a table; raises BadFile."""
        return loads(self.own_part.text) if self.own_part else _content(cast(Path, self.path))


def _file(kinds: tuple[str, ...], name: str) -> PartFile:
    """Return the file of a part by its name.

    Raises KeyError, and BadFile for an own file that cannot be used.
    """
    if path := _files(FOLDERS[0], kinds).get(name):
        return PartFile(path)
    folder = own_folder()
    for kind in kinds:
        if part := known.find_part((kind,), name) or folder.parts.get((kind, name)):
            return PartFile(part.place, part)
        if refused := folder.refused.get((kind, name)):
            raise refused
    raise KeyError(name)


def kinds() -> tuple[str, ...]:
    """Return the kinds of parts, sorted."""
    return _kinds(FOLDERS[0])


@lru_cache(maxsize=256)
def _files(folder: Path, kinds: tuple[str, ...]) -> Mapping[str, Path]:
    """Return the file of each shipped part by name, names in the order file first."""
    files_by_name: dict[str, Path] = {}
    for kind in kinds:
        leading_names = _content(folder / ORDER).get(kind, ())
        paths = {path.stem: path for path in (folder / kind).glob("*.toml")}
        files_by_name |= {
            name: paths[name]
            for name in (
                *(leading_name for leading_name in leading_names if leading_name in paths),
                *sorted(paths.keys() - set(leading_names)),
            )
        }
    return files_by_name


@cache
def _kinds(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.name for path in folder.iterdir() if path.is_dir()))


def _used_part_name(path: Path | str, content: Table, kind: str) -> str:
    """Return the name of the part of another kind that a part's file names.

    Raises BadFile.
    """
    name = content.get(kind)
    if name not in part_names_of(kind) and not known.find_part((kind,), str(name)):
        complaint = f"names the {kind} {name!r}, which has no file" if kind in content else f"does not name its {kind}"
        refuse(path, f'{complaint}; write {kind} = "NAME"; {nearest_hint(str(name), part_names_of(kind))}')
    return str(name)
