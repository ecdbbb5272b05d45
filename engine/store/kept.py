"""The table of results: compact JSON of what differs from the defaults, under the scenario's key, with a checksum."""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from .. import version
from ..core.part_files.known import MOST_KNOWN
from ..core.part_files.use import accept
from ..results.result import Result, from_json
from ..scenario.keys import How, KnobTexts, differing, key, written
from ..scenario.scenario import Scenario
from .database import opened
from .quota import USE_SECONDS, touch

PARTS = "part"  # no knob is called so
NAMED = {"results": "key", "trainings": "class"}


def knob_texts(text: str) -> dict[str, str]:
    """Return the knobs' texts of a request's base or of changes to it, and make known the parts of one's own beside them.

    Raises ValueError and the like where the text is damaged, BadInput where the parts are.
    """
    content: dict[str, str] = json.loads(text)
    accept(content.pop(PARTS, ()), MOST_KNOWN)
    return content


def result_text(result: Result) -> str:
    """Write a result as one line of JSON; raises ValueError on a number that is not finite."""
    return _line(result.as_json())


def row_text(result: Result) -> str:
    """Write a result as a row keeps it: as `result_text`, but without the knobs that have their defaults."""
    differs = {path: value for path, _, value in differing(_defaults()[0], written(result.scenario))}
    return _line({"scenario": differs, **result.beside_scenario()})


def complete_text(text: str) -> str:
    """Return a row as one line of JSON with every knob."""
    content = json.loads(text)
    return _line({**content, "scenario": {**_defaults()[1], **content["scenario"]}})


@cache
def _defaults() -> tuple[tuple[KnobTexts, ...], Mapping[str, Any]]:
    """Return the scenario that has every default, as texts and as JSON has it."""
    return written(Scenario()), Result(Scenario(), True, "", {}).as_json()["scenario"]


def keep(store: sqlite3.Connection, texts: Iterable[tuple[str, str]]) -> None:
    """Insert results, each a key and its row's text; the first one kept under a key stays, unless it is of other code."""
    columns = "key, result, checksum, model_version, created, used, code"
    rows = [(name, text, checksum(name, text), version.MODEL, time.time(), version.CODE) for name, text in texts]
    store.executemany("DELETE FROM results WHERE key = ? AND code != ?", [(row[0], version.CODE) for row in rows])
    store.executemany(f"INSERT OR IGNORE INTO results ({columns}) VALUES (?, ?, ?, ?, ?5, ?5, ?6)", rows)


def checksum(name: str, text: str) -> str:
    """Return the digest that ties a result to its key."""
    return blake2b(f"{name}\n{text}".encode(), digest_size=16).hexdigest()


def load(store: sqlite3.Connection, name: str, scenario: Scenario | None = None, read: list[str] | None = None) -> Result | None:
    """Return the result kept under a key, or None, as for a row of other code; a damaged one goes, to be computed anew.

    The key goes into `read` if it is time to note the reading, which is what keeps a result from eviction.
    """
    found = store.execute("SELECT result, checksum, used FROM results WHERE key = ? AND code = ?", (name, version.CODE))
    row = found.fetchone()
    if row is None or not is_whole(store, "results", name, row[0], row[1]):
        return None
    if read is not None and (row[2] or 0.0) < time.time() - USE_SECONDS:
        read.append(name)
    return from_json(json.loads(row[0]), scenario)


def is_as_written(name: object, text: object, digest: object) -> bool:
    """Return whether a text is what was kept under a name."""
    return isinstance(text, str) and checksum(str(name), text) == digest


def is_whole(store: sqlite3.Connection, table: str, name: str, text: object, digest: str) -> bool:
    """Return whether a text is what was kept under a name; a result or training that is not goes, to be computed anew."""
    if is_as_written(name, text, digest):
        return True
    store.execute(f"DELETE FROM {table} WHERE {NAMED[table]} = ?", (name,))
    return False


def outcomes(path: Path, scenarios: Iterable[Scenario], how: How) -> Iterator[tuple[str, Result | None]]:
    """Yield key and result of each scenario in order: a failed point as a result that did not run, a missing one as None."""
    read: list[str] = []
    with opened(path) as store:
        for scenario in scenarios:
            name = key(scenario, how)
            found = load(store, name, scenario, read)
            if not found and (row := store.execute("SELECT sentence FROM failures WHERE key = ?", (name,)).fetchone()):
                found = Result(scenario, ran=False, outcome=row[0], results={})
            yield name, found
        if read:
            touch(store, read)


def _number(value: Any) -> Any:
    """Unwrap a numpy scalar; anything else is no part of a result."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be kept in a result")


_line = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_number).encode
