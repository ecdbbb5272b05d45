"""Repeated rows of a batch, and how many lookups come back to a row that a small memory beside its controllers had no room for.

The indices of a batch are known before its rows are read, so that memory keeps the rows that the batch uses most often.
"""

import numpy as np

from ..core.arrays import Floats, Ints
from ..scenario.scenario import Scenario
from ..workload.popularity import alike
from ..workload.spectrum import spectra

OFTEN = 64  # rows used more often than this in a batch are few; they are taken as used equally often


def expected_again(s: Scenario, room: float) -> float:
    """Return the expected lookups of a batch whose row was read before and had no place among `room` rows.

    Uses of a row in a batch are taken as Poisson; locality is not looked at.
    """
    every = alike(s)
    tables, of = spectra(every.laws), s.data.batch_size * np.array(every.pooling, dtype=np.float64)
    classes = np.diff(tables.start, append=len(tables.p))
    mean, rows = np.repeat(of, classes) * tables.p, np.repeat(every.tables, classes) * tables.rows
    chance, used = np.exp(-mean), np.zeros(OFTEN + 1)
    left, uses = rows @ -np.expm1(-mean), float(rows @ mean)
    for times in range(1, OFTEN):
        chance = chance * mean / times
        used[times] = rows @ chance
    more = max(left - used.sum(), 0.0)
    return _beyond(used, more, uses - float(np.arange(OFTEN + 1) @ used), room)


def counted_again(ids: Ints, room: float) -> float:
    """Return the same for the ids of one batch."""
    used = np.bincount(np.unique(ids, return_counts=True)[1]).astype(np.float64)
    return _beyond(used, 0.0, 0.0, room)


def _beyond(used: Floats, more: float, uses: float, room: float) -> float:
    """Return repeats beyond the room; `used[n]` rows are used n times each, and `more` rows, which come first, `uses` times."""
    rows = np.concatenate(([more], used[::-1]))
    repeats = np.concatenate(([max(uses - more, 0.0)], (used * np.maximum(np.arange(len(used)) - 1, 0))[::-1]))
    before = np.cumsum(rows) - rows
    held = np.clip(room - before, 0.0, rows) / np.maximum(rows, 1e-300)
    return float(((1 - held) * repeats).sum())
