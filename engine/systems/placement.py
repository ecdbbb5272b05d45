"""Placement of tables by bandwidth density: first into HBM, then DRAM, then lower memory.

Bandwidth density is lookups per sample and row: a row of a small table is looked up more often than a row of a large table.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..core.arrays import Floats
from ..core.constants import Constant
from ..core.memo import memoised, point_by_point
from ..core.points.numbers import as_float
from ..core.work import Amount
from ..hardware.device import nodes
from ..hardware.devices.gpu import memory_bytes
from ..scenario.scenario import Scenario, per_table
from ..units import GiB
from ..workload.accesses import expected_accesses
from ..workload.caching.expected_cache import expected_moves, missed_rows
from .exchange.buffers import vector_buffers
from .row_kinds import row_bytes
from .traffic import activation_bytes, mlp_bytes, table_bytes, table_nbytes

USABLE = Constant("memory for tables", 0.9, "of what is left", 0.7, 0.95, "unsourced", "the rest: buffers, fragments, the host")
Tables = tuple[int, ...]


class Placement(NamedTuple):
    """The numbers of the tables in each memory: `hbm`, `dram` and `below_dram`."""

    hbm: Tables
    dram: Tables
    below_dram: Tables


class Levels(NamedTuple):
    """A batch's unique rows, or their shares, by the memory outside HBM that holds them.

    dram: rows of tables in DRAM.
    dram_cache: rows of lower tables in DRAM's cache.
    scm: rows in storage-class memory (PMEM as a cache).
    drives: rows on drives.
    """

    dram: Amount
    dram_cache: Amount
    scm: Amount
    drives: Amount


class Tiers(NamedTuple):
    """Bytes and rows of each table by memory.

    nbytes_by_memory: bytes of each table in each memory, (T,).
    far_rows: unique rows of a batch outside HBM, in DRAM and below it, (2, T).
    """

    nbytes_by_memory: Mapping[str, Floats]
    far_rows: Floats


@memoised(each_point_alone=True)
def placement(s: Scenario, dram_cache_bytes: float = 0.0) -> Placement:
    """Return the placement of whole tables, densest first, each in the fastest memory with room.

    `dram_cache_bytes` of DRAM are reserved for a cache.
    """
    gpu_room = memory_bytes(s.machine) - 2 * mlp_bytes(s) - activation_bytes(s) - vector_buffers(s).sent_bytes
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
    """Return the tables by falling bandwidth density."""
    return tuple(sorted(range(len(rows)), key=lambda table: rows[table] / pooling[table]))


def dram_room(s: Scenario) -> float:
    """Return the bytes of DRAM that tables and caches may take, over all nodes."""
    return USABLE.value * nodes(s.machine) * (s.machine.host_dram_GiB or 0.0) * GiB


def nbytes_by_tier(s: Scenario, dense: Placement) -> tuple[float, ...]:
    """Return the bytes of each tier's tables, with their optimizer state, (3,)."""
    nbytes = table_nbytes(s)
    return tuple([as_float(nbytes[list(tables)].sum()) for tables in dense])


def hbm_dram_bytes(s: Scenario) -> dict[str, float]:
    """Return the bytes in HBM and in DRAM of a system without other memories.

    Tables that do not fit into HBM must fit into DRAM, together with the host's own needs.
    """
    hbm, *_ = nbytes_by_tier(s, placement(s))
    return {"hbm": hbm, "dram": (table_bytes(s) - hbm) / USABLE.value}


def table_tiers(s: Scenario, dram_cache_bytes: float = 0.0) -> Tiers:
    """Return each table's bytes by memory, and its unique rows outside HBM.

    The memory beyond the share `USABLE` is kept free for an uneven division of tables.
    """
    dense = placement(s, dram_cache_bytes)
    table_sizes, unique_rows = table_nbytes(s), expected_accesses(s).unique_rows
    tier_masks = [np.isin(np.arange(len(table_sizes)), tables) for tables in dense]
    tier_bytes = {place: in_tier * table_sizes for place, in_tier in zip(("hbm", "dram"), tier_masks, strict=False)}
    return Tiers(tier_bytes, np.array([in_tier * unique_rows for in_tier in tier_masks[1:]]))


@point_by_point
def table_levels(s: Scenario, dram_cache_rows: float, scm_rows: float) -> Floats:
    """Return a batch's unique rows in each memory outside HBM by table, (LEVELS, T)."""
    dense, unique = placement(s, dram_cache_rows * row_bytes(s)), expected_accesses(s).unique_rows
    cache_sizes = (dram_cache_rows, max(dram_cache_rows, scm_rows))
    dram_misses, scm_misses = (missed_rows(s, "lru", rows, tables=dense.below_dram) for rows in cache_sizes)
    tier_masks = [np.isin(np.arange(len(unique)), tables) for tables in (dense.dram, dense.below_dram)]
    fetched = np.minimum(dram_misses, tier_masks[1] * unique)
    missed = np.minimum(scm_misses, fetched)
    return np.array([tier_masks[0] * unique, tier_masks[1] * unique - fetched, fetched - missed, missed])


def share_of_rows(s: Scenario, tables: Tables) -> float:
    """Return the share of a batch's unique rows that lie in the given tables."""
    unique = expected_accesses(s).unique_rows
    return float(unique[list(tables)].sum() / unique.sum())


@point_by_point
def level_shares(s: Scenario, dram_cache_rows: float, scm_rows: float) -> Levels:
    """Return the share of a batch's unique rows in each memory outside HBM.

    A lower cache also holds all rows of the smaller cache above it.
    """
    dense = placement(s, dram_cache_rows * row_bytes(s))
    unique_rows, below_share = float(expected_accesses(s).unique_rows.sum()), share_of_rows(s, dense.below_dram)
    cache_sizes = (dram_cache_rows, max(dram_cache_rows, scm_rows))
    dram_misses, scm_misses = (
        expected_moves(s, "lru", rows, tables=dense.below_dram).misses / unique_rows for rows in cache_sizes
    )
    fetched = min(dram_misses, below_share)
    missed = min(scm_misses, fetched)
    return Levels(share_of_rows(s, dense.dram), below_share - fetched, fetched - missed, missed)
