"""The samples of a file while it is read, in arrays that grow.

The arrays are in memory and, above a limit, in temporary files. The temporary files are mapped after the last sample.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np

from ...core import figures
from ...core.arithmetic import total
from ...core.process import physical_memory
from ...errors import BadFile
from .mapped import count_touched, map_array

IN_MEMORY, OF_MEMORY = 1 << 29, 0.125  # most bytes of samples in memory, and most share of the computer's memory
SORT_SAMPLES, STRIDE = 1 << 19, 1 << 10  # samples sorted together; distance between the samples whose keys cut the ranges
Watch = Callable[[float, str], None]


def unwatched(share: float, words: str) -> None:
    """Do nothing: the progress of a reading is not reported."""


class Samples:
    """Arrays of samples that grow while a file is read.

    A file's number of samples is known only at its end.
    """

    def __init__(self, arrays: list[Any], key_index: int | None = None, sorts: bool = True) -> None:
        """Start with empty arrays of the right types and shapes; samples end up sorted by one array.

        `key_index` is the position of that array among `arrays`; without one, or unless it `sorts`, the order of the file stays.
        """
        self.count, self._key_index, self._sort_index = 0, key_index, key_index if sorts else None
        self._runs: list[int] = []  # the end of each sorted part in the files
        self._start(arrays)

    def _start(self, arrays: list[Any]) -> None:
        self._arrays, self._in_files = arrays, 0
        self._files: list[BinaryIO] = []
        self.nbytes = total(array.itemsize * int(np.prod(array.shape[1:])) for array in arrays)

    def __del__(self) -> None:
        self._close()

    def _close(self) -> None:
        for file in self._files:
            with suppress(OSError):  # closing flushes bytes that a full disk refused
                file.close()

    def add(self, *added: Any) -> None:
        """Append samples, given as one array for each array of the class.

        Raises MemoryError if the disk is full.
        """
        if (self.count - self._in_files) * self.nbytes > max_nbytes():
            self._put_away()
        in_memory, capacity = self.count - self._in_files, len(self._arrays[0])
        end = in_memory + len(added[0])
        if end > capacity:
            self._resize(max(end, capacity + capacity // 8))
        for array, new_samples in zip(self._arrays, added, strict=True):
            array[in_memory:end] = new_samples
        self.count += len(added[0])

    def change_keys(self, change: Callable[[Any], Any]) -> None:
        """Replace the keys by which samples are sorted with keys in the same order.

        `change` returns the new keys from old keys. Raises MemoryError if the disk is full.
        """
        assert self._key_index is not None
        in_memory, at_once = self.count - self._in_files, SORT_SAMPLES
        self._arrays[self._key_index][:in_memory] = change(self._arrays[self._key_index][:in_memory])
        if self._files:
            file, kind = self._files[self._key_index], self._arrays[self._key_index].dtype
            for low in range(0, self._in_files, at_once):
                file.seek(low * kind.itemsize)
                keys = np.fromfile(file, kind, at_once)  # or fewer at the end
                file.seek(low * kind.itemsize)
                change(keys).tofile(file)
            file.seek(self._in_files * kind.itemsize)

    def finish(self, watch: Watch = unwatched) -> list[Any]:
        """Return the arrays of all samples, sorted by the key if there is one.

        Samples with equal keys keep their order. The arrays may be mapped from temporary files.
        """
        if not self._files:
            self._resize(self.count)
            self._sort(self.count)
            return self._arrays
        self._put_away()
        mapped_arrays = [_mapped(file, array, self.count) for file, array in zip(self._files, self._arrays, strict=True)]
        self._close()
        return mapped_arrays if self._sort_index is None else self._merged(mapped_arrays, self._sort_index, watch)

    def _sort(self, count: int) -> None:
        if self._sort_index is not None:
            order = np.argsort(self._arrays[self._sort_index][:count], kind="stable")
            for array in self._arrays:
                array[:count] = array[:count][order]

    def _merged(self, mapped_arrays: list[Any], sort_index: int, watch: Watch) -> list[Any]:
        """Merge parts that are sorted each, one range of values after another."""
        runs = list(pairwise([0, *self._runs]))
        marks = np.sort(np.concatenate([mapped_arrays[sort_index][low:high:STRIDE] for low, high in runs]))[
            SORT_SAMPLES // STRIDE :: SORT_SAMPLES // STRIDE
        ]
        edges = np.unique(np.concatenate([marks, _following_keys(marks)]))  # a value that is often there has a range of its own
        cuts = [[low, *(low + np.searchsorted(mapped_arrays[sort_index][low:high], edges)), high] for low, high in runs]
        self._start([array[:0].copy() for array in mapped_arrays])
        self.count, self._sort_index, total = 0, None, len(mapped_arrays[sort_index])
        for index in range(len(edges) + 1):
            parts = [(int(cut[index]), int(cut[index + 1])) for cut in cuts if cut[index + 1] > cut[index]]
            is_single_value = index and edges[index - 1] in marks
            for run_parts in ([piece] for piece in _pieces(parts)) if is_single_value else [parts] if parts else []:
                self._take(mapped_arrays, run_parts, None if is_single_value else sort_index)
            watch(self.count / total, f"sorting {figures.count(total, 'sample')}")
        return self.finish()

    def _take(self, mapped_arrays: list[Any], parts: list[tuple[int, int]], sort_index: int | None) -> None:
        part_arrays = [np.concatenate([array[low:high] for low, high in parts]) for array in mapped_arrays]
        count_touched(total(array.nbytes for array in part_arrays))
        order = slice(None) if sort_index is None else np.argsort(part_arrays[sort_index], kind="stable")
        self.add(*(array[order] for array in part_arrays))

    def _put_away(self) -> None:
        in_memory = self.count - self._in_files
        self._sort(in_memory)
        self._runs.append(self.count)
        try:
            self._files = self._files or [temporary_file() for _ in self._arrays]
            for file, array in zip(self._files, self._arrays, strict=True):
                array[:in_memory].tofile(file)
        except OSError as error:
            raise MemoryError from error
        self._in_files = self.count

    def _resize(self, count: int) -> None:
        for array in self._arrays:
            array.resize((count, *array.shape[1:]), refcheck=False)


def _following_keys(keys: Any) -> Any:
    """Return the next value after each key; the largest whole number stays."""
    if keys.dtype.kind == "f":
        return np.nextafter(keys, np.inf)
    return keys + (keys < np.iinfo(keys.dtype).max)


def _pieces(parts: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for low, high in parts:
        for start in range(low, high, SORT_SAMPLES):
            yield start, min(start + SORT_SAMPLES, high)


def temporary_file() -> BinaryIO:
    """Return a temporary file without a name, which is deleted when it is closed."""
    return tempfile.TemporaryFile(prefix="emberpool-")


def _mapped(file: BinaryIO, template: Any, count: int) -> Any:
    file.flush()
    return np.asarray(map_array(file, template.dtype, 0, (count, *template.shape[1:]), "c")) if count else template[:0]


def max_nbytes() -> int:
    """Return the most bytes of memory that the samples of a file may take."""
    return min(IN_MEMORY, int(physical_memory() * OF_MEMORY))


def too_large_refusal(name: str) -> BadFile:
    """Return the refusal of a file whose samples do not fit into the temporary folder."""
    return BadFile(
        f"{name} is too large: its samples do not fit in the folder for temporary files, {tempfile.gettempdir()}; free some "
        "space there, set TMPDIR to another folder, or give a part of the file."
    )
