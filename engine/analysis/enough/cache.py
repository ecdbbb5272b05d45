"""Sizes and hit rates of a row cache in HBM, and its rows by table.

Two caches are compared. One always keeps the rows with the most lookups per byte. The other is an LRU cache, which keeps the rows
used last. Where rows are used again soon (`data.locality`) the second can be better.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import NamedTuple

import numpy as np

from ...core.arithmetic import remaining_share, total
from ...core.arrays import Floats, Ints
from ...core.figures import count, figure, percent
from ...core.memo import memoised
from ...hardware.devices.gpu import memory_bytes
from ...scenario.scenario import Scenario, per_table
from ...schedule.machine import sized_scenario, with_nodes
from ...systems.kernels.in_force import system_in_force
from ...systems.row_kinds import kind_bytes, row_bytes, row_kinds
from ...systems.system import cache_policy
from ...systems.traffic import activation_bytes, mlp_bytes, num_rows, table_bytes
from ...units import GB
from ...workload.accesses import table_lookups
from ...workload.caching.expected_cache import cached_rows_by_table, expected_moves
from ...workload.popularity import table_kinds
from ...workload.spectrum import table_spectra

HALVINGS, LOG_TOLERANCE = 50, 1e-4  # of the logarithm of a number of rows
MAX_SHOWN_TABLES = 12  # tables in words


@dataclass(frozen=True, slots=True, eq=False)
class CacheSize:
    """A cache of the rows with the most lookups per byte, and an LRU cache.

    rows: cached rows of each table, (T,).
    table_nbytes: bytes of these rows with optimizer state, (T,).
    rates: share of each table's lookups that hit, (T,).
    nbytes: bytes of the whole cache.
    hit_rate: hit rate of the whole cache.
    recent_nbytes: bytes of an LRU cache with the hit rate, or the size, that was asked; None where no LRU cache is as good.
    recent_rate: hit rate of that LRU cache.
    """

    rows: Floats
    table_nbytes: Floats
    rates: Floats
    nbytes: float
    hit_rate: float
    recent_nbytes: float | None
    recent_rate: float


class RowClasses(NamedTuple):
    """Classes of equally popular rows by kind of table, with sums over the classes.

    The sums run over the classes in the order of falling lookups per byte.

    rows: rows of one table in each class.
    row_shares: share of a table's lookups that a row of each class has.
    owner: kind of table of each class.
    kind: kind of each table, (T,).
    order: the classes' indices by falling lookups per byte.
    filled_bytes: bytes of the first 0, 1, 2, ... classes in that order.
    hit_shares: share of all lookups that these classes have.
    """

    rows: Floats
    row_shares: Floats
    owner: Ints
    kind: Ints
    order: Ints
    filled_bytes: Floats
    hit_shares: Floats


def cache_for(s: Scenario, hit_rate: float) -> CacheSize:
    """Return the smallest cache with this hit rate, from 0 to 1."""
    densest, recent, rate = _densest(s), _recent_rows(s, hit_rate), _recent_rate(s)
    nbytes = max(
        float(np.interp(hit_rate, densest.hit_shares, densest.filled_bytes)), float(kind_bytes(s, "row").min())
    )  # a row or more
    if recent is None:
        return _size(s, densest, nbytes, None, rate(num_rows(s)))
    return _size(s, densest, nbytes, _recent_nbytes(s)(recent), rate(recent))


def cache_of_size(s: Scenario, nbytes: float) -> CacheSize:
    """Return the cached rows and hit rates of a cache of `nbytes` bytes."""
    cache_bytes, size = min(max(nbytes, 0.0), table_bytes(s)), _recent_nbytes(s)
    rows = num_rows(s) if size(num_rows(s)) <= cache_bytes else _fewest(s, lambda rows: size(rows) >= cache_bytes)
    return _size(s, _densest(s), cache_bytes, cache_bytes, _recent_rate(s)(rows if cache_bytes else 0.0))


def hbm_room(s: Scenario, nodes: int | None = None) -> float:
    """Return the bytes of HBM that are free besides MLPs and activations.

    They are those of the scenario's GPUs, or of the GPUs of `nodes` nodes.
    """
    sized = sized_scenario(s if nodes is None else with_nodes(s, nodes))
    gpu_room = memory_bytes(sized.machine) - 2 * mlp_bytes(sized) - activation_bytes(sized)
    return max(0.0, sized.machine.num_gpus * gpu_room)


@memoised(most=8)
def _densest(s: Scenario) -> RowClasses:
    alike_tables, nbytes = table_kinds(s), kind_bytes(s, "row")
    kinds, of_table = np.unique(np.stack([alike_tables.kind_of_table, nbytes]), axis=1, return_inverse=True)
    of_table = of_table.reshape(-1)
    spectrum, class_ends = (
        table_spectra(alike_tables.laws),
        np.append(table_spectra(alike_tables.laws).start[1:], len(table_spectra(alike_tables.laws).p)),
    )
    law = kinds[0].astype(np.int64)
    parts = [slice(spectrum.start[law_index], class_ends[law_index]) for law_index in law]
    owner = np.repeat(np.arange(len(parts)), [part.stop - part.start for part in parts])
    rows, p = (np.concatenate([amount[part] for part in parts]) for amount in (spectrum.rows, spectrum.p))
    weight = np.array(alike_tables.pooling, dtype=np.float64)[law] * s.data.batch_size / table_lookups(s).sum()
    order = np.argsort(-p * (weight / kinds[1])[owner], kind="stable")
    tables = np.bincount(of_table)
    filled_bytes, hits = (
        np.concatenate(([0.0], np.cumsum((rows * (amount * tables)[owner] * share)[order])))
        for amount, share in ((kinds[1], 1.0), (weight, p))
    )
    return RowClasses(rows, p, owner, of_table, order, filled_bytes, hits)


def _size(s: Scenario, densest: RowClasses, nbytes: float, recent_nbytes: float | None, recent_rate: float) -> CacheSize:
    """Return the cache of so many bytes, filled by the densest classes.

    Each table has an equal part of the last class.
    """
    share, batch = np.zeros(len(densest.rows)), table_lookups(s)
    share[densest.order] = np.clip(
        (nbytes - densest.filled_bytes[:-1]) / np.maximum(np.diff(densest.filled_bytes), 1e-300), 0.0, 1.0
    )
    of_kind = [np.bincount(densest.owner, weights=share * amount) for amount in (densest.rows, densest.rows * densest.row_shares)]
    rows: Floats = np.minimum(of_kind[0][densest.kind], per_table(s.model, "num_embeddings")).astype(np.float64)
    rates: Floats = np.minimum(of_kind[1][densest.kind], 1.0).astype(np.float64)
    if nbytes >= table_bytes(s):  # classes of rows add up to all but a few
        rows, rates = np.array(per_table(s.model, "num_embeddings"), dtype=np.float64), np.ones(s.model.num_tables)
    kept_bytes = rows * kind_bytes(s, "row")
    return CacheSize(
        rows, kept_bytes, rates, float(kept_bytes.sum()), float(rates @ batch / batch.sum()), recent_nbytes, recent_rate
    )


def _recent_policy(s: Scenario) -> str:
    """Return the system's own LRU policy, in sets and with locks, or else LRU over all rows."""
    cache = system_in_force(s).cache
    policy = cache_policy(s, cache) if cache and s.policy.cache_policy in (None, cache.policy) else "lru"
    return policy if policy.startswith("lru") else "lru"


