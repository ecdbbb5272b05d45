"""Times as whole numbers of 64 bits that sort in the same order (keys).

Whole numbers are unchanged; other numbers become keys in the order of the floats.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from ...core.arrays import Floats, Ints

MOST_EXACT = 2**53  # up to here each whole number is a float of its own
Rekey = Callable[[Ints], Ints]  # from keys of the blocks before to keys as they are now


class TimeKeys:
    """The keys of a column's times, block by block.

    Keys of earlier blocks must change if a later block has fractions or a finer unit. `decimals` is the number of decimal places
    in the keys so far.
    """

    def __init__(self) -> None:
        """Start with whole numbers."""
        self.decimals, self.is_float, self.has_keys = 0, False, False
        self._largest = 0
        self._rekey: Rekey | None = None

    def rekey(self) -> Rekey | None:
        """Return the function that converts the keys of earlier blocks, or None.

        The converted keys match those of the last block. The function is returned once.
        """
        change, self._rekey = self._rekey, None
        return change

    def keys_of_whole(self, numbers: Ints, decimals: int = 0) -> Ints | None:
        """Return the keys of whole numbers with `decimals` decimal places.

        Return None if 64 bits are too few for all keys.
        """
        largest = int(max(abs(int(numbers.min())), abs(int(numbers.max()))))
        if self.is_float:
            return float_keys(numbers.astype(np.float64)) if largest <= MOST_EXACT else None
        finer = 10 ** max(decimals - self.decimals, 0) if self.has_keys else 1
        factor = 10 ** max(self.decimals - decimals, 0)
        if max(self._largest * finer, largest * factor) >= 2**63:
            return None
        if finer > 1:
            self._rekey = partial(np.multiply, finer)
        self.decimals = max(self.decimals, decimals)
        self._largest, self.has_keys = max(self._largest * finer, largest * factor), True
        keys: Ints = numbers * factor
        return keys

    def keys_of_floats(self, numbers: Floats) -> Ints | None:
        """Return the keys of floats.

        Return None if whole numbers of earlier blocks are too large for exact floats.
        """
        if self.has_keys and not self.is_float:
            if self._largest > MOST_EXACT:
                return None
            self._rekey = _of_floats
        self.is_float = self.has_keys = True
        return float_keys(numbers)


def _of_floats(keys: Ints) -> Ints:
    return float_keys(keys.astype(np.float64))


def float_keys(numbers: Floats) -> Ints:
    """Return whole numbers that sort like the given floats; 0 and -0 are equal."""
    bits: Ints = (numbers + 0.0).view(np.int64)
    return bits ^ ((bits >> 63) & np.int64(2**63 - 1))
