"""Column-wise: each table's columns in ranges, dealt out in turn."""

import numpy as np

from ..sharding import Pieces, Sharding, Wanted


def pieces(wanted: Wanted) -> Pieces:
    """Cut every table into as many ranges as there are parts, of 32 columns or more, and deal them all out in turn."""
    ranges = wanted.ranges(wanted.parts.number)
    table = np.repeat(np.arange(wanted.tables), ranges)
    return Pieces(table, np.repeat(1 / ranges, ranges), np.arange(len(table)) % wanted.parts.number)


SHARDING = Sharding("Column-wise", "Each table's columns in ranges of 32 or more, dealt out to the parts in turn.", pieces)
