"""Where a full run finds each batch's rows: in tables placed in HBM and DRAM, and in row caches in front of all others.

Caches of thousands of millions of rows fill in no run of bearable length. So a run begins as after long training, if asked: a
row that it has not used yet was used before it as long ago as its popularity says. What it has used follows from its own ids.
"""

from collections.abc import Callable

import numpy as np

from ..caches.inclusive_lru import no_rows, serve
from ..caches.row_index import with_room
from ..caches.warm_start import before
from ..core.arrays import Floats, Ints
from ..scenario.scenario import Scenario
from ..systems.placement import placement
from ..systems.traffic import LEVELS, row_bytes
from ..workload.batch import bag_layout

# From batch number, unique rows of each table, and ids, to the rows of each of LEVELS.
Finder = Callable[[int, Ints, Ints], Floats]


def finder(s: Scenario, cached: tuple[float, float], recorded: bool) -> Finder:
    """Return what finds a batch's rows, batch after batch, with caches of so many rows in DRAM and SCM.

    A `recorded` file's popularity is not known, so its caches are empty at first.
    """
    dense = placement(s, cached[0] * row_bytes(s))
    layout, below, held = bag_layout(s.model, s.data.batch_size), tuple(sorted(dense.below)), no_rows(cached)
    guess = before(s, below, cached) if below and s.policy.warm_caches and not recorded else _empty

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
