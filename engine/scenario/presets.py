"""Presets: files of named scenarios, with the knobs that differ from defaults, and claims.

Emberpool ships presets, and a user's folder can add own ones. The folder is given by `use_folder` or by the environment.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any

from ..core import catalog
from ..core.figures import count
from ..errors import BadFile, BadInput, BadKnob, nearest_hint
from ..paths import user_path
from ..registry import read_toml
from ..user_text import MAX_FILE_BYTES as LONGEST_TEXT
from . import knobs
from .own_presets import MAX_FILE_BYTES, NAME, NAME_RULE, NO_FOLDER, Preset, PresetsFolder, read_folder
from .renamed import RENAMED, todays_knob
from .scenario import Scenario, declaration, from_file, with_values

FOLDER = Path(__file__).parent.parent.parent / "presets"
DEFAULT = "dlrm-kaggle"
EXPLORED = "cxl-memory"  # opens on Start and Design, where each of the four main knobs acts
VARIABLE = "EMBERPOOL_PRESETS"  # of the environment: a folder of one's own
MAX_TITLE, MAX_DESCRIPTION = 80, 300  # characters of the texts of an own preset
FILE_ENTRIES = {"preset", "knobs", "title", "description", "paper", "machine", "baseline", "claims"}

_own_path = next((user_path(text).absolute() for text in (os.environ.get(VARIABLE, "").strip(),) if text), None)
_last_look, _look_lock = NO_FOLDER, RLock()
_roots: dict[str, str] = {}  # of all own presets that this process has read, also of those whose files are gone


def file_settings(file_knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the knobs in a file by dotted path; raises BadKnob."""
    return {path: from_file(path, file_value) for path, file_value in file_knobs.items()}


@cache
def preset_names() -> tuple[str, ...]:
    """Return the names of all shipped presets, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def own_preset_names() -> tuple[str, ...]:
    """Return the names of the user's own presets, sorted."""
    return tuple(own_folder().presets)


def preset(name: str) -> Preset:
    """Return the preset called `name`, a shipped or an own one.

    Raises BadKnob, which names a similar preset, and BadFile where an own preset's file cannot be used.
    """
    if name in preset_names():
        return shipped_preset(name)
    folder = own_folder()
    if name not in folder.presets and folder.path:
        folder = look_again()  # the file may be new
    if name in folder.presets:
        return folder.presets[name]
    if refusal := folder.refused.get(f"{name}.toml"):
        raise refusal
    raise BadKnob(f"preset={name!r} is not known; {nearest_hint(name, (*preset_names(), *folder.presets), 'presets')}")


@cache
def shipped_preset(name: str) -> Preset:
    """Return the shipped preset called `name`."""
    content = read_toml(FOLDER / f"{name}.toml")
    try:
        texts = {key: str(content[key]) for key in ("title", "description", "paper")}
    except KeyError as error:
        raise BadFile(f"{FOLDER / name}.toml lacks {error}; every preset has title, description and paper.") from None
    claims = tuple(content.get("claims", ()))
    scenario = with_values(Scenario(), file_settings(content["knobs"]))
    machine, baseline = (str(content.get(key, "")) for key in ("machine", "baseline"))
    return Preset(name, **texts, scenario=scenario, machine=machine, baseline=baseline, claims=claims)


def root_of(name: str) -> str:
    """Return the shipped preset that a preset's links start from.

    It is the preset itself, or the base of an own preset; an own preset without a base has the default preset. The files of
    own presets may be gone. Raises BadKnob for a name that was never known here.
    """
    if name not in preset_names() and name not in _roots:
        preset(name)
    return _roots.get(name, name)


def scenario_file(path: Path) -> Scenario:
    """Return the scenario in a TOML file; raises BadKnob.

    The file may name a `preset`; its table `[knobs]` has the knobs that differ from the preset.
    """
    content = _file_content(path)
    return _with_knobs(preset(str(content.get("preset", DEFAULT))).scenario, content["knobs"])


