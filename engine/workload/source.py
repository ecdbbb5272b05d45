"""A source of batches: the generator or a recorded file, behind one interface."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from ..core.arithmetic import total
from ..core.arrays import Ints
from ..core.figures import count, figure, percent
from ..core.hashing import GOLDEN, mix
from ..core.jit import entry_kernel, inner_kernel
from ..core.memo import memoised
from ..errors import BadInput
from ..scenario.scenario import Scenario, per_table
from . import generator
from .batch import Batch, offsets
from .generator import HELD_OUT, HiddenModel, Prepared, clicks, hidden_model, logits, prepare
from .locality import LocalityStream
from .readers.file_tables import check_fits, numbered_tables, sample_shape
from .readers.numbering import fill_numbered_rows
from .readers.recording import Recording
from .sampling import Recipe, recipe

COARSE_PASSES = 10  # from here on passes are counted in whole ones
MAX_KEPT_LOOKUPS = 16_000_000  # lookups whose ids are kept for the next pass over a run: 64 MiB of 4 bytes each


@dataclass(frozen=True, eq=False)
class KeptIds:
    """A cache of batches' ids, so that several passes over a run draw them once.

    lookups: the number of lookups of the whole run.
    by_batch: the ids by the number of the batch, in 4 bytes each if they fit.
    """

    lookups: int
    by_batch: dict[int, Any] = dataclass_field(default_factory=dict)

    def ids(self, n: int, draw: Callable[[int], Ints]) -> Ints:
        """Return the ids of batch n; call `draw(n)` if the cache does not have them."""
        kept = self.by_batch.get(n)
        if kept is None:
            ids = draw(n)
            fits = ids.size == 0 or int(ids.max()) < 2**32
            self.by_batch[n] = ids.astype(np.uint32) if fits else ids
            return ids
        return np.asarray(kept.astype(np.int64))


@dataclass(frozen=True, eq=False)
class Generated:
    """The source of generated batches.

    recipe: the parameters of the samples.
    batch_size: the samples of a batch.
    held_out_samples: the number of samples that are never trained on.
    stream: the stream of ids with locality; None without locality.
    kept: a cache of ids that an earlier pass has drawn; None to draw them again.
    samples_per_user: the consecutive samples of a user in a batch.
    """

    recipe: Recipe
    batch_size: int
    held_out_samples: int
    stream: LocalityStream | None
    kept: KeptIds | None = None
    samples_per_user: float = 1.0
    training_samples = None  # the generator has no end
    digest = ""
    max_lookups = None

    def ids(self, n: int) -> Ints:
        """Return the global row numbers that batch n looks up."""
        return self.kept.ids(n, self._draw) if self.kept else self._draw(n)

    def _draw(self, n: int) -> Ints:
        return (
            self.stream.ids(n) if self.stream else generator.draw_ids(self._prepared, n, self.batch_size, self.samples_per_user)
        )

    @cached_property
    def _prepared(self) -> Prepared:
        return prepare(self.recipe)

    @cached_property
    def _hidden(self) -> HiddenModel:
        return hidden_model(self.recipe)

    def starts(self, n: int) -> Ints | None:
        """Return the positions in batch n's ids where bags begin; None for even bags."""
        return generator.bag_starts(self._prepared, n, self.batch_size, self.samples_per_user)

    def batch(self, n: int) -> Batch:
        """Return batch n: dense features, ids and labels."""
        return self._labelled(self.ids(n), n, self.batch_size, self.samples_per_user)

    def held_out(self) -> Batch:
        """Return the samples that are never trained on; no sample depends on another."""
        size = self.held_out_samples
        return self._labelled(generator.draw_ids(self._prepared, HELD_OUT, size), HELD_OUT, size)

    def _labelled(self, ids: Ints, n: int, samples: int, samples_per_user: float = 1.0) -> Batch:
        prepared, hidden = self._prepared, self._hidden
        dense = generator.draw_dense(prepared, n, samples)
        starts = generator.bag_starts(prepared, n, samples, samples_per_user)
        scores = logits(hidden, dense, ids, prepared.bags, starts)
        return Batch(dense, ids, clicks(scores, generator.click_draws(prepared, n, samples)), starts)


