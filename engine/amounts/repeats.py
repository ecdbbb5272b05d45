"""Repeated lookups of a batch for which the near-data scratchpad has no room.

The indices of a batch are known before its rows are read, so the scratchpad keeps the rows that the batch uses most often.
"""

from math import comb

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.memo import point_by_point
from ..scenario.scenario import Scenario
from ..workload.accesses import distinct_events
from ..workload.popularity import table_kinds
from ..workload.spectrum import table_spectra

MAX_USES = 64  # uses of a row in a batch; rows of equal popularity with more uses are taken as used equally often


@point_by_point
def expected_repeats(s: Scenario, room: float) -> float:
    """Return the expected repeated lookups of rows without room in the scratchpad.

    The scratchpad has room for `room` rows. The uses of a row in a batch are taken as Poisson distributed; locality is left out.
    Samples of a user share events of a history, so that each event is used by several of them.
    """
    kinds = table_kinds(s)
    tables, lookups = table_spectra(kinds.laws), s.data.batch_size * np.array(kinds.pooling, dtype=np.float64)
    events, classes = distinct_events(kinds, s.data.batch_size, s.data.samples_per_user), _classes(tables.start, len(tables.p))
    mean, times = np.repeat(events, classes) * tables.p, lookups / events
    rows, chance = np.repeat(kinds.table_counts, classes) * tables.rows, np.exp(-mean)
    rows_by_uses, below, counted_uses = np.zeros((len(lookups), MAX_USES)), chance.copy(), np.zeros(len(mean))
    for number in range(1, MAX_USES):
        chance = chance * mean / number
        rows_by_uses[:, number] = np.add.reduceat(rows * chance, tables.start)
        below, counted_uses = below + chance, counted_uses + number * chance
    frequent_rows = np.maximum(1 - below, 0.0) * rows
    frequent_uses = np.maximum(mean - counted_uses, 0.0) * rows / np.maximum(frequent_rows, 1e-300) * np.repeat(times, classes)
    return _repeats_without_room(
        np.concatenate([rows_by_uses.ravel(), frequent_rows]),
        np.concatenate([np.outer(times, np.arange(MAX_USES)).ravel(), frequent_uses]),
        room,
    )


@point_by_point
def expected_joins(s: Scenario, room: float) -> float:
    """Return the expected repeated gradients of rows without room, from further GPUs.

    The scratchpad has room for `room` rows. Each GPU uses a row by chance, Poisson distributed; locality is left out.
    """
    kinds, gpus = table_kinds(s), s.machine.num_gpus
    tables, events = table_spectra(kinds.laws), distinct_events(kinds, s.data.batch_size / gpus, s.data.samples_per_user)
    classes = _classes(tables.start, len(tables.p))
    used = -np.expm1(-np.repeat(events, classes) * tables.p)  # the chance that a GPU uses a row
    rows = np.repeat(kinds.table_counts, classes) * tables.rows
    rows_by_gpus = np.array([rows @ (comb(gpus, n) * used**n * (1 - used) ** (gpus - n)) for n in range(gpus + 1)])
    return _repeats_without_room(rows_by_gpus, np.arange(gpus + 1.0), room)


def counted_repeats(ids: Ints, room: float) -> float:
    """Return the repeated lookups of rows without room in the scratchpad, counted from `ids`.

    The scratchpad has room for `room` rows.
    """
    rows_by_uses = np.bincount(np.unique(ids, return_counts=True)[1]).astype(np.float64)
    return _repeats_without_room(rows_by_uses, np.arange(float(len(rows_by_uses))), room)


def _classes(starts: Ints, total: int) -> Ints:
    """Return the number of classes of equal popularity of each kind of table, (K,)."""
    return np.diff(starts, append=total)


def _repeats_without_room(rows: Floats, uses: Floats, room: float) -> float:
    """Return the repeated lookups of rows without room.

    Rows used most often have their place first. `rows[i]` rows are used `uses[i]` times each.
    """
    order = np.argsort(-uses, kind="stable")
    rows, uses = rows[order], uses[order]
    rows_ahead = np.cumsum(rows) - rows
    kept_share = np.clip(room - rows_ahead, 0.0, rows) / np.maximum(rows, 1e-300)
    return float(((1 - kept_share) * rows * np.maximum(uses - 1, 0.0)).sum())
