"""Warm start of LRU caches: the rows that they hold after long training.

For each row that the run uses for the first time, a random number decides which cache held it.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.hashing import Purpose, stream
from ..scenario.scenario import Scenario, per_table
from ..workload.accesses import table_lookups, without_repeats
from ..workload.batch import offsets
from ..workload.expected import gap_rate, refused_share, stay_time, unused_chance
from ..workload.generator import prepare
from ..workload.locality import locality_law, row_shares_of
from ..workload.sampling import recipe
from ..workload.spectrum import id_space

# (batch number, rows first used in this run) -> the cache that holds each row; the highest number stands for no cache.
Guess = Callable[[int, Ints], Ints]


def stay_lookups(s: Scenario, table_indices: Sequence[int], cache_rows: tuple[float, ...]) -> tuple[float, ...]:
    """Return for how many lookups each of some nested LRU caches keeps an unused row.

    `cache_rows` are the rows of each cache, in the tables `table_indices`.
    """
    space = id_space(without_repeats(s), table_indices)
    all_rows, larger = float(space.rows.sum()), np.maximum.accumulate(cache_rows)
    times = [float(stay_time(space, rows, s.data.locality)) if rows < all_rows else np.inf for rows in larger]
    return tuple(time if rows >= 1 else 0.0 for time, rows in zip(times, cache_rows, strict=True))


def warm_guess(
    s: Scenario, table_indices: Sequence[int], times: tuple[float, ...], at_once: int = 1, admitted: float = 1.0
) -> Guess:
    """Return a function that guesses which cache held each row at its first use.

    times: for each cache, the number T of lookups for which it keeps an unused row.
    at_once: number of batches that are served together.
    admitted: share of missing rows that a cache takes in.

    Let v(x) be the chance that a row is not used in x lookups, and n the lookups of the batches served together. A row whose
    first use comes after t lookups of the run misses a cache with the chance (v(T) - v(T + n)) / (v(t) - v(t + n)), or surely if
    T < t. If `admitted` is below 1, a row that would hit still misses if the cache refused it at each of its earlier uses.
    """
    distinct, locality = without_repeats(s), s.data.locality
    pooling = np.array(per_table(distinct.model, "pooling"), dtype=np.float64)
    batch = float(table_lookups(distinct)[list(table_indices)].sum())
    lookups_per_step = at_once * batch
    table_offsets, prepared = offsets(s.model), prepare(recipe(s))
    parts = [locality_law(prepared, t)[1:] for t in table_indices]

    def used_chance(x: Floats, idle_lookups: float) -> Floats:
        return unused_chance(idle_lookups * x, locality) - unused_chance((idle_lookups + lookups_per_step) * x, locality)

    def miss_chance(x: Floats, time: float, due: Floats) -> Floats:
        return_chance = used_chance(x, time)
        if admitted == 1:
            return return_chance
        return return_chance + np.maximum(due - return_chance, 0.0) * refused_share(unused_chance(time * x, locality), admitted)

    def guess(n: int, new_rows: Ints) -> Ints:
        x, table = np.empty(len(new_rows)), np.searchsorted(table_offsets, new_rows, side="right") - 1
        order = np.argsort(table, kind="stable")
        for t, part in zip(table_indices, parts, strict=True):
            positions = order[slice(*np.searchsorted(table, (t, t + 1), sorter=order))]
            x[positions] = gap_rate(
                row_shares_of(new_rows[positions] - table_offsets[t], *part) * (pooling[t] / pooling[list(table_indices)].sum())
            )
        random_levels = stream(s.data.seed, Purpose.CACHES, n).random(len(new_rows)) * np.maximum(
            used_chance(x, n * batch), 1e-300
        )
        due = used_chance(x, n * batch)
        cache_levels: Ints = np.sum([random_levels < miss_chance(x, time, due) for time in times], axis=0, dtype=np.int64)
        return cache_levels

    return guess
