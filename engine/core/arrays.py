"""Names for arrays by their numbers and for a row of a table; and columns, which are many design points as one value."""

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

    def at(self, i: int) -> Self:
        """Return one of the points."""
        return replace(self, **{name: _at(value, i) for name, value in vars(self).items()})


def _at(value: Any, i: int) -> Any:
    if isinstance(value, np.ndarray):
        return value[i].tolist()
    if isinstance(value, Mapping):
        return {name: _at(one, i) for name, one in value.items()}
    if isinstance(value, tuple):
        return tuple([_at(one, i) for one in value])
    return value.at(i) if isinstance(value, InColumns) else value
