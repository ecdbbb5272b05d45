"""How the fields of a data file fill a model's tables: the shape a model needs, which ids are numbered, how rows are used."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import figures
from ...core.arrays import Ints, Words
from ...core.hashing import GOLDEN, mix
from ...core.jit import entry
from ...errors import UnlikeModel
from ...scenario.data import BY_TABLE
from ...scenario.knobs import write
from ...scenario.scenario import KNOBS, Scenario, per_table
from ...version import PROGRAM
from .recording import Recording

MOST_SETTINGS = 600  # characters of knobs in a sentence; `workload fit --toml` writes any number
MOST_COUNTED = 1 << 26  # rows of a table that are counted one by one
HASHED = "hashed"  # choice of data.id_numbering


@dataclass(frozen=True, slots=True)
class SampleShape:
    """A file's samples: numbers of each, lookups by field, the spread of their lengths, and distinct ids where they are known."""

    name: str
    dense: int
    pooling: tuple[int, ...]
    length_cv: tuple[float, ...]
    distinct: tuple[int | None, ...]


def shape(file: Recording) -> SampleShape:
    """Return the shape of a file's samples."""
    return SampleShape(file.name, file.dense.shape[1], file.pooling, file.length_cv, file.distinct)


def differences(scenario: Scenario, file: SampleShape) -> Mapping[str, Any]:
    """Return the knobs, and their values, that a scenario must change to train on a file; none where it can."""
    model, fields = scenario.model, len(file.pooling)
    changes: dict[str, Any] = {}
    if model.bottom_mlp[0] != file.dense:
        changes["model.bottom_mlp"] = (file.dense, *model.bottom_mlp[1:])
    copies = model.field_copies
    if model.num_tables != fields * copies:
        copies, changes["model.num_tables"] = 1, fields
        changes |= {"model.field_copies": 1} if model.field_copies > 1 else {}
        if all(file.distinct):
            changes["model.num_embeddings"] = tuple(count or 1 for count in file.distinct)
        elif len(model.num_embeddings) > 1:
            changes["model.num_embeddings"] = (max(model.num_embeddings),)
        changes |= {"data.popularity": "zipf"} | {
            f"data.{name}": () for name in BY_TABLE if len(getattr(scenario.data, name)) > 1
        }
    if _alike(model.pooling, fields * copies) != file.pooling * copies:
        changes["model.pooling"] = (1,) if set(file.pooling) == {1} else file.pooling * copies
    spreads = file.length_cv * copies
    if [one > 0 for one in _alike(scenario.data.bag_length_cv or (0.0,), len(spreads))] != [one > 0 for one in spreads]:
        changes["data.bag_length_cv"] = spreads if any(spreads) else ()
    return changes


def _alike(values: tuple[Any, ...], tables: int) -> tuple[Any, ...]:
    return values * tables if len(values) == 1 else values


def check_fits(scenario: Scenario, file: SampleShape) -> None:
    """Raise UnlikeModel where a model has another shape than a file's samples, with all knobs that differ."""
    changes = differences(scenario, file)
    if not changes:
        return
    model, fields = scenario.model, len(file.pooling)
    lookups = "one id each" if set(file.pooling) == {1} and not any(file.length_cv) else f"bags of {_listed(file.pooling)} ids"
    has = f"{file.name} has {file.dense} dense features and {fields} categorical fields with {lookups}"
    if any(file.length_cv):
        has += ", of uneven length"
    wants = f"the model has {model.bottom_mlp[0]} dense features, {model.num_tables} tables" + (
        f" ({model.field_copies} copies of each field)" if model.field_copies > 1 else ""
    )
    way = f"`{PROGRAM} workload fit {file.name} --toml FILE` writes a scenario that does"
    if len(line := settings(changes)) <= MOST_SETTINGS:
        way = f"set {line}; or {way}"
    fact = f"{', '.join(changes)} must suit the data file: {has}, but {wants}, pooling {_listed(model.pooling)}"
    raise UnlikeModel(fact, way, changes)


