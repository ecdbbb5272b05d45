"""Prefetch hints: the processor loads rows from memory before a kernel needs them."""

from ..core.arrays import Index, Places, Singles
from ..core.jit import inner_kernel, prefetch_line

LINE = 16  # fp32 elements in a line of the processor's cache
ROWS_AHEAD = 16  # rows ahead: the best of 8, 16 and 32


@inner_kernel
def prefetch_row(vectors: Singles, places: Places, position: Index) -> None:
    """Prefetch the row that is looked up ROWS_AHEAD positions after `position`.

    At the end of `places` this is the last row. Prefetching changes no result.
    """
    row = places[min(position + ROWS_AHEAD, places.size - 1)]
    for d in range(0, vectors.shape[1], LINE):
        prefetch_line(vectors, row, d)
