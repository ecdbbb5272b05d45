"""Samples as they are read: arrays that grow in memory, and beyond a bound in temporary files, mapped once all are there."""

import tempfile
from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np

from ...core.process import physical
from ...errors import BadFile

IN_MEMORY, OF_MEMORY = 1 << 29, 0.125  # bytes of samples; at most this part of the memory
AT_ONCE = 1 << 20  # samples that are put in order


class Samples:
    """Arrays of samples that grow in place: a file's length is known at its end."""

    def __init__(self, dense: int, fields: int, more: tuple[Any, ...] = ()) -> None:
        """Start without a sample: so many numbers and tokens each, a label, and arrays of `more` types."""
        self.count = 0
        self._start(
            [np.zeros((0, dense), np.float32), np.zeros((0, fields), np.uint64), np.zeros(0, np.float32)]
            + [np.zeros(0, kind) for kind in more]
        )

    def _start(self, arrays: list[Any]) -> None:
        self._arrays, self._away = arrays, 0
        self._files: list[BinaryIO] = []
        self.nbytes = sum(array.itemsize * int(np.prod(array.shape[1:])) for array in arrays)

    def __del__(self) -> None:
        self._close()

    def _close(self) -> None:
        for file in self._files:
            with suppress(OSError):  # of what could not be written
                file.close()

    def room(self, more: int) -> list[Any]:
        """Return the arrays from the next sample on, with room for `more`; raises MemoryError where the disk is full."""
        if (self.count - self._away) * self.nbytes > most_nbytes():
            self._put_away()
        here, held = self.count - self._away, len(self._arrays[2])
        if here + more > held:
            self._resize(max(here + more, held + held // 8))
        return [array[here:] for array in self._arrays]

    def add(self, *found: Any) -> None:
        """Append samples given as arrays."""
        for there, here in zip(self.room(len(found[2])), found, strict=True):
            there[: len(here)] = here
        self.count += len(found[2])

    def whole(self) -> list[Any]:
        """Return what was filled; the arrays may be mapped from the disk."""
        if not self._files:
            self._resize(self.count)
            return self._arrays
        self._put_away()
        found = [_mapped(file, array, self.count) for file, array in zip(self._files, self._arrays, strict=True)]
        self._close()
        return found

    def sorted_by(self, place: int) -> list[Any]:
        """Return what was filled, sorted by one of the arrays; equal ones stay as they stand."""
        away, found = bool(self._files), self.whole()
        order = np.argsort(found[place], kind="stable")
        if not away:
            return [array[order] for array in found]
        self._start([array[:0].copy() for array in found])
        self.count = 0
        for some in np.array_split(order, -(-len(order) // AT_ONCE)):
            self.add(*(array[some] for array in found))
        return self.whole()

    def _put_away(self) -> None:
        here = self.count - self._away
        try:
            self._files = self._files or [temporary() for _ in self._arrays]
            for file, array in zip(self._files, self._arrays, strict=True):
                array[:here].tofile(file)
        except OSError as error:
            raise MemoryError from error
        self._away = self.count

    def _resize(self, count: int) -> None:
        for array in self._arrays:
            array.resize((count, *array.shape[1:]), refcheck=False)


def temporary() -> BinaryIO:
    """Return a file without a name, which goes with its last user."""
    return tempfile.TemporaryFile(prefix="emberpool-")


def _mapped(file: BinaryIO, like: Any, count: int) -> Any:
    file.flush()
    return np.asarray(np.memmap(file, like.dtype, "c", 0, (count, *like.shape[1:]))) if count else like[:0]


def most_nbytes() -> int:
    """Return how much samples of a file may take in memory."""
    return min(IN_MEMORY, int(physical() * OF_MEMORY))


def too_large(name: str) -> BadFile:
    """Return the refusal of a file whose samples fit nowhere."""
    return BadFile(
        f"{name} is too large: its samples do not fit in the folder for temporary files, {tempfile.gettempdir()}; make room "
        "there, name another folder as TMPDIR, or give a part of the file."
    )
