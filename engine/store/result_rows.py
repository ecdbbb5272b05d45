"""The table of results: compact JSON by the scenario's key, with a checksum.

Knobs with their default values are left out of the JSON.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from .. import version
from ..core.part_files.known import MAX_KNOWN_PARTS
from ..core.part_files.use import accept_parts
from ..results.result import Result, from_json
from ..scenario.keys import Fidelity, KnobTexts, changed_knobs, group_texts, key
from ..scenario.scenario import Scenario
from .database import checksum, open_store
from .quota import USE_SECONDS, note_use

PARTS = "part"  # no knob is called so
KEY_COLUMNS = {"results": "key", "trainings": "class"}


def knob_texts(text: str) -> dict[str, str]:
    """Return the knobs that a request's JSON text has, as texts by path.

    If the text has the user's own parts of hardware, they are registered.
    Raises ValueError, TypeError or similar for a damaged text, and BadInput for damaged parts.
    """
    content: dict[str, str] = json.loads(text)
    accept_parts(content.pop(PARTS, ()), MAX_KNOWN_PARTS)
    return content


def result_text(result: Result) -> str:
    """Return a result as one line of JSON.

    Raises ValueError for a number that is not finite.
    """
    return _line(result.as_json())


def row_text(result: Result) -> str:
    """Return a result as the JSON text of its row, without knobs at their defaults."""
    differs = {path: json_setting for path, _, json_setting in changed_knobs(_defaults()[0], group_texts(result.scenario))}
    return _line({"scenario": differs, **result.without_knobs()})


def complete_text(text: str) -> str:
    """Return the JSON text of a row with all knobs added, on one line."""
    content = json.loads(text)
    return _line({**content, "scenario": {**_defaults()[1], **content["scenario"]}})


@cache
def _defaults() -> tuple[tuple[KnobTexts, ...], Mapping[str, Any]]:
    """Return the default scenario's knobs, as texts and as in JSON."""
    return group_texts(Scenario()), Result(Scenario(), True, "", {}).as_json()["scenario"]


def store_results(store: sqlite3.Connection, texts: Iterable[tuple[str, str]]) -> None:
    """Insert results into the store; each is a pair (key, JSON text of its row).

    A result of this code that the store already has is kept; a result of other code is replaced.
    """
    columns = "key, result, checksum, model_version, created, used, code"
    rows = [(name, text, checksum(name, text), version.MODEL, time.time(), version.CODE) for name, text in texts]
    store.executemany("DELETE FROM results WHERE key = ? AND code != ?", [(row[0], version.CODE) for row in rows])
    store.executemany(f"INSERT OR IGNORE INTO results ({columns}) VALUES (?, ?, ?, ?, ?5, ?5, ?6)", rows)


def load_result(
    store: sqlite3.Connection, name: str, scenario: Scenario | None = None, read_keys: list[str] | None = None
) -> Result | None:
    """Return the result of this code with key `name`, or None.

    A damaged row is deleted, so that the result is computed again.
    The key is appended to `read_keys` if the caller should write the time of use, which protects the result from deletion.
    """
    cursor = store.execute("SELECT result, checksum, used FROM results WHERE key = ? AND code = ?", (name, version.CODE))
    row = cursor.fetchone()
    if row is None or not is_whole(store, "results", name, row[0], row[1]):
        return None
    if read_keys is not None and (row[2] or 0.0) < time.time() - USE_SECONDS:
        read_keys.append(name)
    return from_json(json.loads(row[0]), scenario)


def is_as_written(name: object, text: object, digest: object) -> bool:
    """Return whether a text and its key have the stored checksum."""
    return isinstance(text, str) and checksum(name, text) == digest


def is_whole(store: sqlite3.Connection, table: str, name: str, text: object, digest: str) -> bool:
    """Return whether a row's text has the stored checksum; delete a damaged row."""
    if is_as_written(name, text, digest):
        return True
    store.execute(f"DELETE FROM {table} WHERE {KEY_COLUMNS[table]} = ?", (name,))
    return False


def stored_results(path: Path, scenarios: Iterable[Scenario], method: Fidelity) -> Iterator[tuple[str, Result | None]]:
    """Yield (key, result or None) for each scenario, in order.

    None means that the store has no result. A failed point has a result that says that it did not run.
    """
    read_keys: list[str] = []
    with open_store(path) as store:
        for scenario in scenarios:
            name = key(scenario, method)
            result = load_result(store, name, scenario, read_keys)
            if not result and (row := store.execute("SELECT sentence FROM failures WHERE key = ?", (name,)).fetchone()):
                result = Result(scenario, ran=False, outcome=row[0], results={})
            yield name, result
        if read_keys:
            note_use(store, read_keys)


def _number(scalar: Any) -> Any:
    """Return a numpy scalar as a number of Python; raises TypeError for other types."""
    if hasattr(scalar, "item"):
        return scalar.item()
    raise TypeError(f"{type(scalar).__name__} cannot be kept in a result")


_line = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_number).encode
