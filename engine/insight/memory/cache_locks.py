"""Rows that a cache in HBM with locked sets refuses, by the cache's size.

From a certain size on, the sets have room for the rows of two batches: the knee of the curve.
"""

from typing import NamedTuple

import numpy as np

from ...core.arithmetic import remaining_share
from ...core.figures import figure, percent
from ...scenario.scenario import Scenario, with_values
from ...systems.kernels.in_force import system_in_force
from ...systems.row_kinds import kind_bytes
from ...systems.system import cache_policy, cached_tables
from ...units import GB
from ...workload.accesses import expected_accesses
from ...workload.caching.expected_cache import expected_moves

CACHE_SHARE = "policy.cache_load_factor"
UNIQUE_ROW_MULTIPLES = tuple(np.geomspace(0.125, 8.0, 13).tolist())  # of a batch's unique rows
FEW_REFUSED = 0.01  # of a batch's unique rows that count as none


class LockPoint(NamedTuple):
    """A locked cache of one size.

    share: its rows as a share of the tables' rows.
    gigabytes: its size [GB].
    missed: share of a batch's unique rows that the cache misses.
    refused: share of a batch's unique rows that find their set locked.
    hit_rate: cache hit rate: share of lookups whose row was in the cache when their batch began.
    """

    share: float
    gigabytes: float
    missed: float
    refused: float
    hit_rate: float


def has_locked_sets(s: Scenario) -> bool:
    """Return whether the system has a cache in sets that locks the rows in use."""
    cache = system_in_force(s).cache
    return cache is not None and cache_policy(s, cache) == "lru in sets"


def lock_curve(s: Scenario) -> tuple[LockPoint, ...]:
    """Return locked caches of several sizes and of the scenario's own, the smallest first.

    Return () for a system without a locked cache.
    """
    cache = system_in_force(s).cache
    if cache is None or not has_locked_sets(s):
        return ()
    tables = cached_tables(s, cache)
    table_numbers = list(range(s.model.num_tables) if tables is None else tables)
    rows, unique = np.array(s.model.num_embeddings), float(expected_accesses(s).unique_rows[table_numbers].sum())
    table_rows = (np.broadcast_to(rows, s.model.num_tables) if len(rows) == 1 else rows)[table_numbers]
    nbytes = float(table_rows @ kind_bytes(s, "row")[table_numbers])
    shares = {min(1.0, times * unique / float(table_rows.sum())) for times in UNIQUE_ROW_MULTIPLES}
    if s.policy.cache_load_factor > 0:
        shares.add(s.policy.cache_load_factor)
    looked_up, points = float(expected_accesses(s).lookups[table_numbers].sum()), []
    for share in sorted(shares):
        sized = with_values(s, {CACHE_SHARE: share})
        cache_traffic = expected_moves(sized, "lru in sets", cache.rows(sized), tables=tables)
        hit_rate = float(remaining_share(cache_traffic.missed_lookups, looked_up))
        points.append(
            LockPoint(share, share * nbytes / GB, cache_traffic.misses / unique, cache_traffic.refused / unique, hit_rate)
        )
    return tuple(points)


def knee(points: tuple[LockPoint, ...]) -> float | None:
    """Return the cache size [GB] from which under 1 % of a batch's rows are refused.

    Return None where even the smallest cache refuses fewer rows, or the largest cache refuses more.
    """
    refused = np.array([point.refused for point in points])
    refusing = np.flatnonzero(refused >= FEW_REFUSED)
    if not len(refusing) or refusing[-1] + 1 == len(points):
        return None
    low, high = points[refusing[-1]], points[refusing[-1] + 1]
    part = (low.refused - FEW_REFUSED) / (low.refused - high.refused)
    return float(np.exp((1 - part) * np.log(low.gigabytes) + part * np.log(high.gigabytes)))


def finding(s: Scenario, points: tuple[LockPoint, ...]) -> str:
    """Return the curve's finding as a sentence without a full stop."""
    own = min(points, key=lambda point: abs(point.share - s.policy.cache_load_factor))
    cache = f"this cache refuses {percent(own.refused)} of a batch's rows, with a cache hit rate of {percent(own.hit_rate)}"
    bend = knee(points)
    return (
        cache[0].upper() + cache[1:] if bend is None else (f"From {figure(bend, 'GB')} on, the rows of two batches fit; {cache}")
    )
