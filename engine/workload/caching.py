"""What a cache in front of the tables is expected to miss: unique rows of a batch that it must fetch, by policy.

A cache serves whole batches: a row is fetched once for a batch, however often the batch looks it up, and rows of the
batch itself are never pushed out.
"""

from collections.abc import Callable, Mapping

import numpy as np

from engine.scenario import Scenario, per_table
from engine.workload.accesses import lookups
from engine.workload.arrays import Floats
from engine.workload.expectation import HALVINGS, gap_rate, stay, unused
from engine.workload.popularity import popularities
from engine.workload.spectrum import Spectrum, id_space, spectra

Misses = Callable[[Spectrum, float, float, float], float]


def expected_fetches(s: Scenario, policy: str, capacity_rows: float) -> float:
    """Return the unique rows of a batch that a cache of `capacity_rows` rows over all tables must fetch."""
    space = id_space(popularities(s), per_table(s.model, "pooling"))
    if capacity_rows >= space.rows.sum():
        return 0.0
    return MISSES[policy](space, float(lookups(s).sum()), max(capacity_rows, 0.0), s.data.locality)


def _recency(space: Spectrum, batch: float, capacity: float, locality: float) -> float:
    """LRU: a row is fetched when its last use lies further back than rows stay, but not in this batch."""
    stays = float(stay(space, capacity, locality)) if capacity >= 1 else 0.0
    x = gap_rate(space.p)
    return float(space.rows @ (unused(stays * x, locality) - unused((stays + batch) * x, locality)))


def _frequency(space: Spectrum, batch: float, capacity: float, locality: float) -> float:
    """The most popular rows stay; the batch's others share what is left, so of these the batch before's are still there."""
    x = batch * gap_rate(space.p)
    touched = 1 - unused(x, locality)
    low, high = 0.0, capacity
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        room = middle + float((space.rows - head(space, middle)) @ touched) <= capacity
        low, high = (middle, high) if room else (low, middle)
    return float((space.rows - head(space, low)) @ (unused(x, locality) - unused(2 * x, locality)))


MISSES: Mapping[str, Misses] = {"lru": _recency, "frequency": _frequency}


def look_ahead_fetches(s: Scenario, batches: int) -> float:
    """Return the unique rows of a batch that none of the `batches` batches before has used, and so were let go."""
    space = id_space(popularities(s), per_table(s.model, "pooling"))
    x = float(lookups(s).sum()) * gap_rate(space.p)
    return float(space.rows @ (unused(batches * x, s.data.locality) - unused((batches + 1) * x, s.data.locality)))


def head(space: Spectrum, capacity: float) -> Floats:
    """Return how many rows of each class are among the `capacity` most popular ones."""
    before = np.concatenate(([0.0], np.cumsum(space.rows)[:-1]))
    return np.clip(capacity - before, 0.0, space.rows)


def hot_mass(s: Scenario, capacity: float) -> Floats:
    """Return (T,) the share of each table's lookups that the `capacity` most popular rows of all tables take."""
    pooling = np.array(per_table(s.model, "pooling"), dtype=np.float64)
    tables = spectra(popularities(s))
    table = np.repeat(np.arange(len(pooling)), np.diff(tables.start, append=len(tables.p)))
    p = tables.p * (pooling / pooling.sum())[table]
    order = np.argsort(-p, kind="stable")
    kept = np.empty_like(p)
    kept[order] = np.clip(capacity - np.concatenate(([0.0], np.cumsum(tables.rows[order])[:-1])), 0.0, tables.rows[order])
    return np.bincount(table, weights=kept * tables.p, minlength=len(pooling)).astype(np.float64)


def popular_share(s: Scenario, capacity: float) -> float:
    """Return the share of samples whose every lookup meets one of the `capacity` most popular rows."""
    return float(np.prod(hot_mass(s, capacity) ** np.array(per_table(s.model, "pooling"))))
