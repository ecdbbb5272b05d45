"""A user's folder of own parts, DIR/KIND/NAME.toml, as of its last reading.

The folder is read again if a file has changed. A file that cannot be used is left out, and the reason is kept.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ...core.figures import count
from ...errors import BadFile, nearest_hint
from ...paths import read_regular
from ...user_text import read_toml_table
from . import known
from .canonical import canonical, digest
from .carried import MAX_TEXT_LENGTH
from .known import DIGEST_SEPARATOR, NAME, OwnPart

MAX_FILES, MAX_FILE_BYTES = 500, 1_000_000
Key = tuple[str, str]  # kind and name
Table = dict[str, Any]


@dataclass(frozen=True)
class ShippedParts:
    """The parts that the package ships.

    kinds: the kinds of parts.
    kinds_of_same_knob: for each kind, all kinds among which the same knob chooses.
    files: a function from a kind to the files of the shipped parts of all kinds with the same knob, by name.
    check: a function that raises BadFile if a content is no valid part of a kind; its path is only for the message.
    doubts: a function that returns sentences on unlikely numbers of a valid part.
    """

    kinds: tuple[str, ...]
    kinds_of_same_knob: Callable[[str], tuple[str, ...]]
    files: Callable[[str], Mapping[str, Path]]
    check: Callable[[str, Path, Table], None]
    doubts: Callable[[str, Path, Table], tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class PartsFolder:
    """The own parts of a user's folder, and why other files are left out.

    path: the folder; None for no folder.
    contents: the bytes of the folder's files when the folder was last read.
    parts: the parts by kind and name.
    refused: for files that are no valid part, the reason by kind and name.
    misplaced: the reasons for files that lie where no part can.
    doubts: sentences on unlikely numbers of the parts.
    """

    path: Path | None = None
    contents: Mapping[Path, bytes] = field(default_factory=dict)
    parts: Mapping[Key, OwnPart] = field(default_factory=dict)
    refused: Mapping[Key, BadFile] = field(default_factory=dict)
    misplaced: tuple[BadFile, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def refusals(self) -> tuple[BadFile, ...]:
        """The reasons of all files that are left out."""
        return (*self.misplaced, *self.refused.values())

    @cached_property
    def by_kind(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the parts of each kind, sorted."""
        kinds = {kind for kind, _ in self.parts}
        return {kind: tuple(sorted(name for part_kind, name in self.parts if part_kind == kind)) for kind in kinds}


NO_FOLDER = PartsFolder()


def read_folder(path: Path, shelf: ShippedParts, last_look: PartsFolder = NO_FOLDER) -> PartsFolder:
    """Return the folder as it is now, or `last_look` itself if no file has changed.

    The folder's parts become known to this process. `shelf` has the shipped parts.
    """
    files, misplaced = _files(path, shelf.kinds)
    contents: dict[Path, bytes] = {}
    for file in files.values():
        with suppress(BadFile):  # reading it as a part says why
            contents[file] = read_regular(file, MAX_FILE_BYTES)
    is_unchanged = (
        last_look.path == path
        and last_look.contents == contents
        and list(map(str, last_look.misplaced)) == list(map(str, misplaced))
    )
    folder = last_look if is_unchanged else _Reading(files, shelf).folder(path, contents, tuple(misplaced))
    known.add_parts(folder.parts.values())
    return folder


