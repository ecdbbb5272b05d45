"""A recorded click log of any format, read by the numbers of its samples.

The samples are in memory, or mapped from the disk.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...core.arithmetic import total
from ...core.arrays import Ints, Singles, Words, run_positions
from ...core.figures import count, exact
from ...errors import BadFile
from ..bags import length_spread
from .mapped import count_touched
from .numbering import IdIndex

FEWEST = 40
HELD_OUT_LEAST = 20
MOST_LENGTH = 10_000  # ids of a list: the largest pooling factor of a model


class HistoryFields(NamedTuple):
    """The fields of a recording that make histories.

    user: the field of the user; None where each sample counts as another user's.
    events: the fields of the events' ids.
    in_rows: True if each sample has its history as a list; False if each sample is an event.
    exploded: True if a row of the file had the events of a user as lists.
    """

    user: int | None
    events: tuple[int, ...]
    in_rows: bool
    exploded: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """The samples of a data file.

    There are N samples, with D dense features and F fields of ids.

    name: the name of the file.
    dense: the dense features, (N, D).
    tokens: numbers of 64 bits that identify ids. In memory they are (N, W) for W lookups per sample; mapped from disk they are F
        arrays (N, lookups of the field). With lists of uneven length they are flat, (M,), each sample's tokens field by field.
    labels: the labels, 0 or 1, (N,).
    pooling: the lookups of a sample in each field, W together; for uneven lists their rounded mean, at least 1.
    hashed: True if tokens are hashed into a table's rows; else they are row numbers with a sign, modulo the rows.
    format: the name of the format.
    order: a text on the order of the samples.
    digest: the SHA-256 of the bytes on disk.
    begins: for uneven lists, the position of each sample's first token, (N,).
    lengths: for uneven lists, the number of tokens in each field, (N, F).
    indexes: for each field the index of its distinct ids; None if there are too many ids; () if ids are not counted.
    where_they_fit: True if ids are numbered in the order first seen wherever all of them fit into a table.
    labelled: False for a trace without labels, whose `labels` are all 0.
    fields: the names of the columns of ids; () if the format does not name them.
    histories: the fields that make histories; None where they are not stated, or samples are sorted by time.
    times: the samples' times, (N,), where they are kept beside samples in the file's order; else None.
    label_copies: the names of inputs that are copies of the label in the first rows.
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
    histories: HistoryFields | None = None
    times: Any = None
    label_copies: tuple[str, ...] = ()

    @property
    def held_out_samples(self) -> int:
        """The number of samples that are never trained on: the last tenth, but at least 20."""
        return held_out_count(len(self.labels))

    @property
    def training_samples(self) -> int:
        """The number of samples that one pass over the file trains on."""
        return len(self.labels) - self.held_out_samples

    @property
    def starts(self) -> Ints:
        """The position of each field's first lookup in a sample, then W, (F+1,).

        W is the number of a sample's lookups.
        """
        return np.concatenate(([0], np.cumsum(self.pooling, dtype=np.int64)))

    @property
    def tables(self) -> int:
        """The number of fields of ids; each field has a table."""
        return len(self.pooling)

    @property
    def distinct(self) -> tuple[int | None, ...]:
        """The number of distinct ids of each field.

        The number is None if the ids of the field are not counted, or too many to number.
        """
        return tuple(index.count if index else None for index in self.indexes) or (None,) * self.tables

    @property
    def length_cv(self) -> tuple[float, ...]:
        """The coefficient of variation of each field's bag lengths."""
        return tuple(length_spread(self.bag_lengths(field)) for field in range(self.tables))

    @property
    def mean_lengths(self) -> tuple[float, ...]:
        """The mean lookups of a sample in each field."""
        return tuple(float(np.mean(self.bag_lengths(field))) for field in range(self.tables))

    @property
    def samples(self) -> int:
        """The number of all samples, held-out samples included."""
        return len(self.labels)

    def lookups(self, table: int, low: int, high: int) -> Words:
        """Return the tokens of one field for the samples `low` to `high` - 1, in their order."""
        if self.lengths is not None:
            offsets, field_lengths = self.lengths[low:high, :table].sum(axis=1, dtype=np.int64), self.lengths[low:high, table]
            list_tokens: Words = self.tokens[run_positions(self.begins[low:high] + offsets, field_lengths.astype(np.int64))]
            count_touched(list_tokens.nbytes)
            return list_tokens
        if isinstance(self.tokens, np.ndarray):
            row_tokens: Words = self.tokens[low:high, self.starts[table] : self.starts[table + 1]].reshape(-1)
            count_touched(self.tokens[low:high].nbytes)
            return row_tokens
        mapped_tokens = np.asarray(token_words(self.tokens[table][low:high]).reshape(-1), dtype=np.uint64)
        count_touched((high - low) * abs(self.tokens[table].strides[0]))
        return mapped_tokens

    def bag_lengths(self, table: int) -> Ints | int:
        """Return the number of lookups of each sample in a field.

        The result is one int if all samples have the same number.
        """
        return self.pooling[table] if self.lengths is None else np.asarray(self.lengths[:, table], dtype=np.int64)

    def tokens_of(self, rows: Ints) -> tuple[Any, Ints, Ints]:
        """Return (tokens, positions, lengths) of the samples with numbers `rows`.

        Positions of each field's first token and numbers of tokens are (n, F). Tokens that are mapped from disk are read into
        memory.
        """
        tokens, token_rows = self.tokens, rows
        if self.lengths is not None:
            lengths = self.lengths[rows].astype(np.int64)
            count_touched(8 * int(lengths.sum()))
            return tokens, self.begins[rows][:, None] + np.cumsum(lengths, axis=1) - lengths, lengths
        if isinstance(tokens, np.ndarray):
            count_touched(len(rows) * abs(tokens.strides[0]))
        else:
            count_touched(len(rows) * total({id(field.base): abs(field.strides[0]) for field in tokens}.values()))
            tokens, token_rows = np.concatenate([token_words(field[rows]) for field in tokens], axis=1), np.arange(len(rows))
        *starts, sample_width = self.starts
        return tokens.reshape(-1), token_rows[:, None] * sample_width + starts, np.repeat([self.pooling], len(token_rows), axis=0)


