"""Lists of tokens end to end, as they are read: in memory, and beyond a bound in a temporary file, mapped once all are there."""

from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np

from ...core.arrays import Ints, Words
from .mapped import mapped
from .samples import most_nbytes, temporary

MOST_LENGTH = 10_000  # of a list: what a model's pooling factor can be


class Lists:
    """Tokens that are appended, of which samples know where theirs begin."""

    def __init__(self) -> None:
        self.count = 0
        self._parts: list[Words] = []
        self._held = 0
        self._file: BinaryIO | None = None

    def __del__(self) -> None:
        with suppress(OSError):  # of what could not be written
            if self._file is not None:
                self._file.close()

    def add(self, tokens: Words) -> None:
        """Append tokens; raises MemoryError where the disk is full."""
        self._parts.append(tokens)
        self.count += len(tokens)
        self._held += tokens.nbytes
        if self._held > most_nbytes():
            self._put_away()

    def whole(self) -> Any:
        """Return all of them, (M,)."""
        if self._file is None:
            return np.concatenate([np.zeros(0, np.uint64), *self._parts])
        self._put_away()
        self._file.flush()
        found = np.asarray(mapped(self._file, np.uint64, 0, (self.count,), "c"))
        self._file.close()
        return found

    def _put_away(self) -> None:
        try:
            self._file = self._file or temporary()
            for part in self._parts:
                part.tofile(self._file)
        except OSError as error:
            raise MemoryError from error
        self._parts, self._held = [], 0


def side_by_side(fields: list[tuple[Words, Ints]]) -> tuple[Words, Ints, Ints]:
    """Return tokens of samples, field by field inside each; where each sample's begin, (n,); and their lengths (n, F).

    `fields` has each field's tokens, sample by sample, and their lengths.
    """
    lengths = np.stack([sizes for _, sizes in fields], axis=1).astype(np.int64)
    begins = np.concatenate(([0], np.cumsum(lengths)))[:-1].reshape(lengths.shape)
    tokens = np.empty(int(lengths.sum()), np.uint64)
    for field, (held, sizes) in enumerate(fields):
        tokens[runs(begins[:, field], sizes)] = held
    return tokens, begins[:, 0], lengths


def runs(begins: Ints, lengths: Ints) -> Ints:
    """Return the places of runs of consecutive ones, run after run."""
    found: Ints = np.repeat(begins - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
    return found
