"""Arrays mapped from files, whose memory pages are released regularly.

The operating system would release such pages when memory is short, but until then they count as memory of this process.
"""

import mmap
from pathlib import Path
from typing import Any, BinaryIO
from weakref import WeakSet

import numpy as np

MOST_NBYTES = 1 << 28  # bytes of pages read since all pages were last given back
_MAPS: WeakSet[mmap.mmap] = WeakSet()
_touched_nbytes = 0


def map_array(file: Path | BinaryIO, kind: Any, start: int, shape: Any, mode: Any = "r") -> Any:
    """Return an array that is mapped from a file, beginning at byte `start`."""
    mapped_array = np.memmap(file, kind, mode, start, shape)
    if isinstance(mapped_array.base, mmap.mmap):
        _MAPS.add(mapped_array.base)
    return mapped_array


def count_touched(nbytes: int) -> None:
    """Count bytes that were read from mapped arrays.

    After each MOST_NBYTES, the memory pages of all mapped arrays are released.
    """
    global _touched_nbytes
    _touched_nbytes += nbytes
    if _touched_nbytes > MOST_NBYTES and hasattr(mmap, "MADV_DONTNEED"):
        _touched_nbytes = 0
        for memory_map in list(_MAPS):
            if not memory_map.closed:
                memory_map.madvise(mmap.MADV_DONTNEED)
