"""The fields of a data file as the tables of a model.

The module compares the shapes of file and model, selects tables with numbered ids, and counts the rows that ids use.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import figures
from ...core.arithmetic import total
from ...core.arrays import Ints, Words
from ...core.hashing import GOLDEN, mix
from ...core.jit import entry_kernel
from ...errors import UnlikeModel
from ...scenario.data import BY_TABLE
from ...scenario.groups import Model
from ...scenario.knobs import write
from ...scenario.scenario import KNOBS, Scenario, is_sequential, per_table
from ...version import PROGRAM
from .recording import Recording

MOST_SETTINGS = 600  # characters of knobs in a sentence; `workload fit --toml` writes any number
MOST_COUNTED = 1 << 26  # rows of a table that are counted one by one
HASHED = "hashed"  # choice of data.id_numbering


@dataclass(frozen=True, slots=True)
class SampleShape:
    """The shape of the samples in a data file.

    name: the name of the file.
    dense: the number of dense features.
    pooling: the lookups of a sample in each field; the rounded mean if they differ between samples.
    length_cv: the coefficient of variation of each field's bag lengths.
    distinct: the number of distinct ids of each field; None if it is not known.
    """

    name: str
    dense: int
    pooling: tuple[int, ...]
    length_cv: tuple[float, ...]
    distinct: tuple[int | None, ...]


def sample_shape(file: Recording) -> SampleShape:
    """Return the shape of the samples in a data file."""
    return SampleShape(file.name, file.dense.shape[1], file.pooling, file.length_cv, file.distinct)


def knob_changes(scenario: Scenario, file: SampleShape) -> Mapping[str, Any]:
    """Return the knobs to change so that the model fits the file.

    The result is {knob path: value}.
    """
    model, fields = scenario.model, len(file.pooling)
    changes: dict[str, Any] = {}
    if model.bottom_mlp[0] != file.dense:
        changes["model.bottom_mlp"] = (file.dense, *model.bottom_mlp[1:])
    copies = model.field_copies
    if is_sequential(model) and not _has_histories(model, file):
        changes |= {"model.feature_kind": "bag", "model.interaction": "concat"}
    if model.num_tables != fields * copies:
        copies, changes["model.num_tables"] = 1, fields
        changes |= {"model.field_copies": 1} if model.field_copies > 1 else {}
        if all(file.distinct):
            changes["model.num_embeddings"] = tuple(count or 1 for count in file.distinct)
        elif len(model.num_embeddings) > 1:
            changes["model.num_embeddings"] = (max(model.num_embeddings),)
        changes |= {"data.popularity": "zipf"} | {
            f"data.{name}": () for name in (*BY_TABLE, "hot_rank_factor") if len(getattr(scenario.data, name)) > 1
        }
    if _values_by_table(model.pooling, fields * copies) != file.pooling * copies:
        changes["model.pooling"] = (1,) if set(file.pooling) == {1} else file.pooling * copies
    spreads = file.length_cv * copies
    if [cv > 0 for cv in _values_by_table(scenario.data.bag_length_cv or (0.0,), len(spreads))] != [cv > 0 for cv in spreads]:
        changes["data.bag_length_cv"] = spreads if any(spreads) else ()
    return changes


def _has_histories(model: Model, file: SampleShape) -> bool:
    """Return whether a file has lists in each field that a model reads as a history; a log has one event a sample."""
    kinds = per_table(model, "feature_kind")
    return len(kinds) == len(file.pooling) and all(
        lookups > 1 for kind, lookups in zip(kinds, file.pooling, strict=True) if kind == "sequence"
    )


def _values_by_table(values: tuple[Any, ...], tables: int) -> tuple[Any, ...]:
    return values * tables if len(values) == 1 else values


def check_fits(scenario: Scenario, file: SampleShape) -> None:
    """Raise UnlikeModel if a model's shape differs from that of a file's samples.

    The exception has all knobs to change.
    """
    changes = knob_changes(scenario, file)
    if not changes:
        return
    model, fields = scenario.model, len(file.pooling)
    lookups = (
        "one id each" if set(file.pooling) == {1} and not any(file.length_cv) else f"bags of {_shortened_list(file.pooling)} ids"
    )
    file_text = (
        f"{file.name} has {figures.count(file.dense, 'dense feature')} and "
        f"{figures.count(fields, 'categorical field')} with {lookups}"
    )
    if any(file.length_cv):
        file_text += ", of uneven length"
    model_text = (
        f"the model has {figures.count(model.bottom_mlp[0], 'dense feature')}, {figures.count(model.num_tables, 'table')}"
        + (f" ({figures.count(model.field_copies, 'copy')} of each field)" if model.field_copies > 1 else "")
    )
    remedy = f"`{PROGRAM} workload fit {file.name} --toml FILE` writes such a scenario"
    if len(line := settings_text(changes)) <= MOST_SETTINGS:
        remedy = f"set {line}; or {remedy}"
    fact = (
        f"{', '.join(changes)} must suit the data file: {file_text}, but {model_text}, pooling {_shortened_list(model.pooling)}"
    )
    raise UnlikeModel(fact, remedy, changes)


def _shortened_list(values: Sequence[Any], max_values: int = 8) -> str:
    return ";".join(map(str, values[:max_values])) + (";..." if len(values) > max_values else "")


def settings_text(changes: Mapping[str, Any]) -> str:
    """Return knobs and values as arguments of the command line, quoted for a shell."""
    words = ((path, write(KNOBS[path], knob_value)) for path, knob_value in changes.items())
    return " ".join(f"--set {path}={text}" if ";" not in text and text else f"--set '{path}={text}'" for path, text in words)


def numbered_tables(scenario: Scenario, file: Recording) -> tuple[bool, ...]:
    """Return for each table whether its rows are the ids in the order first seen.

    In all other tables, ids are hashed, or are row numbers themselves.
    """
    rows, distinct = per_table(scenario.model, "num_embeddings"), file.distinct
    may_number = scenario.data.id_numbering != HASHED and file.where_they_fit
    return tuple(
        may_number and table < file.tables and distinct[table] is not None and (distinct[table] or 0) <= count
        for table, count in enumerate(rows)
    )


@dataclass(frozen=True, slots=True)
class RowUse:
    """The use of one table's rows by the ids of a field.

    rows: the number of rows of the table.
    distinct_ids: the number of distinct ids of the field, or None if not counted.
    numbered: True if the rows are the ids in the order first seen.
    used_rows: the number of rows that ids use, or None if not counted.
    """

    rows: int
    distinct_ids: int | None
    numbered: bool
    used_rows: int | None


def row_use(scenario: Scenario, file: Recording) -> tuple[RowUse, ...]:
    """Return the use of each table's rows by the ids of a data file.

    `used_rows` is None for ids that are row numbers, or too many to count.
    """
    uses = []
    for table, (rows, number) in enumerate(
        zip(per_table(scenario.model, "num_embeddings"), numbered_tables(scenario, file), strict=True)
    ):
        field = table % file.tables
        index = file.indexes[field] if file.indexes else None
        used_rows = None
        if index is not None:
            rule = number or not file.hashed  # as the file's own numbers, modulo the rows
            used_rows = min(index.count, rows) if rule else _hashed_row_count(index.tokens(), table, rows)
        uses.append(RowUse(rows, index.count if index else None, number, used_rows))
    return tuple(uses)


def numbering_note(scenario: Scenario, file: Recording) -> str:
    """Return a sentence on how a file's ids become rows, and on empty rows.

    Return "" if the ids are not counted.
    """
    if not file.indexes:
        return ""
    uses = row_use(scenario, file)
    ordered = [use for use in uses if use.numbered or not file.hashed]
    hashed = [use for use in uses if file.hashed and not use.numbered]
    counted_uses = [use for use in uses if use.used_rows is not None]
    words = [f"Ids are numbered as rows in the order first seen in {_tables(len(ordered), len(uses))}"] if ordered else []
    words += [f"{'they are' if ordered else 'Ids are'} hashed into rows in {_tables(len(hashed), len(uses))}"] if hashed else []
    merged = total((use.distinct_ids or 0) - (use.used_rows or 0) for use in counted_uses)
    ids = total(use.distinct_ids or 0 for use in counted_uses)
    words += [f"{figures.count(merged)} of {figures.count(ids, 'id')} share another id's row"] if merged else []
    if len(counted_uses) < len(uses):
        words.append(f"{_tables(len(uses) - len(counted_uses), len(uses))} have more ids than are counted")
    empty, rows = total(use.rows - (use.used_rows or 0) for use in counted_uses), total(use.rows for use in counted_uses)
    return "; ".join(words) + (f"; {figures.count(empty)} of {figures.count(rows, 'row')} stay empty." if counted_uses else ".")


def _tables(part: int, total: int) -> str:
    return ("all" if part == total > 1 else f"{part} of {total}") + " tables"


def _hashed_row_count(tokens: Words, table: int, rows: int) -> int:
    """Return the number of a table's rows that the tokens are hashed into."""
    places = np.empty(len(tokens), np.int64)
    _hashed_rows(tokens, np.uint64(table), np.uint64(rows), places)
    return int(np.count_nonzero(np.bincount(places)) if rows <= MOST_COUNTED else len(np.unique(places)))


@entry_kernel
def _hashed_rows(tokens: Words, table: np.uint64, rows: np.uint64, places: Ints) -> None:
    for i in range(len(tokens)):
        places[i] = np.int64(mix(tokens[i] + (table + np.uint64(1)) * GOLDEN) % rows)
