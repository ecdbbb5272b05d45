"""The file of an own preset: a scenario as TOML that reads back unchanged."""

import json
from collections.abc import Iterator
from typing import Any

from ..core.figures import count
from ..core.part_files.known import OwnPart
from ..errors import BadInput
from ..version import LINK, MODEL, release
from . import knobs
from .machine import own_parts
from .own_presets import MAX_FILE_BYTES, NAME, NAME_RULE
from .presets import MAX_DESCRIPTION, preset, preset_names, root_of
from .scenario import KNOBS, Scenario, named_model, stale_lists, values


def preset_text(scenario: Scenario, base: str, name: str, description: str = "") -> str:
    """Return the text of the file NAME.toml, an own preset with this scenario.

    base: the preset from which the scenario was made. The file names its root, and has each knob that differs from the root or
    from the defaults. So `--preset NAME` and `--scenario NAME.toml` read the same scenario, and later defaults do not change it.
    Raises BadInput for a name or description that an own preset cannot have.
    """
    check_preset_name(name)
    if len(description) > MAX_DESCRIPTION or not description.isprintable():
        raise BadInput(
            f"The sentence of a preset is one printable line of at most {count(MAX_DESCRIPTION, 'character')}; shorten it."
        )
    root = root_of(base)
    lines = [
        f"# A preset of one's own, saved by Emberpool {release()}, model version {MODEL}, links v{LINK}.",
        *dict.fromkeys(map(_part_line, own_parts(scenario.machine))),
        f"title = {_quoted(name)}",
        *([f"description = {_quoted(description)}"] if description else []),
        f"preset = {_quoted(root)}",
        "",
        "[knobs]",
        *(f"{path} = {_value_text(path, setting)}" for path, setting in _written(scenario, preset(root).scenario)),
    ]
    text = "\n".join(lines) + "\n"
    if len(text.encode()) > MAX_FILE_BYTES:
        raise BadInput(
            f"The preset would have {count(len(text.encode()), 'byte')}, but {count(MAX_FILE_BYTES)} can be read; share a link."
        )
    return text


def check_preset_name(name: str) -> None:
    """Raise BadInput for a name that an own preset cannot have."""
    if not NAME.fullmatch(name):
        raise BadInput(f"{name[:60]!r} is not a valid name of a preset; {NAME_RULE}.")
    if name.lower() in map(str.lower, preset_names()):
        raise BadInput(f"{name} is the name of a preset that Emberpool ships; choose another name.")


def _written(scenario: Scenario, root: Scenario) -> Iterator[tuple[str, Any]]:
    """Yield the knobs that the file needs: those that differ from the root, the named model or the defaults."""
    model = named_model(scenario.model.name)
    read_values = {**values(root), **stale_lists(root, model["model.num_tables"]), **model}
    for path, setting in values(scenario).items():
        usual = model.get(path, KNOBS[path].default)
        if path == "model.name" or setting != read_values[path] or setting != usual:
            yield path, setting


def _value_text(path: str, setting: Any) -> str:
    """Return a knob's value as TOML: a number or switch as it is, all else as the text of links."""
    if isinstance(setting, bool):
        return "true" if setting else "false"
    if isinstance(setting, int | float):
        return repr(setting)
    return _quoted(knobs.write(KNOBS[path], setting))


def _quoted(text: str) -> str:
    """Return a text as a TOML string; JSON's escapes are TOML's too."""
    return json.dumps(text, ensure_ascii=False)


def _part_line(part: OwnPart) -> str:
    return (
        f"# It needs the own part {part.kind}/{part.name}.toml as {part.reference}: start with PARTS=DIR, or add --parts-dir DIR."
    )
