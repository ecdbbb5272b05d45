"""Where a batch's rows are expected: which miss an LRU cache of some tables, which are hot, cold, or trained just before."""

from collections.abc import Sequence
from typing import NamedTuple

from engine.scenario import Scenario, per_table
from engine.workload.accesses import lookups
from engine.workload.caching import head
from engine.workload.expectation import gap_rate, stay, unused
from engine.workload.popularity import popularities
from engine.workload.spectrum import id_space


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


def lru_fetches(s: Scenario, capacity: float, tables: Sequence[int]) -> float:
    """Return the unique rows of a batch that an LRU cache of `capacity` rows over some tables must fetch.

    A row is fetched if its last use lies further back than rows stay, and it is used in this batch.
    """
    law, pooling, batch, locality = popularities(s), per_table(s.model, "pooling"), lookups(s), s.data.locality
    if not tables:
        return 0.0
    space = id_space(tuple(law[table] for table in tables), tuple(pooling[table] for table in tables))
    if capacity >= space.rows.sum():
        return 0.0
    stays, x = float(stay(space, capacity, locality)) if capacity >= 1 else 0.0, gap_rate(space.p)
    return float(space.rows @ (unused(stays * x, locality) - unused((stays + batch[list(tables)].sum()) * x, locality)))
