"""Row-wise: each table's rows over all parts, each of which pools its own and sends sums of all samples."""

from ..sharding import Piece, Pieces, Sharding, Wanted


def pieces(wanted: Wanted) -> Pieces:
    """Spread every table over all parts."""
    return ((Piece(1.0, tuple(range(wanted.parts.number))),),) * wanted.tables


SHARDING = Sharding(
    "Row-wise", "Each table's rows over all parts; every part sends partial sums for each sample and table.", pieces
)
