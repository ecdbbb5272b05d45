"""Names for arrays by their numbers, and for a row of a table."""

from collections.abc import Mapping
from typing import Any

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