def _files(path: Path, kinds: tuple[str, ...]) -> tuple[dict[Key, Path], list[BadFile]]:
    """Return the files of a folder by kind and name, and the refusals of files where no part can lie."""
    files_by_key: dict[Key, Path] = {}
    misplaced = []
    try:
        for folder in sorted(path.iterdir()):
            if folder.name[0] in "._":
                continue
            if folder.suffix == ".toml" and folder.is_file():
                misplaced.append(
                    BadFile(f"{folder} is not inside a folder of a kind of part; put it in one, such as {path / 'gpu'}.")
                )
            files = sorted(folder.glob("*.toml")) if folder.is_dir() else []
            if files and folder.name not in kinds:
                misplaced.append(BadFile(f"{folder} is not a kind of part; {nearest_hint(folder.name, kinds)}"))
            else:
                files_by_key |= {(folder.name, file.stem): file for file in files}
    except OSError as error:
        misplaced = [BadFile(f"{path} cannot be read as a folder of parts: {error.strerror}; give a folder that you may read.")]
    if len(files_by_key) > MAX_FILES:
        return {}, [
            BadFile(
                f"{path} has {count(len(files_by_key), 'part')}, but at most {MAX_FILES} can be used; move some to "
                "another folder."
            )
        ]
    return files_by_key, misplaced


class _Reading:
    """One reading of all files: a part is read after the parts that it names."""

    def __init__(self, files: Mapping[Key, Path], shelf: ShippedParts) -> None:
        self.files, self.shelf = files, shelf
        self.parts: dict[Key, OwnPart] = {}
        self.refused: dict[Key, BadFile] = {}
        self.open: list[Key] = []
        self.doubts: list[str] = []

    def folder(self, path: Path, contents: Mapping[Path, bytes], misplaced: tuple[BadFile, ...]) -> PartsFolder:
        """Read all files of the folder, and return its parts and refusals."""
        for key in self.files:
            self._part(key)
        return PartsFolder(path, contents, self.parts, self.refused, misplaced, tuple(self.doubts))

    def _part(self, key: Key) -> OwnPart | None:
        """Return a part, None if its file is refused."""
        if key not in self.parts and key not in self.refused:
            self.open.append(key)
            try:
                self.parts[key] = self._read_part(*key)
                known.add_parts((self.parts[key],))
            except BadFile as error:
                self.refused[key] = error
            self.open.pop()
        return self.parts.get(key)

    def _read_part(self, kind: str, name: str) -> OwnPart:
        path = self.files[kind, name]
        if not NAME.fullmatch(name):
            raise BadFile(f"{path} is not a valid name of a part; a name has at most 40 small letters, digits, '.' and '-'.")
        knob_kinds = self.shelf.kinds_of_same_knob(kind)
        twins = [self.files[knob_kind, name] for knob_kind in knob_kinds if knob_kind != kind and (knob_kind, name) in self.files]
        if shipped_path := self.shelf.files(kind).get(name, *twins[:1]):
            raise BadFile(f"{path} has the same name as a part in {shipped_path}; give the file another name.")
        content = parsed(path)
        uses = []
        for used_kind, used_name in content.items():
            if used_kind in self.shelf.kinds and isinstance(used_name, str):
                if DIGEST_SEPARATOR in used_name:
                    raise BadFile(
                        f"{path} names the {used_kind} {used_name!r}; write only the name, without {DIGEST_SEPARATOR} and the "
                        "digest."
                    )
                if (used_kind, used_name) in self.files:
                    uses.append(self._used_part(path, (used_kind, used_name)))
                    content[used_kind] = uses[-1].reference
        self.shelf.check(kind, path, content)
        self.doubts += self.shelf.doubts(kind, path, content)
        text = canonical(content)
        if len(text.encode()) > MAX_TEXT_LENGTH:
            raise BadFile(f"{path} is longer than {count(MAX_TEXT_LENGTH)} bytes; the file of a part has a few thousand.")
        return OwnPart(kind, name, digest(text), text, str(path), tuple(uses))

    def _used_part(self, path: Path, key: Key) -> OwnPart:
        if key in self.open:
            raise BadFile(f"{path} names the {key[0]} {key[1]!r}, which names this part in turn; remove one of the two names.")
        if (part := self._part(key)) is None:
            raise BadFile(f"{path} names the {key[0]} {key[1]!r}, whose own file has an error; correct {self.files[key]}.")
        return part


def parsed(path: Path) -> Table:
    """Return the content of a part's file as a table; raises BadFile."""
    return read_toml_table(path, most_bytes=MAX_FILE_BYTES)
