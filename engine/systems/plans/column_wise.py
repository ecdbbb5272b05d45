"""Column-wise: each table is cut into column ranges, dealt to the parts in turn.

A part is a GPU, a node or a memory module. It balances a few wide tables; every part reads the row numbers of all samples.
"""

import numpy as np

from ..sharding import Pieces, PlanRequest, Sharding


def pieces(request: PlanRequest) -> Pieces:
    """Return tables cut into as many ranges as there are parts, dealt out in turn.

    A range has 32 columns or more.
    """
    ranges = request.ranges(request.parts.number)
    table = np.repeat(np.arange(request.tables), ranges)
    return Pieces(table, np.repeat(1 / ranges, ranges), np.arange(len(table)) % request.parts.number)


SHARDING = Sharding(
    "Column-wise", "Each table is cut into column ranges of at least 32, which go to the GPUs or nodes in turn.", pieces
)
