"""A recorded click log, whatever its format: samples by number, held in memory or mapped from the disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Ints, Singles, Words
from ...core.figures import count, exact
from ...errors import BadFile
from ..bags import spread
from .lists import runs
from .mapped import touched
from .numbering import IdIndex

FEWEST = 40
HELD_OUT_LEAST = 20


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """The samples of a file, in the order that `order` says.

    `digest` is that of the bytes on disk; `dense` is (N, D); `labels` is (N,), each 0 or 1. `pooling` are the lookups of a
    sample in each of F fields, W together: `tokens` is (N, W) in memory, or F arrays (N, lookups of the field) on the disk.
    Where samples have lists of uneven length, `pooling` are their means, rounded, and 1 at least; `tokens` are (M,), those of a
    sample field by field from `begins` (N,) on, and `lengths` are (N, F).
    A token is a number of 64 bits, `hashed` into a table's rows, or else a row's number, with a sign, modulo them. `indexes` (F)
    number the distinct ids of a field in the order first seen; None where they are too many, () where nobody counted them. These
    numbers are rows `where_they_fit` into a table. A trace without labels is not `labelled`: all of `labels` are 0. `fields` are
    the names of the columns that hold the ids, () where a format does not name them.
    """

    name: str
    dense: Any
    tokens: Any
    labels: Any
    pooling: tuple[int, ...]
    hashed: bool = True
    format: str = "criteo"
    order: str = "the file's own order"
    digest: str = ""
    begins: Any = None
    lengths: Any = None
    indexes: tuple[IdIndex | None, ...] = ()
    where_they_fit: bool = False
    labelled: bool = True
    fields: tuple[str, ...] = ()

    @property
    def held_out_samples(self) -> int:
        """The last tenth of the samples, and at least 20, are never trained on."""
        return held_out(len(self.labels))

    @property
    def training_samples(self) -> int:
        """The samples of one pass."""
        return len(self.labels) - self.held_out_samples

    @property
    def starts(self) -> Ints:
        """Where each field's lookups start among a sample's W, then W: (F+1,)."""
        return np.concatenate(([0], np.cumsum(self.pooling, dtype=np.int64)))

    @property
    def tables(self) -> int:
        """One a field."""
        return len(self.pooling)

    @property
    def distinct(self) -> tuple[int | None, ...]:
        """How many distinct ids each field has; None where nobody counted them, or they are too many to be numbered."""
        return tuple(index.count if index else None for index in self.indexes) or (None,) * self.tables

    @property
    def length_cv(self) -> tuple[float, ...]:
        """How far the lengths of each field's bags spread."""
        return tuple(spread(self.bag_lengths(field)) for field in range(self.tables))

    @property
    def mean_lengths(self) -> tuple[float, ...]:
        """The mean lookups of a sample in each field."""
        return tuple(float(np.mean(self.bag_lengths(field))) for field in range(self.tables))

    @property
    def samples(self) -> int:
        """All samples, those held out included."""
        return len(self.labels)

    def lookups(self, table: int, low: int, high: int) -> Words:
        """Return a field's tokens of samples `low` to `high`, in their order."""
        if self.lengths is not None:
            before, mine = self.lengths[low:high, :table].sum(axis=1, dtype=np.int64), self.lengths[low:high, table]
            listed: Words = self.tokens[runs(self.begins[low:high] + before, mine.astype(np.int64))]
            touched(listed.nbytes)
            return listed
        if isinstance(self.tokens, np.ndarray):
            found: Words = self.tokens[low:high, self.starts[table] : self.starts[table + 1]].reshape(-1)
            touched(self.tokens[low:high].nbytes)
            return found
        some = np.asarray(words(self.tokens[table][low:high]).reshape(-1), dtype=np.uint64)
        touched((high - low) * abs(self.tokens[table].strides[0]))
        return some

    def bag_lengths(self, table: int) -> Ints | int:
        """Return how many lookups of a field each sample has, or the one number that all have."""
        return self.pooling[table] if self.lengths is None else np.asarray(self.lengths[:, table], dtype=np.int64)

    def some(self, rows: Ints) -> tuple[Any, Ints, Ints]:
        """Return tokens, where in them each field's of the samples `rows` begin, and how many they are, (n, F).

        What is on the disk is read.
        """
        tokens, at = self.tokens, rows
        if self.lengths is not None:
            lengths = self.lengths[rows].astype(np.int64)
            touched(8 * int(lengths.sum()))
            return tokens, self.begins[rows][:, None] + np.cumsum(lengths, axis=1) - lengths, lengths
        if isinstance(tokens, np.ndarray):
            touched(len(rows) * abs(tokens.strides[0]))
        else:
            touched(len(rows) * sum({id(field.base): abs(field.strides[0]) for field in tokens}.values()))
            tokens, at = np.concatenate([words(field[rows]) for field in tokens], axis=1), np.arange(len(rows))
        *starts, wide = self.starts
        return tokens.reshape(-1), at[:, None] * wide + starts, np.repeat([self.pooling], len(at), axis=0)


def held_out(samples: int) -> int:
    """Return how many of a file's samples are held out: the last tenth, and at least 20."""
    return max(HELD_OUT_LEAST, samples // 10)


def words(numbers: Any) -> Words:
    """Return whole numbers as 64 bits; negative ones, as of signed hashes, keep their sign."""
    wide = np.uint64 if numbers.dtype.kind == "u" else np.int64
    return np.ascontiguousarray(numbers, dtype=wide).view(np.uint64)


def check_samples(
    name: str, labels: Singles, records: int | None = None, values: tuple[str, ...] = (), labelled: bool = True
) -> None:
    """Raise BadFile where there is too little to learn from.

    `records` are those of the file, of which a layout may leave some out; `values` are the first of the label's column.
    """
    if len(labels) < FEWEST:
        among = f" among {count(records, 'record')}" if records is not None and records > len(labels) else ""
        raise BadFile(
            f"{name} has {len(labels)} samples{among}; at least {FEWEST} are needed, of which the last 20 or more are held out."
        )
    if labelled and labels.min() == labels.max():
        shown = ", ".join(repr(value[:24]) for value in sorted(values[:12])) + (", ..." if len(values) > 12 else "")
        rule = f"; the label's column has {shown}: mend the rule" if values else ""
        raise BadFile(
            f"{name} has one label only: all {count(len(labels), 'sample')} have {exact(labels[0])}{rule}; "
            "give a file with clicks (1) and others (0), or nothing can be learned."
        )


def beside(path: Path, name: str) -> Path:
    """Return a file in the same folder; raises BadFile where there is none."""
    found = path.with_name(name)
    if not found.is_file():
        raise BadFile(f"{path.name} needs {name} beside it, which is not there; put it into the same folder.")
    return found
