"""The table of results: compact JSON by the scenario's key, with a checksum.

Knobs with their default values are left out of the JSON.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from .. import version
from ..core.part_files.known import MAX_KNOWN_PARTS
from ..core.part_files.use import accept_parts
from ..results.csv_table import CELL_SEPARATOR, Section, SectionCells, cell_text, constants_in_use
from ..results.result import Result, from_json
from ..scenario import knobs
from ..scenario.keys import Fidelity, KnobTexts, changed_knobs, group_texts, key
from ..scenario.scenario import GROUPS, KNOBS, Scenario, named_model, with_values
from ..sweep import link_parts
from .database import checksum, open_store
from .quota import USE_SECONDS, note_use

PARTS = "part"  # no knob is called so
MODEL = "model.name"  # sets other knobs
ADDRESS = "scenario key", "model version", "arithmetic"
NO_CELLS: SectionCells = (), ""
SCENARIO, OUTCOME, RESULTS, ARITHMETIC = '{"scenario":', '"outcome":', '"results":', '"arithmetic":'  # in a row's text
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


class TableReader:
    """A reader of stored rows as rows of the CSV table.

    It makes no Result. A row takes over all knobs that it shares with the row before it. A number's text in JSON is its cell.
    """

    def __init__(self) -> None:
        self._settings: Mapping[str, Any] | None = None
        self._scenario = Scenario()
        self._cells: list[list[str]] = []  # of knobs, by group
        self._knobs: list[SectionCells] = []
        self._constants: Section = {}
        self._names: tuple[Sequence[str], tuple[str, ...]] = (), ()

    def row(self, name: str, text: str) -> tuple[Section, ...]:
        """Return the row of a result with key `name`.

        Raises BadInput for knobs that are not allowed.
        """
        if f"&{link_parts.PARAMETER}=" in text:
            from_json(json.loads(text))  # makes the user's own parts known
        settings, end = _parse(text, len(SCENARIO))
        self._read_knobs(settings)
        outcome, _ = _parse(text, text.index(OUTCOME, end) + len(OUTCOME))
        kernels, _ = _parse(text, text.rindex(ARITHMETIC) + len(ARITHMETIC))
        address = CELL_SEPARATOR.join((name, version.MODEL, cell_text(kernels)))
        ending = NO_CELLS, (ADDRESS, address), self._constants, (("outcome",), cell_text(outcome))
        return *self._knobs, self._results(results_json(text)), *ending

    def _read_knobs(self, settings: Mapping[str, Any]) -> None:
        """Set the cells of knobs and constants to those of a row's JSON object of knobs."""
        before, known = self._scenario, self._settings
        if known is None or settings.get(MODEL) != known.get(MODEL):
            self._scenario = with_values(Scenario(), settings)
            self._cells = [[*map(cell_text, group.texts.values())] for group in group_texts(self._scenario)]
            self._knobs = [(names, CELL_SEPARATOR.join(cells)) for names, cells in zip(_knob_names(), self._cells, strict=True)]
        else:
            usual = named_model(settings[MODEL]) if MODEL in settings else {}
            changes = {path: usual.get(path, KNOBS[path].default) for path in known.keys() - settings.keys()}
            # 0.0 equals -0.0, whose text differs
            changes |= {path: v for path, v in settings.items() if not v or known.get(path, NO_CELLS) != v}
            self._scenario = with_values(before, changes)
            for path in changes:
                group, place, value_of = _place(path)
                self._cells[group][place] = cell_text(knobs.write(KNOBS[path], value_of(self._scenario)))
            for group in {_place(path)[0] for path in changes}:
                self._knobs[group] = self._knobs[group][0], CELL_SEPARATOR.join(self._cells[group])
        if known is None or self._scenario.machine is not before.machine or self._scenario.system != before.system:
            constants = constants_in_use(self._scenario)
            self._constants = self._constants if constants == self._constants else constants
        self._settings = settings

    def _results(self, results: str) -> SectionCells:
        """Return the names and cells of a JSON object of numbers."""
        pieces = results.split('"')
        written = pieces[1::2]
        if written != self._names[0]:
            self._names = written, tuple(json.loads(results))
        cells = "".join(pieces[2::2]).removesuffix("}").replace(":", "").replace("null", "")
        return self._names[1], cells.replace(",", CELL_SEPARATOR)