def _listed(values: Sequence[Any], most: int = 8) -> str:
    return ";".join(map(str, values[:most])) + (";..." if len(values) > most else "")


def settings(changes: Mapping[str, Any]) -> str:
    """Return knobs and their values as arguments of the command line, ready for a shell."""
    words = ((path, write(KNOBS[path], value)) for path, value in changes.items())
    return " ".join(f"--set {path}={text}" if ";" not in text and text else f"--set '{path}={text}'" for path, text in words)


def numbered(scenario: Scenario, file: Recording) -> tuple[bool, ...]:
    """Return for each table whether its ids are rows in the order first seen; those of all others are hashed, or row numbers."""
    rows, distinct = per_table(scenario.model, "num_embeddings"), file.distinct
    chosen = scenario.data.id_numbering != HASHED and file.where_they_fit
    return tuple(
        chosen and table < file.tables and distinct[table] is not None and (distinct[table] or 0) <= count
        for table, count in enumerate(rows)
    )


@dataclass(frozen=True, slots=True)
class RowUse:
    """How the ids of one table's field become rows: `rows` it has, `distinct` ids or None, and the rows that are `used`."""

    rows: int
    distinct: int | None
    numbered: bool
    used: int | None


def row_use(scenario: Scenario, file: Recording) -> tuple[RowUse, ...]:
    """Return how each table's rows are used; nothing is known of files whose ids are row numbers, or too many to be counted."""
    found = []
    for table, (rows, number) in enumerate(
        zip(per_table(scenario.model, "num_embeddings"), numbered(scenario, file), strict=True)
    ):
        field = table % file.tables
        index = file.indexes[field] if file.indexes else None
        used = None
        if index is not None:
            rule = number or not file.hashed  # as the file's own numbers, modulo the rows
            used = min(index.count, rows) if rule else _used(index.tokens(), table, rows)
        found.append(RowUse(rows, index.count if index else None, number, used))
    return tuple(found)


def numbering_note(scenario: Scenario, file: Recording) -> str:
    """Return the sentence that says how a file's ids become rows, and how many rows stay empty; "" where nobody counted."""
    if not file.indexes:
        return ""
    every = row_use(scenario, file)
    ordered = [one for one in every if one.numbered or not file.hashed]
    hashed = [one for one in every if file.hashed and not one.numbered]
    counted = [one for one in every if one.used is not None]
    words = [f"Ids are rows in the order first seen in {_tables(len(ordered), len(every))}"] if ordered else []
    words += [f"{'they are' if ordered else 'Ids are'} hashed into rows in {_tables(len(hashed), len(every))}"] if hashed else []
    merged = sum(max((one.distinct or 0) - (one.used or 0), 0) for one in counted)
    words += (
        [f"{figures.count(merged)} of {figures.count(sum(one.distinct or 0 for one in counted), 'id')} share another id's row"]
        if merged
        else []
    )
    if len(counted) < len(every):
        words.append(f"{_tables(len(every) - len(counted), len(every))} have more ids than are counted")
    empty, rows = sum(one.rows - (one.used or 0) for one in counted), sum(one.rows for one in counted)
    return "; ".join(words) + (f"; {figures.count(empty)} of {figures.count(rows, 'row')} stay empty." if counted else ".")


def _tables(some: int, whole: int) -> str:
    return ("all" if some == whole > 1 else f"{some} of {whole}") + " tables"


def _used(tokens: Words, table: int, rows: int) -> int:
    """Return how many rows of a table the tokens are hashed into."""
    places = np.empty(len(tokens), np.int64)
    _hashed_rows(tokens, np.uint64(table), np.uint64(rows), places)
    return int(np.count_nonzero(np.bincount(places)) if rows <= MOST_COUNTED else len(np.unique(places)))


@entry
def _hashed_rows(tokens: Words, table: np.uint64, rows: np.uint64, places: Ints) -> None:
    for i in range(len(tokens)):
        places[i] = np.int64(mix(tokens[i] + (table + np.uint64(1)) * GOLDEN) % rows)
