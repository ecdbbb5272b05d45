"""How large a cache of rows in HBM has to be for a hit rate, what hit rate a size gives, and which rows of which tables fill it.

Two caches are told apart: one that always keeps the rows with the most lookups a byte, and one that keeps the rows used last, as
the system in force does. Where rows come back soon (`data.locality`) the second can be the better one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import NamedTuple

import numpy as np

from ...core.arrays import Floats, Ints
from ...core.figures import count, figure, percent
from ...core.memo import remembered
from ...hardware.devices.gpu import memory_bytes
from ...scenario.scenario import Scenario, per_table
from ...schedule.machine import sized_scenario, with_nodes
from ...systems.kernels.in_force import system_in_force
from ...systems.row_kinds import kind_bytes, row_bytes, row_kinds
from ...systems.system import cache_policy
from ...systems.traffic import activation_bytes, mlp_bytes, num_rows, table_bytes
from ...units import GB
from ...workload.accesses import lookups
from ...workload.caching.expected_cache import cached_rows_by_table, expected_moves
from ...workload.popularity import alike
from ...workload.spectrum import spectra

HALVINGS, NEAR = 50, 1e-4  # of the logarithm of a number of rows
MOST_SHOWN = 12  # tables in words


@dataclass(frozen=True, slots=True, eq=False)
class CacheSize:
    """A cache of the rows with the most lookups a byte, and beside it one of the rows used last.

    rows, table_nbytes, rates: of each table the cached rows, their bytes with optimizer state, and the share of its lookups
    that they serve, (T,).
    nbytes, hit_rate: of the whole cache.
    recent_nbytes, recent_rate: of the other cache, as good or as large; None where none is as good.
    """

    rows: Floats
    table_nbytes: Floats
    rates: Floats
    nbytes: float
    hit_rate: float
    recent_nbytes: float | None
    recent_rate: float


class Densest(NamedTuple):
    """Classes of equally popular rows of tables of each kind, and sums over them from the most lookups a byte on.

    rows, p: of each class, the rows of one table and a row's share of its lookups.
    owner: the kind of table of each class; kind: that of each table, (T,).
    order: of the classes; filled, hits: bytes and share of all lookups so far, one more than classes.
    """

    rows: Floats
    p: Floats
    owner: Ints
    kind: Ints
    order: Ints
    filled: Floats
    hits: Floats


def cache_for(s: Scenario, hit_rate: float) -> CacheSize:
    """Return the smallest cache with a hit rate of so much, from 0 to 1."""
    densest, recent, rate = _densest(s), _recent_rows(s, hit_rate), _recent_rate(s)
    nbytes = max(float(np.interp(hit_rate, densest.hits, densest.filled)), float(kind_bytes(s, "row").min()))  # a row or more
    if recent is None:
        return _size(s, densest, nbytes, None, rate(num_rows(s)))
    return _size(s, densest, nbytes, _recent_nbytes(s)(recent), rate(recent))


def cache_of(s: Scenario, nbytes: float) -> CacheSize:
    """Return what a cache of so many bytes holds and hits."""
    some, size = min(max(nbytes, 0.0), table_bytes(s)), _recent_nbytes(s)
    rows = num_rows(s) if size(num_rows(s)) <= some else _fewest(s, lambda rows: size(rows) >= some)
    return _size(s, _densest(s), some, some, _recent_rate(s)(rows if some else 0.0))


def hbm_room(s: Scenario, nodes: int | None = None) -> float:
    """Return the bytes of HBM that GPUs have beside MLPs and activations: the scenario's own GPUs, or those of so many nodes."""
    sized = sized_scenario(s if nodes is None else with_nodes(s, nodes))
    each = memory_bytes(sized.machine) - 2 * mlp_bytes(sized) - activation_bytes(sized)
    return max(0.0, sized.machine.num_gpus * each)


@remembered(most=8)
def _densest(s: Scenario) -> Densest:
    every, nbytes = alike(s), kind_bytes(s, "row")
    kinds, of_table = np.unique(np.stack([every.kind, nbytes]), axis=1, return_inverse=True)
    of_table = of_table.reshape(-1)
    of, end = spectra(every.laws), np.append(spectra(every.laws).start[1:], len(spectra(every.laws).p))
    law = kinds[0].astype(np.int64)
    parts = [slice(of.start[one], end[one]) for one in law]
    owner = np.repeat(np.arange(len(parts)), [part.stop - part.start for part in parts])
    rows, p = (np.concatenate([amount[part] for part in parts]) for amount in (of.rows, of.p))
    weight = np.array(every.pooling, dtype=np.float64)[law] * s.data.batch_size / lookups(s).sum()
    order = np.argsort(-p * (weight / kinds[1])[owner], kind="stable")
    tables = np.bincount(of_table)
    filled, hits = (
        np.concatenate(([0.0], np.cumsum((rows * (amount * tables)[owner] * share)[order])))
        for amount, share in ((kinds[1], 1.0), (weight, p))
    )
    return Densest(rows, p, owner, of_table, order, filled, hits)


