"""Scenarios from a script's base: a preset, link, result, row of a table or file.

A row of `table.frame` has in its `attrs` the knobs that its table varies and the knobs that all rows share. So the row is its
own scenario even after sorting or filtering. A row of the CSV has every knob itself.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..analysis import linked
from ..core.figures import count
from ..core.part_files.use import changed_part_notes
from ..errors import BadInput
from ..paths import user_path
from ..results.metrics import METRICS
from ..results.result import Result
from ..scenario import knobs
from ..scenario.keys import texts
from ..scenario.machine import own_parts
from ..scenario.presets import DEFAULT, look_again, preset, preset_names, scenario_file
from ..scenario.scenario import KNOBS, Scenario, declaration, with_values
from .knob_values import TITLES, by_path, plain_setting, settings, short_text

Base = Any  # the types that `scenario_of` takes
FRAME_KEY = "emberpool"  # the key of a frame's attrs for its varied knobs, in plain JSON, as files of frames keep it
ADDRESS = ("Outcome", "outcome", "scenario key", "model version", "arithmetic")
RESULT_COLUMNS = frozenset((*ADDRESS, *(metric.name for metric in METRICS.values())))
EXPECTED = "give a preset's name, a scenario, a result, a row of table.frame, or a link"


def scenario_of(base: Base, stacklevel: int = 3) -> Scenario:
    """Return the scenario that a base names; raises BadInput.

    Warns of notes in a link, and of files of the user's own parts that have changed since.
    """
    scenario = _scenario_of(base, stacklevel + 1)
    for sentence in changed_part_notes(own_parts(scenario.machine)):
        warnings.warn(sentence, stacklevel=stacklevel)
    return scenario


def _scenario_of(base: Base, stacklevel: int) -> Scenario:
    if isinstance(base, Scenario):
        return base
    if isinstance(base, Result):
        return base.scenario
    if isinstance(base, str):
        return _scenario_by_name(str.__str__(base).strip(), stacklevel + 1)
    if isinstance(base, os.PathLike):
        return scenario_file(user_path(Path(base)))
    if hasattr(base, "iterrows"):
        raise BadInput(f"A frame of {count(len(base), 'row')} is not one scenario; give one row, such as frame.iloc[0].")
    if isinstance(base, Mapping) or (hasattr(base, "index") and hasattr(base, "attrs")):  # a dict or a row of pandas
        return _scenario_of_row(dict(base.items()), getattr(base, "attrs", {}).get(FRAME_KEY))
    if isinstance(base, Sequence) and not isinstance(base, bytes) and all(isinstance(result, Result) for result in base):
        if len(base) == 1:
            return base[0].scenario  # type: ignore[no-any-return]
        raise BadInput(f"A table of {count(len(base), 'point')} is not one scenario; give one point, such as table[0].")
    raise BadInput(f"{short_text(base)} is not a scenario; {EXPECTED}.")


def open_link(address: Any, stacklevel: int = 3) -> Scenario:
    """Return the scenario of a link.

    Warns of the link's notes, such as another model version.
    """
    if not isinstance(address, str):
        raise BadInput(
            f"{short_text(address)} is not a link, which is a text such as /design?preset={DEFAULT}; copy one from the explorer."
        )
    opened_link = linked.read_link(address.strip())
    if opened_link.banner:
        warnings.warn(opened_link.banner, stacklevel=stacklevel)
    if opened_link.axes:
        warnings.warn(
            f"The link is a sweep over {', '.join(opened_link.axes)}; only its base scenario is used here.", stacklevel=stacklevel
        )
    return opened_link.scenario


def row_attrs(base: Scenario, varied: Sequence[str], set_knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attrs of a table's frame: `varied` knobs, and the `knobs` all rows share.

    If the model varies, only those of its knobs are shared that were set (`set_knobs`).
    """
    model = {"model.name": base.model.name}
    usual = texts(with_values(Scenario(), model))
    shared_knobs = model | {path: text for path, text in texts(base).items() if text != usual[path]}
    if "model.name" in varied:
        shared_knobs = {path: text for path, text in shared_knobs.items() if not path.startswith("model.")}
        shared_knobs |= {path: knobs.write(declaration(path), setting) for path, setting in set_knobs.items()}
    return {"knobs": {path: text for path, text in shared_knobs.items() if path not in varied}, "varied": list(varied)}