@dataclass(frozen=True, eq=False)
class Recorded:
    """The source of batches from a data file, whose last samples are held out.

    file: the samples of the file.
    first_rows: the global number of each table's first row, (T+1,); several tables may be copies of one field of the file.
    batch_size: the samples of a batch.
    kept: a cache of ids that an earlier pass has read; None to read them again.
    is_numbered: True for each table whose rows are the ids in the order first seen, (T,).
    """

    file: Recording
    first_rows: Ints
    batch_size: int
    kept: KeptIds | None = None
    is_numbered: tuple[bool, ...] = ()

    @property
    def training_samples(self) -> int:
        """The number of training samples, which one pass reads."""
        return self.file.training_samples

    @property
    def digest(self) -> str:
        """The SHA-256 digest of the file."""
        return self.file.digest

    @cached_property
    def max_lookups(self) -> Ints | None:
        """The largest lookups of a batch in each table, (T,).

        None if all batches have equally many lookups.
        """
        if self.file.lengths is None:
            return None
        whole_passes, rest = divmod(self.batch_size, self.training_samples)
        max_lookups = []
        for field in range(self.file.tables):
            lengths = self.file.lengths[: self.training_samples, field].astype(np.int64)
            ends = np.cumsum(np.concatenate(([0], lengths, lengths[:rest])))
            max_lookups.append(whole_passes * int(lengths.sum()) + int((ends[rest:] - ends[: len(ends) - rest]).max()))
        return np.tile(np.array(max_lookups, dtype=np.int64), self._copies)

    def ids(self, n: int) -> Ints:
        """Return the global row numbers that batch n looks up."""
        return self.kept.ids(n, self._read) if self.kept else self._read(n)

    def _read(self, n: int) -> Ints:
        return self._ids(self._rows(n))

    def starts(self, n: int) -> Ints | None:
        """Return the positions in batch n's ids where bags begin; None for even bags."""
        return self._starts(self._rows(n))

    def batch(self, n: int) -> Batch:
        """Return batch n: dense features, ids and labels."""
        rows = self._rows(n)
        return self._batch(rows, self.ids(n))

    def held_out(self) -> Batch:
        """Return the samples that are never trained on."""
        rows = np.arange(self.training_samples, self.file.samples)
        return self._batch(rows, self._ids(rows))

    @property
    def _copies(self) -> int:
        return (len(self.first_rows) - 1) // self.file.tables

    def _rows(self, n: int) -> Ints:
        """Return the samples of batch n, wrapping over the end of a pass."""
        return (n * self.batch_size + np.arange(self.batch_size)) % self.training_samples

    def _batch(self, rows: Ints, ids: Ints) -> Batch:
        dense, labels = np.ascontiguousarray(self.file.dense[rows]), np.ascontiguousarray(self.file.labels[rows])
        return Batch(dense, ids, labels, self._starts(rows))

    def _ids(self, rows: Ints) -> Ints:
        tokens, begins, lengths = self.file.tokens_of(rows)
        ids = global_ids(tokens, begins, lengths, self.first_rows, self.file.hashed)
        ends = np.cumsum(np.concatenate(([0], np.tile(lengths.sum(axis=0), self._copies))))
        for table, index in enumerate(self.file.indexes):
            if index is not None and self.is_numbered[table]:
                part = ids[ends[table] : ends[table + 1]]
                fill_numbered_rows(
                    tokens,
                    begins[:, table],
                    lengths[:, table],
                    index.known_tokens,
                    index.slots,
                    int(self.first_rows[table]),
                    part,
                )
        return ids

    def _starts(self, rows: Ints) -> Ints | None:
        if self.file.lengths is None:
            return None
        lengths = np.tile(self.file.lengths[rows].T.reshape(-1).astype(np.int64), self._copies)
        return np.concatenate(([0], np.cumsum(lengths)))


Source = Generated | Recorded


def source(scenario: Scenario, file: Recording | None = None) -> Source:
    """Return the source of a scenario's batches: the generator, or the data file.

    Raises BadInput if the file is missing, has another digest, or does not fit the model.
    """
    digest = scenario.data.digest
    if digest and (file is None or file.digest != digest):
        file_state = f"{file.name} is another file (SHA-256 {file.digest[:12]}...)" if file else "no file is given"
        raise BadInput(f"data.digest={digest[:12]}... names a data file, but {file_state}; give the file with that SHA-256.")
    data_knobs = scenario.data
    if file is not None:
        check_fits(scenario, sample_shape(file))
        return Recorded(file, offsets(scenario.model), data_knobs.batch_size, is_numbered=numbered_tables(scenario, file))
    data_recipe = recipe(scenario)
    batch_size, locality, samples_per_user = data_knobs.batch_size, data_knobs.locality, data_knobs.samples_per_user
    stream = LocalityStream(data_recipe, batch_size, locality, samples_per_user) if locality > 0 else None
    return Generated(data_recipe, batch_size, data_knobs.held_out_samples, stream, samples_per_user=samples_per_user)