def copies_note(name: str, label_copies: Sequence[str]) -> str:
    """Return the warning of inputs that are copies of the label, "" without such inputs."""
    if not label_copies:
        return ""
    columns, are = ", ".join(column[:40] for column in label_copies[:3]), "is a copy" if len(label_copies) == 1 else "are copies"
    return f"In {name} {columns} {are} of the label in the first rows, so training looks perfect: remove it from the mapping."


def held_out_count(samples: int) -> int:
    """Return the number of held-out samples of a file: a tenth, but at least 20."""
    return max(HELD_OUT_LEAST, samples // 10)


def token_words(numbers: Any) -> Words:
    """Return whole numbers as unsigned numbers of 64 bits.

    The bits of negative numbers, such as signed hashes, are kept.
    """
    word_type = np.uint64 if numbers.dtype.kind == "u" else np.int64
    return np.ascontiguousarray(numbers, dtype=word_type).view(np.uint64)


def check_samples(
    name: str, labels: Singles, records: int | None = None, values: tuple[str, ...] = (), labelled: bool = True
) -> None:
    """Raise BadFile if there are too few samples, or if all labels are equal.

    records: the number of records in the file, of which a layout may leave some out.
    values: the first values of the label's column, for the message.
    """
    if len(labels) < FEWEST:
        records_text = f" among {count(records, 'record')}" if records is not None and records > len(labels) else ""
        samples = f"{count(len(labels), 'sample')}{records_text}"
        raise BadFile(f"{name} has {samples}; at least {FEWEST} are needed, because 20 or more are held out.")
    if labelled and labels.min() == labels.max():
        values_text = ", ".join(repr(label_value[:24]) for label_value in sorted(values[:12])) + (
            ", ..." if len(values) > 12 else ""
        )
        rule = f"; the label's column has {values_text}: correct the rule" if values else ""
        raise BadFile(
            f"{name} has only one kind of label: all {count(len(labels), 'sample')} have {exact(labels[0])}{rule}; give a file "
            "with clicks (1) and other samples (0), because nothing can be learned otherwise."
        )


def file_beside(path: Path, name: str) -> Path:
    """Return the path of another file in the folder of `path`.

    Raises BadFile if there is no such file.
    """
    neighbour = path.with_name(name)
    if not neighbour.is_file():
        raise BadFile(f"{path.name} needs the file {name} beside it, which is missing; put it into the same folder.")
    return neighbour
