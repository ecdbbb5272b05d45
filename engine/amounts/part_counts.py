"""Lookups and unique rows of each part in a batch, counted from its ids by the plan that divides the tables."""

from collections.abc import Callable

import numpy as np

from ..core.arrays import Floats, Ints
from ..scenario.groups import Model
from ..systems.sharding import Pieces
from ..systems.table_placement import Weight
from ..workload.batch import offsets, table_ends
from ..workload.row_spread import counted_spread

Counter = Callable[[Ints, Ints], Floats]


def counter(model: Model, parts: int, pieces: Pieces, weight: Weight = None) -> Counter:
    """Return what counts a batch: from its ids, and the unique rows of each table, to (2, parts) lookups and unique rows.

    Each counts as many times as `weight`, (2, T), says of its table; once without.
    """
    first, weights = offsets(model), None if weight is None else np.array(weight)
    alone = pieces.place >= 0
    table, width, part = (column[alone] for column in (pieces.table, pieces.width, pieces.place))
    shared = (column[~alone].tolist() for column in (pieces.table, pieces.width, ~pieces.place))
    spread = [(one, share, pieces.runs[run]) for one, share, run in zip(*shared, strict=True)]

    def count(ids: Ints, unique: Ints) -> Floats:
        layout = table_ends(ids, first)
        lookups = np.diff(layout).astype(np.float64)
        counts = (lookups, unique) if weights is None else (lookups * weights[0], unique * weights[1])
        found = np.array([np.bincount(part, weights=width * each[table], minlength=parts) for each in counts])
        for one, share, over in spread:
            mine = share * counted_spread(ids[layout[one] : layout[one + 1]], len(over))
            if weights is not None:
                mine = mine * weights[:, one, None]
            for row, amounts in zip(found, mine, strict=True):
                np.add.at(row, list(over), amounts)
        return found

    return count
