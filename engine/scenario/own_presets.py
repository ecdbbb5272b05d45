"""A preset, and a user's folder of own presets, DIR/NAME.toml, as of its last reading.

The folder is read again if a file has changed. A file that cannot be used is left out, and the reason is kept.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.figures import count
from ..errors import BadFile
from ..paths import read_regular
from .scenario import Scenario

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,39}", re.ASCII)
NAME_RULE = "a name has at most 40 letters, digits and '-', and begins with a letter or digit"
MAX_FILES, MAX_FILE_BYTES = 500, 1_000_000


@dataclass(frozen=True)
class Preset:
    """A named scenario with texts for readers.

    name, title, description: the preset's name, its title and what it is for.
    paper: the citation of the paper that the scenario models.
    scenario: the scenario.
    claims: the published values that the scenario's results are checked against.
    machine: what its machine is, where it cannot be bought as it stands; "" for one that can be built.
    baseline: the system beside which the preset opens; "" for the usual one of its system.
    file: the file of an own preset; "" for a shipped one.
    """

    name: str
    title: str
    description: str
    paper: str
    scenario: Scenario
    claims: tuple[Mapping[str, Any], ...] = ()
    machine: str = ""
    baseline: str = ""
    file: str = ""

    @property
    def story(self) -> str:
        """The description, and what the machine is where it cannot be bought."""
        return " ".join(filter(None, (self.description, self.machine)))

    @property
    def list_title(self) -> str:
        """The title for lists, where an own preset is marked."""
        return f"{self.title} (your own)" if self.file else self.title


@dataclass(frozen=True, eq=False)
class PresetsFolder:
    """The own presets of a user's folder, and why other files are left out.

    path: the folder; None for no folder.
    contents: the bytes of the folder's files when the folder was last read.
    parts: the state of the own parts at that time, which a preset may name.
    presets: the presets by name, sorted.
    refused: for files that are no valid preset, the reason by the file's name; "" is the folder itself.
    """

    path: Path | None = None
    contents: Mapping[Path, bytes] = field(default_factory=dict)
    parts: object = None
    presets: Mapping[str, Preset] = field(default_factory=dict)
    refused: Mapping[str, BadFile] = field(default_factory=dict)


NO_FOLDER = PresetsFolder()


def read_folder(path: Path, read: Callable[[Path], Preset], parts: object, last_look: PresetsFolder) -> PresetsFolder:
    """Return the folder as it is now, or `last_look` itself if it is unchanged.

    It has changed if a file or the own parts have.
    read: a function that returns the preset of a file, and raises BadFile. parts: the own parts, compared by identity.
    """
    try:
        files = sorted(file for file in path.iterdir() if file.suffix == ".toml" and file.name[0] not in "._")
    except OSError as error:
        refusal = BadFile(f"{path} cannot be read as a folder of presets: {error.strerror}; give a folder that you may read.")
        return PresetsFolder(path, refused={"": refusal})
    if len(files) > MAX_FILES:
        many = f"{path} has {count(len(files), 'preset')}, but at most {MAX_FILES} can be used; move some to another folder."
        return PresetsFolder(path, refused={"": BadFile(many)})
    contents: dict[Path, bytes] = dict.fromkeys(files, b"")
    for file in files:
        with suppress(BadFile):  # reading it as a preset says why
            contents[file] = read_regular(file, MAX_FILE_BYTES)
    if last_look.path == path and last_look.contents == contents and last_look.parts is parts and "" not in last_look.refused:
        return last_look
    presets, refused = {}, {}
    for file in files:
        try:
            presets[file.stem] = read(file)
        except BadFile as error:
            refused[file.name] = error
    return PresetsFolder(path, contents, parts, presets, refused)