@cache
def _knob_names() -> tuple[tuple[str, ...], ...]:
    """Return the paths of the knobs of each group, first of those outside groups."""
    return tuple(tuple(path for path in KNOBS if path.rpartition(".")[0] == group) for group in ("", *GROUPS))


@cache
def _place(path: str) -> tuple[int, int, Callable[[Scenario], Any]]:
    """Return the number of a knob's group, its place in the group, and the function that reads it."""
    number = ("", *GROUPS).index(path.rpartition(".")[0])
    return number, _knob_names()[number].index(path), attrgetter(path)


def results_json(text: str) -> str:
    """Return the JSON object of results in a row.

    It has no object inside, and its quotes are escaped.
    """
    start = text.index(RESULTS) + len(RESULTS)
    return text[start : text.index("}", start) + 1]


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
    store: sqlite3.Connection,
    name: str,
    scenario: Scenario | None = None,
    read_keys: list[str] | None = None,
    snapshot: sqlite3.Connection | None = None,
) -> Result | None:
    """Return the result of this code with key `name`, or None.

    A damaged row is deleted, so that the result is computed again.
    The key is appended to `read_keys` if the caller should write the time of use, which protects the result from deletion.
    The row is read from the `snapshot`, if any.
    """
    query = "SELECT result, checksum, used FROM results WHERE key = ? AND code = ?"
    row = (snapshot or store).execute(query, (name, version.CODE)).fetchone()
    if row is None or not is_whole(store, "results", name, row[0], row[1]):
        return None
    if read_keys is not None and (row[2] or 0.0) < time.time() - USE_SECONDS:
        read_keys.append(name)
    return from_json(json.loads(row[0]), scenario)


def result_of(text: str) -> Result:
    """Return the result that a store's row has as text."""
    return from_json(json.loads(complete_text(text)))


def is_as_written(name: object, text: object, digest: object) -> bool:
    """Return whether a text and its key have the stored checksum."""
    return isinstance(text, str) and checksum(name, text) == digest


def is_whole(store: sqlite3.Connection, table: str, name: str, text: object, digest: str) -> bool:
    """Return whether a row's text has the stored checksum; delete a damaged row."""
    if is_as_written(name, text, digest):
        return True
    store.execute(f"DELETE FROM {table} WHERE {KEY_COLUMNS[table]} = ?", (name,))
    return False


@contextmanager
def snapshot_of(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the rows of a store as they are now, for reading only.

    What others replace or delete meanwhile stays as it was.
    """
    with open_store(path) as store:
        store.execute("BEGIN")
        store.execute("SELECT 1 FROM results LIMIT 1").fetchone()  # the first reading takes the snapshot
        yield store


def stored_results(
    path: Path, scenarios: Iterable[Scenario], method: Fidelity, snapshot: sqlite3.Connection | None = None
) -> Iterator[tuple[str, Result | None]]:
    """Yield (key, result or None) for each scenario, in order.

    None means that the store, or its snapshot, has no result. A failed point has a result that says that it did not run.
    """
    read_keys: list[str] = []
    with open_store(path) as store:
        for scenario in scenarios:
            name = key(scenario, method)
            result = load_result(store, name, scenario, read_keys, snapshot)
            failure = "SELECT sentence FROM failures WHERE key = ?"
            if not result and (row := (snapshot or store).execute(failure, (name,)).fetchone()):
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
_parse = json.JSONDecoder().raw_decode
