"""Where a full run finds each batch's rows: in tables placed in HBM and DRAM, and in row caches in front of all others.

Caches of thousands of millions of rows fill in no run of bearable length. So a run begins as after long training, if asked: a
row that it has not used yet was used before it as long ago as its popularity says. What it has used follows from its own ids.
"""

from collections.abc import Callable

import numpy as np

from engine.inclusive import no_rows, serve
from engine.placement import Tables, placement
from engine.scenario import Scenario, per_table
from engine.slots import with_room
from engine.traffic import LEVELS, row_bytes
from engine.workload.accesses import lookups
from engine.workload.arrays import Floats, Ints
from engine.workload.batch import bag_layout, offsets
from engine.workload.expectation import gap_rate, stay, unused
from engine.workload.features import prepare, recipe
from engine.workload.hashing import Purpose, stream
from engine.workload.locality import law, shares_of
from engine.workload.popularity import popularities
from engine.workload.spectrum import id_space

# From batch number, unique rows of each table, and ids, to the rows of each of LEVELS.
Finder = Callable[[int, Ints, Ints], Floats]
Guess = Callable[[int, Ints], Ints]


def finder(s: Scenario, cached: tuple[float, float], recorded: bool) -> Finder:
    """Return what finds a batch's rows, batch after batch, with caches of so many rows in DRAM and SCM.

    A `recorded` file's popularity is not known, so its caches are empty at first.
    """
    dense = placement(s, cached[0] * row_bytes(s))
    layout, below, held = bag_layout(s.model, s.data.batch_size), tuple(sorted(dense.below)), no_rows(cached)
    guess = _before(s, below, cached) if below and s.policy.warm_caches and not recorded else _empty

    def find(n: int, unique: Ints, ids: Ints) -> Floats:
        nonlocal held
        far = np.concatenate([ids[layout[t] : layout[t + 1]] for t in below]) if below else ids[:0]
        held, found = with_room(held, len(far)), np.zeros(LEVELS - 1, dtype=np.int64)
        fresh = serve(*held, far, found)
        found += np.bincount(guess(n, fresh), minlength=LEVELS - 1)
        return np.concatenate(([unique[list(dense.dram)].sum()], found))

    return find


def _empty(n: int, fresh: Ints) -> Ints:
    return np.full(len(fresh), LEVELS - 2)


def _before(s: Scenario, below: Tables, cached: tuple[float, float]) -> Guess:
    """Return what says in which memory rows are that were used before the run alone.

    Of the uses of a row unused for t lookups, those of one unused even for the longer time T that a memory keeps its rows
    miss that memory: (v(T) - v(T + n)) / (v(t) - v(t + n)), with v the chance of no use, n the lookups of a batch.
    """
    laws, pooling = popularities(s), np.array(per_table(s.model, "pooling"), dtype=np.float64)
    space, locality = id_space(tuple(laws[t] for t in below), tuple(int(pooling[t]) for t in below)), s.data.locality
    batch, every = float(lookups(s)[list(below)].sum()), float(space.rows.sum())
    times = [float(stay(space, rows, locality)) if rows < every else np.inf for rows in np.maximum.accumulate(cached)]
    times = [time if rows >= 1 else 0.0 for time, rows in zip(times, cached, strict=True)]
    first, prepared = offsets(s.model), prepare(recipe(s))
    parts = [law(prepared, t)[1:] for t in below]

    def used(x: Floats, since: float) -> Floats:
        return unused(since * x, locality) - unused((since + batch) * x, locality)

    def guess(n: int, fresh: Ints) -> Ints:
        x, table = np.empty(len(fresh)), np.searchsorted(first, fresh, side="right") - 1  # ids come table by table
        for t, part in zip(below, parts, strict=True):
            mine = slice(*np.searchsorted(table, (t, t + 1)))
            x[mine] = gap_rate(shares_of(fresh[mine] - first[t], *part) * (pooling[t] / pooling[list(below)].sum()))
        drawn = stream(s.data.seed, Purpose.CACHES, n).random(len(fresh)) * np.maximum(used(x, n * batch), 1e-300)
        found: Ints = np.sum([drawn < used(x, time) for time in times], axis=0, dtype=np.int64)
        return found

    return guess
