"""Presets: files of named scenarios, with the knobs that differ from defaults, and claims."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import BadFile, BadKnob, nearest_hint
from ..registry import read_toml
from . import knobs
from .renamed import RENAMED, todays_knob
from .scenario import Scenario, declaration, from_file, with_values

FOLDER = Path(__file__).parent.parent.parent / "presets"
DEFAULT = "dlrm-kaggle"
EXPLORED = "cxl-memory"  # opens on Start and Design, where each of the four main knobs acts


@dataclass(frozen=True)
class Preset:
    """A named scenario with texts for readers.

    name, title, description: the preset's name, its title and what it is for.
    paper: the citation of the paper that the scenario models.
    baseline: the system beside which the preset opens; "" for the usual one of its system.
    scenario: the scenario.
    claims: the published values that the scenario's results are checked against.
    """

    name: str
    title: str
    description: str
    paper: str
    scenario: Scenario
    baseline: str = ""
    claims: tuple[Mapping[str, Any], ...] = ()


def file_settings(file_knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the knobs in a file by dotted path; raises BadKnob."""
    return {path: from_file(path, file_value) for path, file_value in file_knobs.items()}


@cache
def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


@cache
def preset(name: str) -> Preset:
    """Return the preset called `name`; raises BadKnob, which names a similar preset."""
    if name not in preset_names():
        raise BadKnob(f"preset={name!r} is not known; {nearest_hint(name, preset_names(), 'presets')}")
    content = read_toml(FOLDER / f"{name}.toml")
    try:
        texts = {key: str(content[key]) for key in ("title", "description", "paper")}
    except KeyError as error:
        raise BadFile(f"{FOLDER / name}.toml lacks {error}; every preset has title, description and paper.") from None
    claims = tuple(content.get("claims", ()))
    scenario = with_values(Scenario(), file_settings(content["knobs"]))
    return Preset(name, **texts, scenario=scenario, baseline=str(content.get("baseline", "")), claims=claims)


def scenario_file(path: Path) -> Scenario:
    """Return the scenario in a TOML file; raises BadKnob.

    The file may name a `preset`; its table `[knobs]` has the knobs that differ from the preset.
    """
    content = read_toml(path)
    unknown = set(content) - {"preset", "knobs", "title", "description", "paper", "claims"}
    if unknown:
        raise BadFile(f"{path} has an unknown entry {sorted(unknown)[0]!r}; put knobs under [knobs].")
    base = preset(str(content.get("preset", DEFAULT))).scenario
    system = str(content["knobs"].get("system", base.system))
    return with_values(base, dict(_today(path, file_value, system) for path, file_value in content["knobs"].items()))


def _today(path: str, file_value: Any, system: str) -> tuple[str, Any]:
    """Return a knob of a system's file under today's name, with "auto" resolved."""
    if path not in RENAMED and (file_value != knobs.AUTO or declaration(path).by_table):
        return path, from_file(path, file_value)
    path, text = todays_knob(path, str(file_value), (system,))
    return path, knobs.parse(declaration(path), text)
