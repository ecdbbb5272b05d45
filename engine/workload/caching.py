"""What a cache in front of the tables is expected to miss: unique rows of a batch that it must fetch, by policy.

A cache serves whole batches: a row is fetched once for a batch, however often the batch looks it up, and rows of the
batch itself are never pushed out.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from engine.scenario import Scenario, per_table
from engine.workload.accesses import lookups
from engine.workload.arrays import Floats
from engine.workload.expectation import HALVINGS, gap_rate, stay, unused
from engine.workload.links import head_quantile, links
from engine.workload.popularity import popularities
from engine.workload.spectrum import Spectrum, id_space, spectra

Misses = Callable[[Spectrum, float, float, float], float]


def expected_fetches(s: Scenario, policy: str, capacity_rows: float, tables: Sequence[int] | None = None) -> float:
    """Return the unique rows of a batch that a cache of `capacity_rows` rows over all tables, or some, must fetch."""
    law, pooling, batch = popularities(s), per_table(s.model, "pooling"), lookups(s)
    chosen = range(len(law)) if tables is None else tables
    if not len(chosen):
        return 0.0
    space = id_space(tuple(law[t] for t in chosen), tuple(pooling[t] for t in chosen))
    if capacity_rows >= space.rows.sum():
        return 0.0
    return MISSES[policy](space, float(batch[list(chosen)].sum()), max(capacity_rows, 0.0), s.data.locality)


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
    return hottest(s, capacity)[1]


def hottest(s: Scenario, capacity: float) -> tuple[Floats, Floats]:
    """Return (T,) how many of the `capacity` most popular rows each table has, and their share of its lookups."""
    pooling = np.array(per_table(s.model, "pooling"), dtype=np.float64)
    tables = spectra(popularities(s))
    table = np.repeat(np.arange(len(pooling)), np.diff(tables.start, append=len(tables.p)))
    p = tables.p * (pooling / pooling.sum())[table]
    order = np.argsort(-p, kind="stable")
    kept = np.empty_like(p)
    kept[order] = np.clip(capacity - np.concatenate(([0.0], np.cumsum(tables.rows[order])[:-1])), 0.0, tables.rows[order])
    rows, mass = (np.bincount(table, weights=amount, minlength=len(pooling)) for amount in (kept, kept * tables.p))
    return rows.astype(np.float64), mass.astype(np.float64)


class Split(NamedTuple):
    """Shares of a batch's unique rows: those among the hot ones, and cold ones that the batch before has used too."""

    hot: float
    again: float


def hot_split(s: Scenario, capacity: float) -> Split:
    """Return how a batch's unique rows split when the `capacity` most popular rows of all tables count as hot."""
    space = id_space(popularities(s), per_table(s.model, "pooling"))
    x, locality = float(lookups(s).sum()) * gap_rate(space.p), s.data.locality
    void, hot = unused(x, locality), head(space, capacity)
    unique = float(space.rows @ (1 - void))
    both = 1 - 2 * void + unused(2 * x, locality)
    return Split(float(hot @ (1 - void)) / unique, float((space.rows - hot) @ both) / unique)


def popular_share(s: Scenario, capacity: float) -> float:
    """Return the share of samples whose every lookup meets one of the `capacity` most popular rows."""
    if capacity >= sum(per_table(s.model, "num_embeddings")):
        return 1.0
    (rows, mass), pooling = hottest(s, capacity), np.array(per_table(s.model, "pooling"))
    alone, groups, laws = mass**pooling, links(s), popularities(s)
    together = [min(head_quantile(laws[t], rows[t]) ** float(pooling[t]) for t in group) for group in groups]
    others = np.delete(alone, [table for group in groups for table in group])
    linked = s.data.sample_correlation if groups else 0.0
    return float((1 - linked) * np.prod(alone) + linked * np.prod(others) * np.prod(together))