def own_folder() -> PresetsFolder:
    """Return the user's folder of presets as it was when it was last read.

    Return an empty folder if the user has given none.
    """
    return NO_FOLDER if _own_path is None else _last_look if _last_look.path == _own_path else look_again()


def look_again() -> PresetsFolder:
    """Read the user's folder of presets again, and return the folder."""
    global _last_look
    if _own_path is None:
        return NO_FOLDER
    with _look_lock:
        _last_look = read_folder(_own_path, _own_preset, catalog.own_folder(), _last_look)
        return _last_look


def use_folder(path: Path | None) -> PresetsFolder:
    """Use the own presets of a folder from now on, None for no folder.

    Return the folder as read.
    """
    global _own_path
    _own_path = path.absolute() if path else None
    return look_again()


@contextmanager
def folder_in_use(path: Path | None) -> Iterator[PresetsFolder]:
    """Use the own presets of a folder during the `with` block, and yield the folder.

    With None, the folder in use is read again and stays in use. Raises BadFile if a file cannot be used.
    """
    earlier_path = _own_path
    try:
        folder = use_folder(path or earlier_path)
        for refusal in folder.refused.values():
            raise refusal
        yield folder
    finally:
        use_folder(earlier_path)


def _own_preset(path: Path) -> Preset:
    """Return the preset in a file of the user's folder; raises BadFile."""
    name = path.stem
    if not NAME.fullmatch(name):
        raise BadFile(f"{path} is not a valid name of a preset; {NAME_RULE}.")
    if name.lower() in map(str.lower, preset_names()):
        raise BadFile(f"{path} has the name of a preset that Emberpool ships; give the file another name.")
    content = _file_content(path, MAX_FILE_BYTES)
    title = _own_text(path, content, "title", name, MAX_TITLE)
    description = _own_text(path, content, "description", "", MAX_DESCRIPTION)
    paper = _own_text(path, content, "paper", "", MAX_DESCRIPTION)
    machine = _own_text(path, content, "machine", "", MAX_DESCRIPTION)
    base = content.get("preset", DEFAULT)
    if base not in preset_names():
        hint = nearest_hint(str(base), preset_names(), "presets")
        raise BadFile(f"{path} has preset={str(base)[:80]!r}, which is no preset that Emberpool ships; {hint}")
    try:
        scenario = _with_knobs(shipped_preset(base).scenario if "preset" in content else Scenario(), content["knobs"])
    except BadInput as error:
        raise BadFile(f"{path}: {error}") from None
    _roots[name] = base
    return Preset(name, title, description, paper, scenario, machine=machine, file=str(path))


def _own_text(path: Path, content: Mapping[str, Any], key: str, usual: str, most: int) -> str:
    """Return a text of an own preset's file; raises BadFile unless it is short and printable."""
    text = content.get(key, usual)
    if not isinstance(text, str) or len(text) > most or not text.isprintable():
        raise BadFile(f"{path}: {key} must be one printable line of at most {count(most, 'character')}; shorten it.")
    return text


def _file_content(path: Path, most_bytes: int = LONGEST_TEXT) -> dict[str, Any]:
    """Return the content of a scenario's file; raises BadFile for an entry that it cannot have."""
    content = read_toml(path, most_bytes)
    unknown = sorted(set(content) - FILE_ENTRIES)
    if unknown:
        raise BadFile(f"{path} has an unknown entry {unknown[0]!r}; put knobs under [knobs].")
    return content


def _with_knobs(base: Scenario, file_knobs: Mapping[str, Any]) -> Scenario:
    """Return a scenario with the knobs of a file; raises BadKnob."""
    system = str(file_knobs.get("system", base.system))
    return with_values(base, dict(_today(path, file_value, system) for path, file_value in file_knobs.items()))


def _today(path: str, file_value: Any, system: str) -> tuple[str, Any]:
    """Return a knob of a system's file under today's name, with "auto" resolved."""
    if path not in RENAMED and (file_value != knobs.AUTO or declaration(path).by_table):
        return path, from_file(path, file_value)
    path, text = todays_knob(path, str(file_value), (system,))
    return path, knobs.parse(declaration(path), text)
