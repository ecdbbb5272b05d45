"""Column-wise: each table's columns in ranges, dealt out in turn."""

from ..sharding import Piece, Pieces, Sharding, Wanted


def pieces(wanted: Wanted) -> Pieces:
    """Cut every table into as many ranges as there are parts, of 32 columns or more, and deal them all out in turn."""
    count = wanted.parts.number
    ranges = wanted.ranges(count)
    each = [Piece(1 / ranges, (part,)) for part in range(count)]
    return tuple(tuple(each[(table * ranges + piece) % count] for piece in range(ranges)) for table in range(wanted.tables))


SHARDING = Sharding("Column-wise", "Each table's columns in ranges of 32 or more, dealt out to the parts in turn.", pieces)
