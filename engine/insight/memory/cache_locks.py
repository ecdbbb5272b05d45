"""Rows that a locked cache in HBM refuses, by its size: the knee where the rows of two batches fill its sets."""

from typing import NamedTuple

import numpy as np

from ...core.figures import figure, percent
from ...scenario.scenario import Scenario, with_values
from ...systems.kernels.in_force import system_in_force
from ...systems.row_kinds import kind_bytes
from ...systems.system import cache_policy, cached_tables
from ...units import GB
from ...workload.accesses import expected
from ...workload.caching.expected_cache import expected_moves

SHARE = "policy.cache_load_factor"
TIMES = tuple(np.geomspace(0.125, 8.0, 13).tolist())  # of a batch's unique rows
FEW = 0.01  # of a batch's unique rows that count as none


class LockPoint(NamedTuple):
    """A cache of some size: its share of the tables' rows, GB, and shares of a batch's unique rows that it misses and refuses."""

    share: float
    gigabytes: float
    missing: float
    refused: float


def lock_curve(s: Scenario) -> tuple[LockPoint, ...]:
    """Return what caches of several sizes miss and refuse, from the smallest; none for a system without a locked cache."""
    cache = system_in_force(s).cache
    if cache is None or cache_policy(s, cache) != "lru in sets":
        return ()
    tables = cached_tables(s, cache)
    mine = list(range(s.model.num_tables) if tables is None else tables)
    rows, unique = np.array(s.model.num_embeddings), float(expected(s).unique_rows[mine].sum())
    every = (np.broadcast_to(rows, s.model.num_tables) if len(rows) == 1 else rows)[mine]
    nbytes = float(every @ kind_bytes(s, "row")[mine])
    shares = dict.fromkeys(min(1.0, times * unique / float(every.sum())) for times in TIMES)
    found = []
    for share in shares:
        sized = with_values(s, {SHARE: share})
        moved = expected_moves(sized, "lru in sets", cache.rows(sized), tables=tables)
        found.append(LockPoint(share, share * nbytes / GB, moved.misses / unique, moved.refused / unique))
    return tuple(found)


def knee(points: tuple[LockPoint, ...]) -> float | None:
    """Return the GB from which on fewer than 1 % of a batch's rows are refused; None where already the smallest refuses fewer."""
    refused = np.array([point.refused for point in points])
    above = np.flatnonzero(refused >= FEW)
    if not len(above) or above[-1] + 1 == len(points):
        return None
    low, high = points[above[-1]], points[above[-1] + 1]
    part = (low.refused - FEW) / (low.refused - high.refused)
    return float(np.exp((1 - part) * np.log(low.gigabytes) + part * np.log(high.gigabytes)))


def finding(s: Scenario, points: tuple[LockPoint, ...]) -> str:
    """Return what the curve shows, in a sentence without its full stop."""
    own = s.policy.cache_load_factor
    refused = float(
        np.interp(np.log(max(own, 1e-12)), np.log([point.share for point in points]), [point.refused for point in points])
    )
    bend = knee(points)
    if bend is None:
        return f"The cache refuses {percent(refused)} of a batch's rows"
    return f"From {figure(bend, 'GB')} on the rows of two batches fit; this cache refuses {percent(refused)} of a batch's rows"
