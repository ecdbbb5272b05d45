"""Table-wise: whole tables, dealt out in turn."""

import numpy as np

from ..sharding import Pieces, Sharding, Wanted, whole


def pieces(wanted: Wanted) -> Pieces:
    """Give table t to part t mod P."""
    return whole(np.arange(wanted.tables) % wanted.parts.number)


SHARDING = Sharding("Table-wise", "Whole tables, dealt out to the parts in turn.", pieces)
