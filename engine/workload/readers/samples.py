"""Samples as they are read: arrays that grow in memory, and beyond a bound in temporary files, mapped once all are there."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np

from ...core import figures
from ...core.process import physical
from ...errors import BadFile
from .mapped import mapped, touched

IN_MEMORY, OF_MEMORY = 1 << 29, 0.125  # bytes of samples; at most this part of the memory
AT_ONCE, STRIDE = 1 << 19, 1 << 10  # samples that are put in order together; of which so many are looked at to cut ranges
Watch = Callable[[float, str], None]


def unwatched(share: float, words: str) -> None:
    """Hear how far a reading is, and do nothing."""


class Samples:
    """Arrays of samples that grow in place: a file's length is known at its end."""

    def __init__(self, arrays: list[Any], by: int | None = None) -> None:
        """Start with arrays that have no sample yet, each its own type and shape; in the end they are in order of one `by`."""
        self.count, self._by = 0, by
        self._runs: list[int] = []  # where each part that was put away ends
        self._start(arrays)

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

    def add(self, *found: Any) -> None:
        """Append samples given as arrays; raises MemoryError where the disk is full."""
        if (self.count - self._away) * self.nbytes > most_nbytes():
            self._put_away()
        here, held = self.count - self._away, len(self._arrays[0])
        end = here + len(found[0])
        if end > held:
            self._resize(max(end, held + held // 8))
        for there, one in zip(self._arrays, found, strict=True):
            there[here:end] = one
        self.count += len(found[0])

    def change_keys(self, change: Callable[[Any], Any]) -> None:
        """Change the array by which samples are put in order, to one in the same order; raises MemoryError as `add`."""
        assert self._by is not None
        here, at_once = self.count - self._away, AT_ONCE
        self._arrays[self._by][:here] = change(self._arrays[self._by][:here])
        if self._files:
            file, kind = self._files[self._by], self._arrays[self._by].dtype
            for low in range(0, self._away, at_once):
                file.seek(low * kind.itemsize)
                keys = np.fromfile(file, kind, min(at_once, self._away - low))
                file.seek(low * kind.itemsize)
                change(keys).tofile(file)
            file.seek(self._away * kind.itemsize)

    def whole(self, watch: Watch = unwatched) -> list[Any]:
        """Return what was filled, sorted by an array that was named, equal ones as they stood; all may be mapped."""
        if not self._files:
            self._resize(self.count)
            self._sort(self.count)
            return self._arrays
        self._put_away()
        found = [_mapped(file, array, self.count) for file, array in zip(self._files, self._arrays, strict=True)]
        self._close()
        return found if self._by is None else self._merged(found, self._by, watch)

    def _sort(self, count: int) -> None:
        if self._by is not None:
            order = np.argsort(self._arrays[self._by][:count], kind="stable")
            for array in self._arrays:
                array[:count] = array[:count][order]

    def _merged(self, found: list[Any], by: int, watch: Watch) -> list[Any]:
        """Merge parts that are sorted each, one range of values after another."""
        runs = list(pairwise([0, *self._runs]))
        marks = np.sort(np.concatenate([found[by][low:high:STRIDE] for low, high in runs]))[
            AT_ONCE // STRIDE :: AT_ONCE // STRIDE
        ]
        edges = np.unique(np.concatenate([marks, _next(marks)]))  # a value that is often there has a range of its own
        cuts = [[low, *(low + np.searchsorted(found[by][low:high], edges)), high] for low, high in runs]
        self._start([array[:0].copy() for array in found])
        self.count, self._by, total = 0, None, len(found[by])
        for at in range(len(edges) + 1):
            parts = [(int(cut[at]), int(cut[at + 1])) for cut in cuts if cut[at + 1] > cut[at]]
            alone = at and edges[at - 1] in marks
            for some in ([one] for one in _pieces(parts)) if alone else [parts] if parts else []:
                self._take(found, some, None if alone else by)
            watch(self.count / max(total, 1), f"sorting {figures.count(total, 'sample')}")
        return self.whole()

    def _take(self, found: list[Any], parts: list[tuple[int, int]], by: int | None) -> None:
        held = [np.concatenate([array[low:high] for low, high in parts]) for array in found]
        touched(sum(array.nbytes for array in held))
        order = slice(None) if by is None else np.argsort(held[by], kind="stable")
        self.add(*(array[order] for array in held))

    def _put_away(self) -> None:
        here = self.count - self._away
        self._sort(here)
        self._runs.append(self.count)
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


def _next(keys: Any) -> Any:
    """Return the value that follows each key; the last whole number has none but itself."""
    if keys.dtype.kind == "f":
        return np.nextafter(keys, np.inf)
    return keys + (keys < np.iinfo(keys.dtype).max)


def _pieces(parts: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for low, high in parts:
        for start in range(low, high, AT_ONCE):
            yield start, min(start + AT_ONCE, high)


def temporary() -> BinaryIO:
    """Return a file without a name, which goes with its last user."""
    return tempfile.TemporaryFile(prefix="emberpool-")


def _mapped(file: BinaryIO, like: Any, count: int) -> Any:
    file.flush()
    return np.asarray(mapped(file, like.dtype, 0, (count, *like.shape[1:]), "c")) if count else like[:0]


def most_nbytes() -> int:
    """Return how much samples of a file may take in memory."""
    return min(IN_MEMORY, int(physical() * OF_MEMORY))


def too_large(name: str) -> BadFile:
    """Return the refusal of a file whose samples fit nowhere."""
    return BadFile(
        f"{name} is too large: its samples do not fit in the folder for temporary files, {tempfile.gettempdir()}; make room "
        "there, name another folder as TMPDIR, or give a part of the file."
    )
