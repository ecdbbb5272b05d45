"""What a plan asks of each part: lookups, unique rows and indices, a table's hottest rows where their hash has them lie."""

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.jit import entry
from ..workload.row_spread import Spreads
from .sharding import Pieces, Shares, shares


def loaded(batch: Spreads, pieces: Pieces, parts: int) -> Floats:
    """Return the lookups, unique rows and indices of each part, (3, P)."""
    of, found = shares(pieces.place, pieces.runs, parts), np.zeros((3, parts))
    at, every, length = np.zeros_like(of.first), [np.zeros(0)], 0
    for count in sorted({len(run) for run in pieces.runs}):
        mine = of.many == count
        every.append(batch.over(count, pieces.table[mine]).reshape(-1))
        at[mine] = length + pieces.table[mine] * 2 * count
        length += len(every[-1])
    joined = every[-1] if len(every) <= 2 else np.concatenate(every)
    _load(pieces.table, pieces.width, of, batch.tables, joined, at, found)
    return found


@entry
def _load(table: Ints, width: Floats, of: Shares, tables: Floats, every: Floats, at: Ints, found: Floats) -> None:
    for piece in range(len(table)):
        first, many = of.first[piece], of.many[piece]
        for share in range(many):
            lookups, rows = tables[0, table[piece]], tables[1, table[piece]]
            if many > 1:
                lookups, rows = every[at[piece] + share], every[at[piece] + many + share]
            part = of.owner[first + share]
            found[0, part] += width[piece] * lookups
            found[1, part] += width[piece] * rows
            found[2, part] += lookups
