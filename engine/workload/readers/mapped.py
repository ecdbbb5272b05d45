"""Arrays mapped from files, and their pages given back as they are read, so that a long file does not fill the memory.

The system would take such pages back when others need memory, but until then they count as this process's own.
"""

import mmap
from pathlib import Path
from typing import Any, BinaryIO
from weakref import WeakSet

import numpy as np

MOST_NBYTES = 1 << 28  # of pages that were touched since they were last given back
_MAPS: WeakSet[mmap.mmap] = WeakSet()
_touched = 0


def mapped(file: Path | BinaryIO, kind: Any, start: int, shape: Any, mode: Any = "r") -> Any:
    """Map an array that begins at byte `start` of a file."""
    found = np.memmap(file, kind, mode, start, shape)
    if isinstance(found.base, mmap.mmap):
        _MAPS.add(found.base)
    return found


def touched(nbytes: int) -> None:
    """Note that so many bytes of mapped arrays were read; beyond a bound the pages of all of them are given back."""
    global _touched
    _touched += nbytes
    if _touched > MOST_NBYTES and hasattr(mmap, "MADV_DONTNEED"):
        _touched = 0
        for one in list(_MAPS):
            if not one.closed:
                one.madvise(mmap.MADV_DONTNEED)
