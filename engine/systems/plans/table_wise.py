"""Table-wise: whole tables, dealt out in turn."""

import numpy as np

from ..sharding import Pieces, Sharding, Wanted


def pieces(request: Wanted) -> Pieces:
    """Give table t to part t mod P."""
    table = np.arange(request.tables)
    return Pieces(table, np.ones(len(table)), table % request.parts.number)


SHARDING = Sharding("Table-wise", "Whole tables, dealt out to the parts in turn.", pieces)