def _size(s: Scenario, densest: Densest, nbytes: float, recent_nbytes: float | None, recent_rate: float) -> CacheSize:
    """Return the cache of so many bytes: the densest classes, of the last of which each table has the same part."""
    share, batch = np.zeros(len(densest.rows)), lookups(s)
    share[densest.order] = np.clip((nbytes - densest.filled[:-1]) / np.maximum(np.diff(densest.filled), 1e-300), 0.0, 1.0)
    of_kind = [np.bincount(densest.owner, weights=share * amount) for amount in (densest.rows, densest.rows * densest.p)]
    rows: Floats = np.minimum(of_kind[0][densest.kind], per_table(s.model, "num_embeddings")).astype(np.float64)
    rates: Floats = np.minimum(of_kind[1][densest.kind], 1.0).astype(np.float64)
    if nbytes >= table_bytes(s):  # classes of rows add up to all but a few
        rows, rates = np.array(per_table(s.model, "num_embeddings"), dtype=np.float64), np.ones(s.model.num_tables)
    kept = rows * kind_bytes(s, "row")
    return CacheSize(rows, kept, rates, float(kept.sum()), float(rates @ batch / batch.sum()), recent_nbytes, recent_rate)


def _recent_policy(s: Scenario) -> str:
    """Return LRU as the system in force has it, in sets and with locks, or else over all rows."""
    cache = system_in_force(s).cache
    policy = cache_policy(s, cache) if cache and s.policy.cache_policy in (None, cache.policy) else "lru"
    return policy if policy.startswith("lru") else "lru"


def _recent_rate(s: Scenario) -> Callable[[float], float]:
    """Return what gives the hit rate of a cache of so many rows used last."""
    policy, batch = _recent_policy(s), float(lookups(s).sum())
    return lambda rows: 1 - expected_moves(s, policy, rows).missed_lookups / batch


def _recent_nbytes(s: Scenario) -> Callable[[float], float]:
    """Return what gives the bytes of so many rows used last: of unlike rows, of those that are expected to be held."""
    if len(row_kinds(s)[0]) == 1:
        return lambda rows: rows * row_bytes(s)
    policy, size = _recent_policy(s), kind_bytes(s, "row")
    return lambda rows: float(cached_rows_by_table(s, policy, rows) @ size)


def _recent_rows(s: Scenario, hit_rate: float) -> float | None:
    """Return the fewest rows with that hit rate; None where not even all have it."""
    rate = _recent_rate(s)
    return None if rate(num_rows(s)) < hit_rate else _fewest(s, lambda rows: rate(rows) >= hit_rate)


def _fewest(s: Scenario, enough: Callable[[float], bool]) -> float:
    """Return the fewest rows that are enough, of which all are."""
    low, high = 0.0, log(num_rows(s))
    for _ in range(HALVINGS):
        if high - low < NEAR:
            break
        middle = (low + high) / 2
        low, high = (low, middle) if enough(exp(middle)) else (middle, high)
    return exp(high)


def sentence(s: Scenario, found: CacheSize) -> str:
    """Return the answer in a sentence."""
    first = (
        f"{figure(found.nbytes / GB, 'GB')} in HBM, {percent(found.nbytes / table_bytes(s))} of the tables' bytes, serve "
        f"{percent(found.hit_rate)} of the lookups if they always hold the rows with the most lookups a byte"
    )
    if found.recent_nbytes is None:
        return f"{first}; by LRU no cache serves as many."
    return f"{first}; by LRU {figure(found.recent_nbytes / GB, 'GB')} serve {percent(found.recent_rate)}."


class TableShare(NamedTuple):
    """What of a table the cache holds: its name, rows, GB, and the share of its lookups that they serve in percent."""

    table: str
    rows: int
    gigabytes: float
    hit_rate_percent: float


def table_shares(found: CacheSize, names: Sequence[str] = ()) -> list[TableShare]:
    """Return what of each table the cache holds, those with most bytes first."""
    order = np.argsort(-found.table_nbytes, kind="stable").tolist()
    return [
        TableShare(
            names[table] if names and names[table] else str(table + 1),
            int(found.rows[table]),
            float(found.table_nbytes[table]) / GB,
            100 * float(found.rates[table]),
        )
        for table in order
    ]


def lines(s: Scenario, found: CacheSize, names: Sequence[str] = ()) -> Iterator[str]:
    """Yield the sentence, then a line for each of the tables with most of the cache."""
    yield sentence(s, found)
    shares = table_shares(found, names)
    for table, rows, gigabytes, hits in shares[:MOST_SHOWN]:
        yield f"  table {table}: {count(rows, 'row')}, {figure(gigabytes, 'GB')}, hits {percent(hits / 100)}"
    if rest := shares[MOST_SHOWN:]:
        yield f"  {count(len(rest), 'other table')}: {figure(sum(one.gigabytes for one in rest), 'GB')}"
