"""Column-wise: each table's columns in ranges, dealt out in turn."""

import numpy as np

from ..sharding import Pieces, PlanRequest, Sharding


def pieces(request: PlanRequest) -> Pieces:
    """Return tables cut into as many ranges as there are parts, dealt out in turn.

    A range has 32 columns or more.
    """
    ranges = request.ranges(request.parts.number)
    table = np.repeat(np.arange(request.tables), ranges)
    return Pieces(table, np.repeat(1 / ranges, ranges), np.arange(len(table)) % request.parts.number)


SHARDING = Sharding("Column-wise", "Each table's columns in ranges of 32 or more, dealt out to the parts in turn.", pieces)