def _scenario_by_name(text: str, stacklevel: int) -> Scenario:
    if text.endswith(".toml") and "?" not in text:
        return scenario_file(user_path(text))
    if "?" in text or "://" in text or text.startswith("/"):
        return open_link(text, stacklevel + 1)
    if not text:
        raise BadInput(f"An empty text is not a scenario; {EXPECTED}.")
    if text not in preset_names():
        look_again()  # a user's own preset, as its file is now
    return preset(text).scenario


def _scenario_of_row(row: dict[Any, Any], attrs: Mapping[str, Any] | None) -> Scenario:
    """Return the scenario of a row by the names of its cells.

    Raises BadInput for an incomplete row.
    """
    cells = {name: cell for name, cell in row.items() if isinstance(name, str)}
    if set(KNOBS) <= set(cells):
        return with_values(Scenario(), {path: _cell(path, cells[path], from_csv=True) for path in KNOBS})
    if attrs:
        return _scenario_of_frame_row(cells, attrs)
    start = cells.pop("preset", None)
    result_names = [name for name in cells if name in RESULT_COLUMNS]
    if result_names and start is None:
        raise BadInput(
            f"A row with {result_names[0]!r} but without the table's attrs does not say which base scenario it belongs to; give "
            "table[0], a row of table.frame itself, or only the knobs."
        )
    if len(cells) < len(row) - (start is not None):
        raise BadInput(f"{short_text(row)} is not a scenario: some of its keys are not texts; name knobs by path or title.")
    _check_ends(row)
    changes = {name: cell for name, cell in cells.items() if name not in result_names}
    return with_values(scenario_of(DEFAULT if start is None else start), settings(changes))


def _check_ends(row: Mapping[Any, Any]) -> None:
    """Raise BadInput for a row whose chain of presets is a circle."""
    visited_rows: list[Any] = []
    inner: Any = row
    while isinstance(inner, Mapping):
        if any(inner is visited for visited in visited_rows):
            raise BadInput("A row cannot be its own preset; name a preset by a text.")
        visited_rows.append(inner)
        inner = inner.get("preset")


def _scenario_of_frame_row(cells: Mapping[str, Any], attrs: Mapping[str, Any]) -> Scenario:
    """Return the scenario of a frame's row: the table's knobs, with those of the row."""
    row_knobs = by_path({name: cell for name, cell in cells.items() if name in KNOBS or name in TITLES})
    for path in attrs["varied"]:
        if path not in row_knobs:
            raise BadInput(f"The row lacks {KNOBS[path].title!r}, which its table varies; keep that column, or give table[0].")
    table_knobs = {path: knobs.parse(declaration(path), text) for path, text in attrs["knobs"].items()}
    return with_values(Scenario(), table_knobs | {path: _cell(path, cell) for path, cell in row_knobs.items()})


def _cell(path: str, cell: Any, from_csv: bool = False) -> Any:
    """Return the knob's setting of a cell from a CSV file or a frame.

    Raises BadKnob.
    """
    knob, setting = KNOBS[path], plain_setting(cell, path)
    if isinstance(setting, float) and setting != setting:  # NaN: pandas' form of an empty cell, or of "auto" among numbers
        setting = "" if from_csv else None if knob.optional else setting
    if isinstance(setting, str):
        if knob.kind in knobs.SEPARATOR and not from_csv:
            setting = setting.replace(", ", knobs.SEPARATOR[knob.kind])
        return knobs.parse(knob, setting)
    return knobs.check(knob, setting)
