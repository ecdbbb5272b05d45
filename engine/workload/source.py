"""A source of batches: the generator or a recorded file, behind one value."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from ..core.arrays import Ints
from ..core.hashing import GOLDEN, mix
from ..core.jit import entry, inner
from ..errors import BadInput
from ..scenario.scenario import Scenario, per_table
from . import generator
from .bags import length_cv
from .batch import Batch, offsets
from .generator import HELD_OUT, Recipe, clicks, logits, prepare, recipe, teacher
from .locality import UseStream
from .readers.mapped import touched
from .readers.recording import Recording


@dataclass(frozen=True, slots=True)
class Source:
    """Batches by number: `batch(n)` whole, `ids(n)` its ids alone, `starts(n)` as a Batch has them, `held_out()` to evaluate.

    `training_samples` is the length of a pass, None for the generator, which never ends; `digest` is the file's. Where
    batches differ in their lookups, `room` (T,) are the most of each table.
    """

    batch: Callable[[int], Batch]
    ids: Callable[[int], Ints]
    held_out: Callable[[], Batch]
    training_samples: int | None
    digest: str
    starts: Callable[[int], Ints | None] = lambda n: None
    room: Ints | None = None


def source(scenario: Scenario, file: Recording | None = None) -> Source:
    """Return the batches of a scenario; raises BadInput where the file is missing, another one, or does not fit the model."""
    wanted = scenario.data.digest
    if wanted and (file is None or file.digest != wanted):
        given = f"{file.name} is another file (SHA-256 {file.digest[:12]}...)" if file else "no file is given"
        raise BadInput(f"data.digest={wanted[:12]}... names a data file, but {given}; give the file with that SHA-256.")
    return _generated(scenario) if file is None else _recorded(scenario, file)


def num_batches(scenario: Scenario, file: Recording | None = None) -> int:
    """Return how many batches a run trains: whole passes over a file where `run.passes` says so, else `run.batches`."""
    if file is None or scenario.run.passes is None:
        return scenario.run.batches
    return ceil(scenario.run.passes * file.training_samples / scenario.data.batch_size)


def repeats(scenario: Scenario, origin: Source) -> str:
    """Return the sentence that a batch larger than its file holds samples several times; "" where it does not."""
    size, samples = scenario.data.batch_size, origin.training_samples or scenario.data.batch_size
    short = f"Each batch of {size:,} samples repeats the file's {samples:,}; lower data.batch_size to see its own rows."
    return short if size > samples else ""


def _generated(scenario: Scenario) -> Source:
    made_of, data = recipe(scenario), scenario.data
    if data.locality > 0:
        ids = UseStream(made_of, data.batch_size, data.locality).ids
    else:
        ids = partial(_independent, made_of, data.batch_size)
    batch = partial(_labelled, made_of, ids, data.batch_size)
    held_out = partial(_labelled, made_of, partial(_independent, made_of, data.held_out_samples), data.held_out_samples, HELD_OUT)
    return Source(batch, ids, held_out, None, "", partial(_bag_starts, made_of, data.batch_size))


def _independent(made_of: Recipe, samples: int, n: int) -> Ints:
    return generator.ids(prepare(made_of), n, samples)


def _bag_starts(made_of: Recipe, samples: int, n: int) -> Ints | None:
    return generator.bag_starts(prepare(made_of), n, samples)


def _labelled(made_of: Recipe, ids_of: Callable[[int], Ints], samples: int, n: int) -> Batch:
    prepared, hidden = prepare(made_of), teacher(made_of)
    ids, dense, starts = ids_of(n), generator.dense(prepared, n, samples), generator.bag_starts(prepared, n, samples)
    scores = logits(hidden, dense, ids, prepared.bags, starts)
    return Batch(dense, ids, clicks(scores, generator.chances(prepared, n, samples)), starts)


def _recorded(scenario: Scenario, file: Recording) -> Source:
    check_fits(scenario, file.name, file.dense.shape[1], file.pooling, file.length_cv)
    first = offsets(scenario.model)
    training, size = file.training_samples, scenario.data.batch_size
    ids = partial(_file_ids, file, first, training, size)
    held_out = partial(_file_batch, file, first, len(file.labels), file.held_out_samples, start=training)
    whole, copies = partial(_file_batch, file, first, training, size), scenario.model.num_tables // file.tables
    starts, room = partial(_file_starts, file, copies, training, size), _room(file, copies, training, size)
    return Source(whole, ids, held_out, training, file.digest, starts, room)


def check_fits(scenario: Scenario, name: str, dense: int, pooling: tuple[int, ...], cv: tuple[float, ...]) -> None:
    """Raise BadInput where a model has another shape than samples of so many numbers, and of lookups by field.

    Where a field's bags are uneven, by the spread `cv` of their lengths, so are they to be in the estimate.
    """
    model, fields = scenario.model, len(pooling)
    if model.bottom_mlp[0] != dense:
        raise BadInput(
            f"model.bottom_mlp starts with {model.bottom_mlp[0]}, but {name} has {dense} dense features; start with {dense}."
        )
    if model.num_tables % fields:
        raise BadInput(
            f"model.num_tables={model.num_tables} does not suit {name}, which has {fields} categorical fields; "
            f"choose {fields} or a multiple of it."
        )
    every = pooling * (model.num_tables // fields)
    if per_table(model, "pooling") != every:
        wanted = ";".join(map(str, (1,) if set(pooling) == {1} else every))
        has = "one id per field" if wanted == "1" else "bags of other sizes"
        raise BadInput(f"model.pooling={max(model.pooling)} does not suit {name}, which has {has}; set it to {wanted}.")
    spreads = cv * (model.num_tables // fields)
    if [one > 0 for one in length_cv(scenario)] != [one > 0 for one in spreads]:
        has, wanted = ("uneven bags", ";".join(map(repr, spreads))) if any(cv) else ("bags of one length", "nothing")
        raise BadInput(f"data.bag_length_cv does not suit {name}, which has {has}; set it to {wanted}.")


def _room(file: Recording, copies: int, limit: int, samples: int) -> Ints | None:
    """Return the most lookups that samples in a row, of a pass of `limit`, have in each table; None where all have as many."""
    if file.lengths is None:
        return None
    whole, rest = divmod(samples, limit)
    most = []
    for field in range(file.tables):
        lengths = file.lengths[:limit, field].astype(np.int64)
        ends = np.cumsum(np.concatenate(([0], lengths, lengths[:rest])))
        most.append(whole * int(lengths.sum()) + int((ends[rest:] - ends[: len(ends) - rest]).max()))
    return np.tile(np.array(most, dtype=np.int64), copies)


def _rows(limit: int, samples: int, n: int, start: int = 0) -> Ints:
    """Return the samples of batch n, wrapping over the end of a pass of `limit` samples."""
    return (start + n * samples + np.arange(samples)) % limit


def _file_ids(file: Recording, first: Ints, limit: int, samples: int, n: int) -> Ints:
    return _ids(file, first, _rows(limit, samples, n))


def _file_batch(file: Recording, first: Ints, limit: int, samples: int, n: int = 0, start: int = 0) -> Batch:
    rows = _rows(limit, samples, n, start)
    dense, labels = np.ascontiguousarray(file.dense[rows]), np.ascontiguousarray(file.labels[rows])
    return Batch(dense, _ids(file, first, rows), labels, _starts(file, (len(first) - 1) // file.tables, rows))


def _file_starts(file: Recording, copies: int, limit: int, samples: int, n: int) -> Ints | None:
    return _starts(file, copies, _rows(limit, samples, n))


def _starts(file: Recording, copies: int, rows: Ints) -> Ints | None:
    """Return where the bags of some samples begin in their ids, as a Batch has it."""
    if file.lengths is None:
        return None
    lengths = np.tile(file.lengths[rows].T.reshape(-1).astype(np.int64), copies)
    return np.concatenate(([0], np.cumsum(lengths)))


def _ids(file: Recording, first: Ints, rows: Ints) -> Ints:
    if file.lengths is not None:
        return _ids_of_lists(file, first, rows)
    tokens, at = file.some(rows)
    return ids_of(tokens, at, first, file.starts, file.hashed)


def ids_of(tokens: Any, samples: Ints, first: Ints, starts: Ints, hashed: bool = True) -> Ints:
    """Return the global ids of some samples, whose field f has tokens `starts[f]` to `starts[f + 1]`.

    A row is SplitMix64 of a token and its table's number, modulo the table's rows; or the token itself is, but in copies of
    a field's table.
    """
    tables, fields = len(first) - 1, len(starts) - 1
    ids = np.empty(tables // fields * int(starts[-1]) * len(samples), dtype=np.int64)
    _fill(tokens, samples, first, starts, hashed, ids)
    return ids


def _ids_of_lists(file: Recording, first: Ints, samples: Ints) -> Ints:
    """Return the global ids of some samples of a file with lists of tokens."""
    lengths = file.lengths[samples].astype(np.int64)
    touched(8 * int(lengths.sum()))
    begins = file.begins[samples][:, None] + np.cumsum(lengths, axis=1) - lengths
    ids = np.empty((len(first) - 1) // file.tables * int(lengths.sum()), dtype=np.int64)
    _fill_lists(file.tokens, begins, lengths, first, file.hashed, ids)
    return ids


@inner
def _row(token: Any, table: Any, rows: Any, mixed: bool) -> Any:
    """Return the row of a token: by a hash, or as the token says."""
    return np.int64(mix(token + np.uint64(table + 1) * GOLDEN) % rows) if mixed else np.int64(token) % np.int64(rows)


@entry
def _fill_lists(tokens: Any, begins: Ints, lengths: Ints, first: Ints, hashed: bool, ids: Ints) -> None:
    samples, fields = begins.shape
    at = 0
    for table in range(len(first) - 1):
        rows = np.uint64(first[table + 1] - first[table])
        field = table % fields
        for sample in range(samples):
            begin = begins[sample, field]
            for place in range(begin, begin + lengths[sample, field]):
                ids[at] = first[table] + _row(tokens[place], table, rows, hashed or table >= fields)
                at += 1


@entry
def _fill(tokens: Any, samples: Ints, first: Ints, starts: Ints, hashed: bool, ids: Ints) -> None:
    fields, at = len(starts) - 1, 0
    for table in range(len(first) - 1):
        rows = np.uint64(first[table + 1] - first[table])
        field, mixed = table % fields, hashed or table >= fields
        for sample in samples:
            for j in range(starts[field], starts[field + 1]):
                ids[at] = first[table] + _row(tokens[sample, j], table, rows, mixed)
                at += 1
