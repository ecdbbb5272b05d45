"""Two-level: whole tables dealt out to groups, such as nodes, and within a group each table's rows over its parts."""

import numpy as np

from ..sharding import Pieces, Sharding, Wanted, over


def pieces(wanted: Wanted) -> Pieces:
    """Give table t to group t mod N, spread over its parts."""
    parts, group = wanted.parts, wanted.parts.group
    mine = [tuple(np.flatnonzero(group == one).tolist()) for one in range(parts.groups)]
    return over(mine, np.arange(wanted.tables) % parts.groups)


SHARDING = Sharding("Two-level", "Whole tables dealt out to nodes, and their rows over the parts of a node.", pieces)
