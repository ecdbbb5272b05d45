"""From what a script names a scenario by to the scenario: a preset, a link, a result, a row of a table, a file.

A row of `table.frame` says in its `attrs` what its table varies and around which scenario, so that it means its own
point whatever was sorted or filtered before; a row of the CSV has every knob itself.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..analysis import linked
from ..core.figures import count
from ..core.part_files.use import changed
from ..errors import BadInput
from ..paths import written_path
from ..results.metrics import METRICS
from ..results.result import Result
from ..scenario import knobs
from ..scenario.keys import texts
from ..scenario.machine import own_parts
from ..scenario.presets import DEFAULT, preset, scenario_file
from ..scenario.scenario import KNOBS, Scenario, known, with_values
from .knob_values import TITLES, by_path, plain, settings, shown

Base = Any  # what `scenario_of` takes
ATTRS = "emberpool"  # under which a frame says what it varies, in plain JSON, as files of frames keep it
ADDRESS = ("Outcome", "outcome", "scenario key", "model version", "arithmetic")
MEASURED = frozenset((*ADDRESS, *(one.name for one in METRICS.values())))
EXPECTED = "give a preset's name, a scenario, a result, a row of table.frame, or a link"


def scenario_of(base: Base, stacklevel: int = 3) -> Scenario:
    """Return the scenario that a base names; raises BadInput. What a link says beside it is a warning.

    So is that it has a part of one's own whose file has changed since.
    """
    found = _scenario_of(base, stacklevel + 1)
    for sentence in changed(own_parts(found.machine)):
        warnings.warn(sentence, stacklevel=stacklevel)
    return found


def _scenario_of(base: Base, stacklevel: int) -> Scenario:
    if isinstance(base, Scenario):
        return base
    if isinstance(base, Result):
        return base.scenario
    if isinstance(base, str):
        return _named(str.__str__(base).strip(), stacklevel + 1)
    if isinstance(base, os.PathLike):
        return scenario_file(written_path(Path(base)))
    if hasattr(base, "iterrows"):
        raise BadInput(f"A frame of {count(len(base), 'row')} is no scenario; take one, such as frame.iloc[0].")
    if isinstance(base, Mapping) or (hasattr(base, "index") and hasattr(base, "attrs")):  # a dict or a row of pandas
        return _of_row(dict(base.items()), getattr(base, "attrs", {}).get(ATTRS))
    if isinstance(base, Sequence) and not isinstance(base, bytes) and all(isinstance(one, Result) for one in base):
        if len(base) == 1:
            return base[0].scenario  # type: ignore[no-any-return]
        raise BadInput(f"A table of {count(len(base), 'point')} is no one scenario; take a point, such as table[0].")
    raise BadInput(f"{shown(base)} is no scenario; {EXPECTED}.")


def opened(address: Any, stacklevel: int = 3) -> Scenario:
    """Return the scenario of a link; what it says beside it, as that it was made by another version, is a warning."""
    if not isinstance(address, str):
        raise BadInput(
            f"{shown(address)} is no link, which is a text such as /design?preset={DEFAULT}; copy one from the explorer."
        )
    found = linked.read(address.strip())
    if found.banner:
        warnings.warn(found.banner, stacklevel=stacklevel)
    if found.axes:
        warnings.warn(f"The link sweeps {', '.join(found.axes)}; this is its base.", stacklevel=stacklevel)
    return found.scenario


def row_attrs(base: Scenario, varied: Sequence[str], around: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the rows of a table's frame carry: what it varies, and the knobs of all its points.

    A model that varies brings its own knobs, but for those that were set `around` it.
    """
    model = {"model.name": base.model.name}
    usual = texts(with_values(Scenario(), model))
    shared = model | {path: text for path, text in texts(base).items() if text != usual[path]}
    if "model.name" in varied:
        shared = {path: text for path, text in shared.items() if not path.startswith("model.")}
        shared |= {path: knobs.write(known(path), value) for path, value in around.items()}
    return {"knobs": {path: text for path, text in shared.items() if path not in varied}, "varied": list(varied)}


def _named(text: str, stacklevel: int) -> Scenario:
    if text.endswith(".toml") and "?" not in text:
        return scenario_file(written_path(text))
    if "?" in text or "://" in text or text.startswith("/"):
        return opened(text, stacklevel + 1)
    if not text:
        raise BadInput(f"An empty text is no scenario; {EXPECTED}.")
    return preset(text).scenario


def _of_row(row: dict[Any, Any], attrs: Mapping[str, Any] | None) -> Scenario:
    """Return the scenario of a row by the names of its cells; raises BadInput where it does not say all of it."""
    cells = {name: value for name, value in row.items() if isinstance(name, str)}
    if set(KNOBS) <= set(cells):
        return with_values(Scenario(), {path: _cell(path, cells[path], written=True) for path in KNOBS})
    if attrs:
        return _of_attrs(cells, attrs)
    start = cells.pop("preset", None)
    measured = [name for name in cells if name in MEASURED]
    if measured and start is None:
        raise BadInput(
            f"A row with {measured[0]!r}, but without the table's attrs, does not say which scenario it varies; give table[0], "
            "a row of table.frame itself, or the knobs alone."
        )
    if len(cells) < len(row) - (start is not None):
        raise BadInput(f"{shown(row)} is no scenario: its keys are not all texts; name knobs by path or title.")
    _check_ends(row)
    changes = {name: value for name, value in cells.items() if name not in measured}
    return with_values(scenario_of(DEFAULT if start is None else start), settings(changes))


def _check_ends(row: Mapping[Any, Any]) -> None:
    """Raise BadInput where the preset of a row is, however deep, a row that has been there."""
    seen: list[Any] = []
    inner: Any = row
    while isinstance(inner, Mapping):
        if any(inner is one for one in seen):
            raise BadInput("A row whose preset is that row itself is no scenario; name a preset by a text.")
        seen.append(inner)
        inner = inner.get("preset")


def _of_attrs(cells: Mapping[str, Any], attrs: Mapping[str, Any]) -> Scenario:
    """Return the scenario of a frame's row: its table's, with what the row says of knobs."""
    said = by_path({name: value for name, value in cells.items() if name in KNOBS or name in TITLES})
    for path in attrs["varied"]:
        if path not in said:
            raise BadInput(f"The row lacks {KNOBS[path].title!r}, which its table varies; keep that column, or give table[0].")
    shared = {path: knobs.parse(known(path), text) for path, text in attrs["knobs"].items()}
    return with_values(Scenario(), shared | {path: _cell(path, value) for path, value in said.items()})


def _cell(path: str, cell: Any, written: bool = False) -> Any:
    """Return a cell as its knob takes it: as a CSV file has it where it is `written`, or else as a frame has it."""
    knob, value = KNOBS[path], plain(cell, path)
    if isinstance(value, float) and value != value:  # what pandas makes of an empty cell, or of "auto" among numbers
        value = "" if written else None if knob.optional else value
    if isinstance(value, str):
        if knob.kind in knobs.SEPARATOR and not written:
            value = value.replace(", ", knobs.SEPARATOR[knob.kind])
        return knobs.parse(knob, value)
    return knobs.check(knob, value)
