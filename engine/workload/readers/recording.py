"""A recorded click log, whatever its format: samples by number, held in memory or mapped from the disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Ints, Singles, Words
from ...core.process import physical
from ...errors import BadFile

FEWEST = 40
HELD_OUT_LEAST = 20
MOST_OF_MEMORY = 0.5  # for the samples of a file


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """The samples of a file, in the order that `order` says.

    `digest` is that of the bytes on disk; `dense` is (N, D); `labels` is (N,), each 0 or 1. `pooling` are the lookups of a
    sample in each of F fields, W together: `tokens` is (N, W) in memory, or F arrays (N, lookups of the field) on the disk.
    A token is a number of 64 bits, `hashed` into a table's rows, or else a row's number modulo them.
    """

    name: str
    digest: str
    dense: Any
    tokens: Any
    labels: Any
    pooling: tuple[int, ...]
    hashed: bool = True
    format: str = "criteo"
    order: str = "the file's own order"

    @property
    def held_out_samples(self) -> int:
        """The last tenth of the samples, and at least 20, are never trained on."""
        return max(HELD_OUT_LEAST, len(self.labels) // 10)

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
    def samples(self) -> int:
        """All samples, those held out included."""
        return len(self.labels)

    def lookups(self, table: int, low: int, high: int) -> Words:
        """Return a field's tokens of samples `low` to `high`, in their order."""
        if isinstance(self.tokens, np.ndarray):
            found: Words = self.tokens[low:high, self.starts[table] : self.starts[table + 1]].reshape(-1)
            return found
        return np.asarray(unsigned(self.tokens[table][low:high]).reshape(-1), dtype=np.uint64)

    def some(self, rows: Ints) -> tuple[Any, Ints]:
        """Return tokens (n, W) and where in them the samples `rows` stand; what is on the disk is read."""
        if isinstance(self.tokens, np.ndarray):
            return self.tokens, rows
        return np.concatenate([unsigned(field[rows]) for field in self.tokens], axis=1), np.arange(len(rows))


def unsigned(numbers: Any) -> Words:
    """Return whole numbers as 64 bits; negative ones, as of signed hashes, count as the unsigned ones of their width."""
    return np.asarray(np.ascontiguousarray(numbers).view(f"u{numbers.dtype.itemsize}"), dtype=np.uint64)


class Samples:
    """Arrays of samples that grow in place: a file's length is known at its end."""

    def __init__(self, dense: int, fields: int, more: tuple[Any, ...] = ()) -> None:
        """Start without a sample: so many numbers and tokens each, a label, and arrays of `more` types."""
        self.count = 0
        self.arrays: list[Any] = [np.zeros((0, dense), np.float32), np.zeros((0, fields), np.uint64), np.zeros(0, np.float32)]
        self.arrays += [np.zeros(0, kind) for kind in more]
        self.nbytes = sum(array.itemsize * int(np.prod(array.shape[1:])) for array in self.arrays)

    def room(self, more: int) -> list[Any]:
        """Return the arrays from the next sample on, with room for `more`; raises MemoryError beyond the limit."""
        needed, held = self.count + more, len(self.arrays[2])
        if needed * self.nbytes > most_nbytes():
            raise MemoryError
        if needed > held:
            self._resize(max(needed, held + held // 8))
        return [array[self.count :] for array in self.arrays]

    def add(self, *found: Any) -> None:
        """Append samples given as arrays."""
        for there, here in zip(self.room(len(found[2])), found, strict=True):
            there[: len(here)] = here
        self.count += len(found[2])

    def whole(self) -> list[Any]:
        """Return what was filled."""
        self._resize(self.count)
        return self.arrays

    def _resize(self, count: int) -> None:
        for array in self.arrays:
            array.resize((count, *array.shape[1:]), refcheck=False)


def most_nbytes() -> int:
    """Return how much the samples of a file may take."""
    return int(physical() * MOST_OF_MEMORY)


def too_large(name: str) -> BadFile:
    """Return the refusal of a file whose samples take too much memory."""
    return BadFile(f"{name} does not fit in memory, where all its samples are kept; give a part of it.")


def check_samples(name: str, labels: Singles) -> None:
    """Raise BadFile where there is too little to learn from."""
    if len(labels) < FEWEST:
        raise BadFile(
            f"{name} has {len(labels)} samples; at least {FEWEST} are needed, of which the last 20 or more are held out."
        )
    if labels.min() == labels.max():
        raise BadFile(
            f"{name} has one label only: all {len(labels):,} samples have {labels[0]:g}; "
            "give a file with clicks (1) and others (0), or nothing can be learned."
        )


def beside(path: Path, name: str) -> Path:
    """Return a file in the same folder; raises BadFile where there is none."""
    found = path.with_name(name)
    if not found.is_file():
        raise BadFile(f"{path.name} needs {name} beside it, which is not there; put it into the same folder.")
    return found