@memoised(MAX_KEPT_LOOKUPS, lambda run_source: run_source.kept.lookups if run_source.kept else 1)
def shared_source(scenario: Scenario, *, file: Recording | None) -> Source:
    """Return the source of a run's batches, with a cache of ids for several passes.

    One pass counts rows, one gathers the rows to train, and one trains. Runs of up to MAX_KEPT_LOOKUPS lookups keep their ids in
    memory.
    """
    origin = source(scenario, file)
    lookups = int(scenario.data.batch_size * total(per_table(scenario.model, "pooling")) * num_batches(scenario, file))
    return replace(origin, kept=KeptIds(lookups)) if lookups <= MAX_KEPT_LOOKUPS else origin


def num_batches(scenario: Scenario, file: Recording | None = None) -> int:
    """Return the number of batches that a run trains.

    With a data file and `run.passes` it is that of whole passes over the file, else `run.batches`.
    """
    if file is None or scenario.run.passes is None:
        return scenario.run.batches
    return ceil(scenario.run.passes * file.training_samples / scenario.data.batch_size)


def passes_over(scenario: Scenario, samples: int) -> str:
    """Return a text such as "11 passes over 44,928 samples", for a run on a data file."""
    run = scenario.run
    passes = run.passes or run.batches * scenario.data.batch_size / samples
    if passes < 1:
        batches = f"{count(run.batches, 'batch', 'batches')} of {count(scenario.data.batch_size)}"
        return f"{batches}, {percent(passes)} of {count(samples, 'sample')}"
    exact = passes >= COARSE_PASSES or passes == round(passes)
    return f"{count(passes, 'pass') if exact else f'{figure(passes)} passes'} over {count(samples, 'sample')}"


def repeats_warning(scenario: Scenario, origin: Source) -> str:
    """Return a warning if a batch is larger than the data file, else "".

    Such a batch repeats samples.
    """
    size, samples = scenario.data.batch_size, origin.training_samples or scenario.data.batch_size
    warning = (
        f"Each batch of {count(size, 'sample')} repeats the file's {count(samples)}; lower data.batch_size so that a batch "
        "has different samples."
    )
    return warning if size > samples else ""


def global_ids(tokens: Any, begins: Ints, lengths: Ints, first_rows: Ints, hashed: bool = True) -> Ints:
    """Return the global row numbers of some samples, from their tokens.

    `begins` and `lengths` (n, F) are the position of each field's first token, and the number of its tokens. A row is SplitMix64
    of the token and the table's number, modulo the table's rows. Tokens that are not `hashed` are row numbers themselves, except
    in copies of a field's table.
    """
    ids = np.empty((len(first_rows) - 1) // begins.shape[1] * int(lengths.sum()), dtype=np.int64)
    _fill(tokens, begins, lengths, first_rows, hashed, ids)
    return ids


@entry_kernel
def _fill(tokens: Any, begins: Ints, lengths: Ints, first_rows: Ints, hashed: bool, ids: Ints) -> None:
    samples, fields = begins.shape
    position = 0
    for table in range(len(first_rows) - 1):
        rows = np.uint64(first_rows[table + 1] - first_rows[table])
        field, mixed = table % fields, hashed or table >= fields
        for sample in range(samples):
            first_token = begins[sample, field]
            for place in range(first_token, first_token + lengths[sample, field]):
                ids[position] = first_rows[table] + _row(tokens[place], table, rows, mixed)
                position += 1


@inner_kernel
def _row(token: Any, table: Any, rows: Any, mixed: bool) -> Any:
    """Return the row of a token, by a hash if `mixed`, else modulo the rows."""
    return np.int64(mix(token + np.uint64(table + 1) * GOLDEN) % rows) if mixed else np.int64(token) % np.int64(rows)