def _recent_rate(s: Scenario) -> Callable[[float], float]:
    """Return a function from the rows of an LRU cache to its hit rate."""
    policy, batch = _recent_policy(s), float(table_lookups(s).sum())
    return lambda rows: float(remaining_share(expected_moves(s, policy, rows).missed_lookups, batch))


def _recent_nbytes(s: Scenario) -> Callable[[float], float]:
    """Return a function from the rows of an LRU cache to its expected bytes."""
    if len(row_kinds(s)[0]) == 1:
        return lambda rows: rows * row_bytes(s)
    policy, size = _recent_policy(s), kind_bytes(s, "row")
    return lambda rows: float(cached_rows_by_table(s, policy, rows) @ size)


def _recent_rows(s: Scenario, hit_rate: float) -> float | None:
    """Return the fewest rows of an LRU cache with a hit rate; None where all rows do not reach the rate."""
    rate = _recent_rate(s)
    return None if rate(num_rows(s)) < hit_rate else _fewest(s, lambda rows: rate(rows) >= hit_rate)


def _fewest(s: Scenario, is_enough: Callable[[float], bool]) -> float:
    """Return the fewest rows that are enough, by halving; all rows must be enough."""
    low, high = 0.0, log(num_rows(s))
    for _ in range(HALVINGS):
        if high - low < LOG_TOLERANCE:
            break
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(exp(middle)) else (middle, high)
    return exp(high)


def cache_sentence(s: Scenario, cache_size: CacheSize) -> str:
    """Return the answer on a cache's size as a sentence."""
    densest_text = (
        f"{figure(cache_size.nbytes / GB, 'GB')} in HBM, {percent(cache_size.nbytes / table_bytes(s))} of the tables' "
        "bytes, serve "
        f"{percent(cache_size.hit_rate)} of the lookups if they always hold the rows with the most lookups a byte"
    )
    if cache_size.recent_nbytes is None:
        return f"{densest_text}; no LRU cache reaches that hit rate."
    return (
        f"{densest_text}; an LRU cache of {figure(cache_size.recent_nbytes / GB, 'GB')} serves {percent(cache_size.recent_rate)}."
    )


class TableShare(NamedTuple):
    """The cached part of a table: name, rows, GB, and hit rate in percent."""

    table: str
    rows: int
    gigabytes: float
    hit_rate_percent: float


def table_shares(cache_size: CacheSize, names: Sequence[str] = ()) -> list[TableShare]:
    """Return the cached part of each table, the most bytes first."""
    order = np.argsort(-cache_size.table_nbytes, kind="stable").tolist()
    return [
        TableShare(
            names[table] if names and names[table] else str(table + 1),
            int(cache_size.rows[table]),
            float(cache_size.table_nbytes[table]) / GB,
            100 * float(cache_size.rates[table]),
        )
        for table in order
    ]


def cache_lines(s: Scenario, cache_size: CacheSize, names: Sequence[str] = ()) -> Iterator[str]:
    """Yield the answer's sentence, then a line for each table with the most cached bytes."""
    yield cache_sentence(s, cache_size)
    shares = table_shares(cache_size, names)
    for table, rows, gigabytes, hits in shares[:MAX_SHOWN_TABLES]:
        yield f"  table {table}: {count(rows, 'row')}, {figure(gigabytes, 'GB')}, hits {percent(hits / 100)}"
    if other_shares := shares[MAX_SHOWN_TABLES:]:
        yield f"  {count(len(other_shares), 'other table')}: {figure(total(share.gigabytes for share in other_shares), 'GB')}"
