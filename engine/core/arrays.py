"""Type names of arrays by their numbers, and `InColumns`: many design points as one object."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Places = NDArray[np.uint32]
Singles = NDArray[np.float32]
Slots = NDArray[np.int32]
Records = NDArray[np.void]
Words = NDArray[np.uint64]
Index = int | np.signedinteger[Any]
Row = Mapping[str, Any]  # by column name, with its unit
Number = Any  # of one design point; or an array of P points' numbers, on which the same formulas work


@dataclass(frozen=True)
class InColumns:
    """Numbers of one design point, or of P: each is then an array (P,)."""

    def point(self, i: int) -> Self:
        """Return design point `i`."""
        return replace(self, **{name: _pick_point(numbers, i) for name, numbers in vars(self).items()})


def _pick_point(numbers: Any, i: int) -> Any:
    if isinstance(numbers, np.ndarray):
        return numbers[i].tolist()
    if isinstance(numbers, Mapping):
        return {name: _pick_point(part, i) for name, part in numbers.items()}
    if isinstance(numbers, tuple):
        return tuple([_pick_point(part, i) for part in numbers])
    return numbers.point(i) if isinstance(numbers, InColumns) else numbers
