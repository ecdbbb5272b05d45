"""Names for the arrays that the workload is made of."""

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Singles = NDArray[np.float32]
Slots = NDArray[np.int32]
Words = NDArray[np.uint64]
