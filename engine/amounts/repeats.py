"""Repeated lookups of a batch for which the near-data scratchpad has no room.

The indices of a batch are known before its rows are read, so the scratchpad keeps the rows that the batch uses most often.
"""

from math import comb

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.memo import point_by_point
from ..scenario.scenario import Scenario
from ..workload.popularity import table_kinds
from ..workload.spectrum import table_spectra

MAX_USES = 64  # uses of a row in a batch; the few rows with more uses are taken as used equally often


@point_by_point
def expected_repeats(s: Scenario, room: float) -> float:
    """Return the expected repeated lookups of rows without room in the scratchpad.

    The scratchpad has room for `room` rows. The uses of a row in a batch are taken as Poisson distributed; locality is left out.
    """
    kinds = table_kinds(s)
    tables, lookups = table_spectra(kinds.laws), s.data.batch_size * np.array(kinds.pooling, dtype=np.float64)
    classes = np.diff(tables.start, append=len(tables.p))
    mean, rows = np.repeat(lookups, classes) * tables.p, np.repeat(kinds.table_counts, classes) * tables.rows
    chance, rows_by_uses = np.exp(-mean), np.zeros(MAX_USES + 1)
    used_rows, uses = rows @ -np.expm1(-mean), float(rows @ mean)
    for times in range(1, MAX_USES):
        chance = chance * mean / times
        rows_by_uses[times] = rows @ chance
    frequent_rows = max(used_rows - rows_by_uses.sum(), 0.0)
    return _repeats_without_room(rows_by_uses, frequent_rows, uses - float(np.arange(MAX_USES + 1) @ rows_by_uses), room)


@point_by_point
def expected_joins(s: Scenario, room: float) -> float:
    """Return the expected repeated gradients of rows without room, from further GPUs.

    The scratchpad has room for `room` rows. Each GPU uses a row by chance, Poisson distributed; locality is left out.
    """
    kinds, gpus = table_kinds(s), s.machine.num_gpus
    tables, lookups = table_spectra(kinds.laws), s.data.batch_size * np.array(kinds.pooling, dtype=np.float64)
    classes = np.diff(tables.start, append=len(tables.p))
    used = -np.expm1(-np.repeat(lookups, classes) * tables.p / gpus)  # the chance that a GPU uses a row
    rows = np.repeat(kinds.table_counts, classes) * tables.rows
    rows_by_gpus = np.array([rows @ (comb(gpus, n) * used**n * (1 - used) ** (gpus - n)) for n in range(gpus + 1)])
    return _repeats_without_room(rows_by_gpus, 0.0, 0.0, room)


def counted_repeats(ids: Ints, room: float) -> float:
    """Return the repeated lookups of rows without room in the scratchpad, counted from `ids`.

    The scratchpad has room for `room` rows.
    """
    rows_by_uses = np.bincount(np.unique(ids, return_counts=True)[1]).astype(np.float64)
    return _repeats_without_room(rows_by_uses, 0.0, 0.0, room)


def _repeats_without_room(rows_by_uses: Floats, frequent_rows: float, frequent_uses: float, room: float) -> float:
    """Return the repeated lookups of rows without room.

    Rows used most often have their place first. `rows_by_uses[n]` rows are used n times each; the `frequent_rows` have
    `frequent_uses` uses together.
    """
    rows = np.concatenate(([frequent_rows], rows_by_uses[::-1]))
    repeats = np.concatenate(
        ([max(frequent_uses - frequent_rows, 0.0)], (rows_by_uses * np.maximum(np.arange(len(rows_by_uses)) - 1, 0))[::-1])
    )
    rows_ahead = np.cumsum(rows) - rows
    kept_share = np.clip(room - rows_ahead, 0.0, rows) / np.maximum(rows, 1e-300)
    return float(((1 - kept_share) * repeats).sum())
