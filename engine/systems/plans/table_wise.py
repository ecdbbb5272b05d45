"""Table-wise: whole tables, dealt out in turn."""

import numpy as np

from ..sharding import Pieces, PlanRequest, Sharding


def pieces(request: PlanRequest) -> Pieces:
    """Return table t on part t mod P."""
    table = np.arange(request.tables)
    return Pieces(table, np.ones(len(table)), table % request.parts.number)


SHARDING = Sharding("Table-wise", "Whole tables, dealt out to the parts in turn.", pieces)
