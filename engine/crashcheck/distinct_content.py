"""The content of reference runs, of which no part can look like another."""

import numpy as np
from numpy.typing import NDArray

FLOAT32 = 4


class DistinctContent:
    """A source of halves of words, none of which is zero or comes twice."""

    def __init__(self, seed: int) -> None:
        self._drawn, self._offset = 0, np.uint32((2**16 * seed + 1) % 2**32)

    def draw(self, count: int, before: NDArray[np.uint32] | None = None) -> NDArray[np.uint32]:
        """Return new halves, (count,); no byte is equal to that in `before`, if given."""
        halves = self._next(count)
        while before is not None:
            equal = (halves.view(np.uint8) == before.view(np.uint8)).reshape(-1, FLOAT32).any(axis=1)
            if not equal.any():
                break
            halves[equal] = self._next(int(equal.sum()))
        return halves

    def _next(self, count: int) -> NDArray[np.uint32]:
        """Return the next halves: a bijection of their numbers, so that none comes twice."""
        halves = np.arange(self._drawn, self._drawn + count, dtype=np.uint32) + self._offset
        self._drawn += count
        halves = (halves ^ (halves >> np.uint32(16))) * np.uint32(0x7FEB352D)
        halves = (halves ^ (halves >> np.uint32(15))) * np.uint32(0x846CA68B)
        mixed: NDArray[np.uint32] = halves ^ (halves >> np.uint32(16))
        return mixed
