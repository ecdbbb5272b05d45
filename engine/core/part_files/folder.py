"""A folder of one's own parts, DIR/KIND/NAME.toml, as it was when it was last looked at.

A look reads the files that are new or changed. A file that cannot be used is left out, and its refusal kept.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tomllib import loads
from typing import Any

from ...core.figures import count
from ...errors import BadFile, nearest
from ...paths import FileState, file_state
from . import known
from .canonical import canonical, digest
from .carried import MOST_TEXT
from .known import BETWEEN, NAME, OwnPart

MOST_FILES, MOST_BYTES = 500, 1_000_000
Key = tuple[str, str]  # kind and name
Table = dict[str, Any]


@dataclass(frozen=True)
class Shelf:
    """What the package has itself.

    kinds: its kinds of parts.
    together: those that one knob chooses among, by any of them.
    files: the file of each part by name, of all kinds that stand together with one.
    check: raises BadFile where a content is no part of a kind; where the part stands is for its sentence.
    """

    kinds: tuple[str, ...]
    together: Callable[[str], tuple[str, ...]]
    files: Callable[[str], Mapping[str, Path]]
    check: Callable[[str, Path, Table], None]


@dataclass(frozen=True, eq=False)
class PartsFolder:
    """The parts of a folder by kind and name, its files with their states, and what is left out.

    `refused` are the refusals of files that can be no part, `misplaced` those of what lies where no part can.
    """

    path: Path | None = None
    states: Mapping[Path, FileState] = field(default_factory=dict)
    parts: Mapping[Key, OwnPart] = field(default_factory=dict)
    refused: Mapping[Key, BadFile] = field(default_factory=dict)
    misplaced: tuple[BadFile, ...] = ()

    @property
    def refusals(self) -> tuple[BadFile, ...]:
        """All that is left out, and why."""
        return (*self.misplaced, *self.refused.values())

    @cached_property
    def by_kind(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the parts of each kind, sorted."""
        kinds = {kind for kind, _ in self.parts}
        return {kind: tuple(sorted(name for of, name in self.parts if of == kind)) for kind in kinds}


NO_FOLDER = PartsFolder()


def look(path: Path, shelf: Shelf, before: PartsFolder = NO_FOLDER) -> PartsFolder:
    """Return the folder as it is now: the very one that it was before, if no file has changed; its parts become known."""
    files, misplaced = _files(path, shelf.kinds)
    states: dict[Path, FileState] = {}
    for file in files.values():
        with suppress(OSError):  # it has just gone
            states[file] = file_state(file)
    same = before.path == path and before.states == states and list(map(str, before.misplaced)) == list(map(str, misplaced))
    found = before if same else _Reading(files, shelf).folder(path, states, tuple(misplaced))
    known.add(found.parts.values())
    return found


def _files(path: Path, kinds: tuple[str, ...]) -> tuple[dict[Key, Path], list[BadFile]]:
    """Return the files of a folder by kind and name, and the refusals of what lies where no part can."""
    found: dict[Key, Path] = {}
    misplaced = []
    try:
        for folder in sorted(path.iterdir()):
            if folder.name[0] in "._":
                continue
            if folder.suffix == ".toml" and folder.is_file():
                misplaced.append(BadFile(f"{folder} is in no folder of a kind; put it in one, such as {path / 'gpu'}."))
            files = sorted(folder.glob("*.toml")) if folder.is_dir() else []
            if files and folder.name not in kinds:
                misplaced.append(BadFile(f"{folder} is no kind of part; {nearest(folder.name, kinds)}"))
            else:
                found |= {(folder.name, file.stem): file for file in files}
    except OSError as error:
        misplaced = [BadFile(f"{path} cannot be read as a folder of parts: {error.strerror}; give a folder that you may read.")]
    if len(found) > MOST_FILES:
        return {}, [BadFile(f"{path} has {count(len(found))} parts; at most {MOST_FILES} can be used: move some elsewhere.")]
    return found, misplaced


class _Reading:
    """One reading of all files: a part is read after those that it names."""

    def __init__(self, files: Mapping[Key, Path], shelf: Shelf) -> None:
        self.files, self.shelf = files, shelf
        self.parts: dict[Key, OwnPart] = {}
        self.refused: dict[Key, BadFile] = {}
        self.open: list[Key] = []

    def folder(self, path: Path, states: Mapping[Path, FileState], misplaced: tuple[BadFile, ...]) -> PartsFolder:
        """Return the folder with all its files read."""
        for key in self.files:
            self._part(key)
        return PartsFolder(path, states, self.parts, self.refused, misplaced)

    def _part(self, key: Key) -> OwnPart | None:
        """Return a part, None where its file is refused."""
        if key not in self.parts and key not in self.refused:
            self.open.append(key)
            try:
                self.parts[key] = self._read(*key)
                known.add((self.parts[key],))
            except BadFile as error:
                self.refused[key] = error
            self.open.pop()
        return self.parts.get(key)

    def _read(self, kind: str, name: str) -> OwnPart:
        path = self.files[kind, name]
        if not NAME.fullmatch(name):
            raise BadFile(f"{path} cannot name a part; a name is of at most 40 small letters, digits, '.' and '-'.")
        together = self.shelf.together(kind)
        twins = [self.files[of, name] for of in together if of != kind and (of, name) in self.files]
        if ours := self.shelf.files(kind).get(name, *twins[:1]):
            raise BadFile(f"{path} has the name of a part in {ours}; give the file another name.")
        content = parsed(path)
        uses = []
        for used, wanted in content.items():
            if used in self.shelf.kinds and isinstance(wanted, str):
                if BETWEEN in wanted:
                    raise BadFile(f"{path} names the {used} {wanted!r}; write the name alone, without what follows {BETWEEN}.")
                if (used, wanted) in self.files:
                    uses.append(self._used(path, (used, wanted)))
                    content[used] = uses[-1].reference
        self.shelf.check(kind, path, content)
        text = canonical(content)
        if len(text.encode()) > MOST_TEXT:
            raise BadFile(f"{path} is longer than {count(MOST_TEXT)} bytes; a part takes a few thousand.")
        return OwnPart(kind, name, digest(text), text, str(path), tuple(uses))

    def _used(self, path: Path, key: Key) -> OwnPart:
        if key in self.open:
            raise BadFile(f"{path} names the {key[0]} {key[1]!r}, which names it in turn; leave one of them out.")
        if (found := self._part(key)) is None:
            raise BadFile(f"{path} names the {key[0]} {key[1]!r}, whose own file cannot be used; correct {self.files[key]}.")
        return found


def parsed(path: Path) -> Table:
    """Return what a file of one's own says; raises BadFile."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadFile(f"{path} is longer than {count(MOST_BYTES)} bytes; a part takes a few thousand.")
        return loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror}; make it a text file that you may read.") from error
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{path} is not valid TOML: {str(error).rstrip('.')}; correct it there.") from error
