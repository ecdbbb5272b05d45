"""Warm start of LRU caches: what they held before a run that begins as after long training, row by row, as rows are used."""

from collections.abc import Callable, Sequence

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.hashing import Purpose, stream
from ..scenario.scenario import Scenario, per_table
from ..workload.accesses import lookups
from ..workload.batch import offsets
from ..workload.expected import gap_rate, refused_share, stay, unused
from ..workload.generator import prepare
from ..workload.locality import law, shares_of
from ..workload.sampling import recipe
from ..workload.spectrum import id_space

# From batch number and rows that the run uses for the first time, to the cache that each is in; the last number: in none.
Guess = Callable[[int, Ints], Ints]


def stays(s: Scenario, below: Sequence[int], cached: tuple[float, ...]) -> tuple[float, ...]:
    """Return for how many lookups of some tables each of nested LRU caches of so many rows keeps one that is not used."""
    space = id_space(s, below)
    every, larger = float(space.rows.sum()), np.maximum.accumulate(cached)
    times = [float(stay(space, rows, s.data.locality)) if rows < every else np.inf for rows in larger]
    return tuple(time if rows >= 1 else 0.0 for time, rows in zip(times, cached, strict=True))


def before(s: Scenario, below: Sequence[int], times: tuple[float, ...], at_once: int = 1, admitted: float = 1.0) -> Guess:
    """Return what says in which of the caches over some tables rows are that were used before the run alone.

    Of the uses of a row unused for t lookups, those of one unused even for the longer one of `times` T that a memory keeps it
    miss that memory: (v(T) - v(T + n)) / (v(t) - v(t + n)), with v the chance of no use, n the lookups of a batch. Of the
    others miss those that it refused each time, where it has `admitted` a share of missing rows alone.
    """
    pooling, locality = np.array(per_table(s.model, "pooling"), dtype=np.float64), s.data.locality
    batch = float(lookups(s)[list(below)].sum())
    served = at_once * batch
    first, prepared = offsets(s.model), prepare(recipe(s))
    parts = [law(prepared, t)[1:] for t in below]

    def used(x: Floats, since: float) -> Floats:
        return unused(since * x, locality) - unused((since + served) * x, locality)

    def missing(x: Floats, time: float, due: Floats) -> Floats:
        back = used(x, time)
        if admitted == 1:
            return back
        return back + np.maximum(due - back, 0.0) * refused_share(unused(time * x, locality), admitted)

    def guess(n: int, fresh: Ints) -> Ints:
        x, table = np.empty(len(fresh)), np.searchsorted(first, fresh, side="right") - 1
        order = np.argsort(table, kind="stable")
        for t, part in zip(below, parts, strict=True):
            mine = order[slice(*np.searchsorted(table, (t, t + 1), sorter=order))]
            x[mine] = gap_rate(shares_of(fresh[mine] - first[t], *part) * (pooling[t] / pooling[list(below)].sum()))
        drawn = stream(s.data.seed, Purpose.CACHES, n).random(len(fresh)) * np.maximum(used(x, n * batch), 1e-300)
        due = used(x, n * batch)
        found: Ints = np.sum([drawn < missing(x, time, due) for time in times], axis=0, dtype=np.int64)
        return found

    return guess
