"""Placement of tables in a scale-out system: by bandwidth density into HBM, then DRAM, the rest below.

Bandwidth density is lookups per sample and row: rows of small tables are asked for more often than rows of large ones.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..core.arrays import Floats
from ..core.constants import Constant
from ..core.memo import remembered
from ..core.work import Amount
from ..hardware.device import nodes
from ..hardware.devices.gpu import memory_bytes
from ..scenario.scenario import Scenario, per_table
from ..units import GiB
from ..workload.accesses import expected
from ..workload.caching.expected_cache import expected_moves, missed_rows
from .row_kinds import row_bytes
from .traffic import activation_bytes, mlp_bytes, table_bytes, table_nbytes

USABLE = Constant("memory for tables", 0.9, "of what is left", 0.7, 0.95, "unsourced", "the rest: buffers, fragments, the host")
Tables = tuple[int, ...]


class Placement(NamedTuple):
    """The tables in each memory, by number."""

    hbm: Tables
    dram: Tables
    below: Tables


class Levels(NamedTuple):
    """A batch's unique rows, or shares of them: in DRAM's own tables; below them in DRAM's cache, in SCM, on drives."""

    dram: Amount
    cached: Amount
    scm: Amount
    drives: Amount


class Tiers(NamedTuple):
    """Of each table the bytes `kept` in each memory, (T,), and the unique rows of a batch outside HBM: in DRAM, below, (2, T)."""

    kept: Mapping[str, Floats]
    far: Floats


@remembered()
def placement(s: Scenario, dram_cache_bytes: float = 0.0) -> Placement:
    """Place whole tables, densest first, each where there is room; `dram_cache_bytes` of DRAM are not for tables."""
    gpu_room = memory_bytes(s.machine) - 2 * mlp_bytes(s) - activation_bytes(s)
    hbm, dram = USABLE.value * s.machine.num_gpus * gpu_room, dram_room(s) - dram_cache_bytes
    rows, nbytes_of = per_table(s.model, "num_embeddings"), table_nbytes(s).tolist()
    tiers: tuple[list[int], ...] = ([], [], [])
    for table in _densest_first(rows, per_table(s.model, "pooling")):
        need = nbytes_of[table]
        if need <= hbm:
            hbm -= need
            tiers[0].append(table)
        elif need <= dram:
            dram -= need
            tiers[1].append(table)
        else:
            tiers[2].append(table)
    return Placement(*map(tuple, tiers))


@lru_cache(maxsize=64)
def _densest_first(rows: Tables, pooling: Tables) -> Tables:
    return tuple(sorted(range(len(rows)), key=lambda table: rows[table] / pooling[table]))


def dram_room(s: Scenario) -> float:
    """Return the bytes of DRAM that tables and caches may take, over all nodes."""
    return USABLE.value * nodes(s.machine) * (s.machine.host_dram_GiB or 0.0) * GiB


def nbytes(s: Scenario, tables: Tables) -> float:
    """Return the bytes of some tables with their optimizer state."""
    return float(table_nbytes(s)[list(tables)].sum())


def hbm_and_dram(s: Scenario) -> dict[str, float]:
    """Return what a system keeps that has HBM and DRAM alone: what does not fit HBM must fit DRAM, with what the host needs."""
    hbm = nbytes(s, placement(s).hbm)
    return {"hbm": hbm, "dram": (table_bytes(s) - hbm) / USABLE.value}


def tiers(s: Scenario, dram_cache_bytes: float = 0.0) -> Tiers:
    """Return what of each table lies where, and its rows outside HBM; what is not `USABLE` is room for uneven parts."""
    dense = placement(s, dram_cache_bytes)
    every, touched = table_nbytes(s), expected(s).unique_rows
    of = [np.isin(np.arange(len(every)), tables) for tables in dense]
    kept = {place: mine * every for place, mine in zip(("hbm", "dram"), of, strict=False)}
    return Tiers(kept, np.array([mine * touched for mine in of[1:]]))


def table_levels(s: Scenario, dram_cache_rows: float, scm_rows: float) -> Floats:
    """Return the unique rows of a batch by memory outside HBM and by table, (LEVELS, T)."""
    dense, unique = placement(s, dram_cache_rows * row_bytes(s)), expected(s).unique_rows
    held = (dram_cache_rows, max(dram_cache_rows, scm_rows))
    near, far = (missed_rows(s, "lru", rows, tables=dense.below) for rows in held)
    where = [np.isin(np.arange(len(unique)), tables) for tables in (dense.dram, dense.below)]
    fetched = np.minimum(near, where[1] * unique)
    missed = np.minimum(far, fetched)
    return np.array([where[0] * unique, where[1] * unique - fetched, fetched - missed, missed])


def share_of_rows(s: Scenario, tables: Tables) -> float:
    """Return the share of a batch's unique rows that lie in some tables."""
    unique = expected(s).unique_rows
    return float(unique[list(tables)].sum() / unique.sum())


def levels(s: Scenario, dram_cache_rows: float, scm_rows: float) -> Levels:
    """Return where a batch's rows outside HBM are found; each cache holds all that the smaller one above it holds."""
    dense = placement(s, dram_cache_rows * row_bytes(s))
    every, below = float(expected(s).unique_rows.sum()), share_of_rows(s, dense.below)
    held = (dram_cache_rows, max(dram_cache_rows, scm_rows))
    near, far = (expected_moves(s, "lru", rows, tables=dense.below).misses / every for rows in held)
    fetched = min(near, below)
    missed = min(far, fetched)
    return Levels(share_of_rows(s, dense.dram), below - fetched, fetched - missed, missed)
