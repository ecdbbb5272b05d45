"""Column-wise: each table is cut into column ranges, dealt to the parts in turn.

A part is a GPU, a node or a memory module. The plan balances a few wide tables. Every part reads the row numbers of all samples.
"""

import numpy as np

from ..sharding import Pieces, PlanRequest, Sharding


def pieces(request: PlanRequest) -> Pieces:
    """Return the plan with each table cut into a column range for each part.

    The ranges go to the parts in turn. A range has 32 columns or more, so a narrow table has fewer ranges than there are parts.
    """
    ranges = request.ranges(request.parts.number)
    table = np.repeat(np.arange(request.tables), ranges)
    return Pieces(table, np.repeat(1 / ranges, ranges), np.arange(len(table)) % request.parts.number)


SHARDING = Sharding(
    "Column-wise", "Each table is cut into column ranges of at least 32, which go to the GPUs or nodes in turn.", pieces
)
