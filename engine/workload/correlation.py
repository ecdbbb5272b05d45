"""Fields whose rare values come together: Criteo Kaggle's five largest are nearly functions of each other.

In 200 public samples, the values of C3, C4, C12, C16 and C21 that occur again do so in the same samples: all five in a
share of 0.205 of them, where independent fields would meet in 0.0007. A linked sample takes the same quantile of each
field's popularity, hottest first; each field alone keeps its popularity, so unique and repeated rows stay what they are.
"""

import numpy as np
from numba import njit

from ..core.arrays import Floats, Ints
from ..core.hashing import Purpose, fold, stream
from ..scenario.scenario import Scenario
from .popularity import FIELDS, Popularity, cells

LARGEST = (3, 4, 12, 16, 21)
Links = tuple[tuple[int, ...], ...]


def links(s: Scenario) -> Links:
    """Return the groups of tables that linked samples share a quantile in; one for each 26 tables, for Kaggle alone."""
    if s.data.popularity != "kaggle" or not s.data.sample_correlation:
        return ()
    groups = ([base + field - 1 for field in LARGEST] for base in range(0, s.model.num_tables, FIELDS))
    found = (tuple(table for table in group if table < s.model.num_tables) for group in groups)
    return tuple(group for group in found if group)


def link(
    ids: Ints, n: int, groups: Links, share: float, seed: int, laws: tuple[Popularity, ...], bags: Ints, offsets: Ints
) -> Ints:
    """Change a `share` of batch n's samples, in place, so that their lookups in each group of tables are equally popular."""
    samples, random = len(ids) // int(bags[-1]), stream(seed, Purpose.LINKS, n)
    for group in groups:
        chosen = random.random(samples) < share
        quantile = random.random((samples, max(int(bags[t + 1] - bags[t]) for t in group)))[chosen]
        for table in group:
            part = ids[bags[table] * samples : bags[table + 1] * samples].reshape(samples, -1)
            part[chosen] = offsets[table] + rows_at(laws[table], quantile[:, : part.shape[1]])
    return ids


def head_quantile(law: Popularity, rows: float) -> float:
    """Return the quantile up to which lookups meet the `rows` first ranks; what folds back onto them is left out."""
    part = cells(law)
    ends = np.concatenate(([0], part.first + part.width))
    return float(np.interp(rows, ends, np.concatenate(([0.0], np.cumsum(part.mass))))) if rows < law.rows else 1.0


def rows_at(law: Popularity, quantile: Floats) -> Ints:
    """Return the rows of a table at these quantiles of its lookups, 0 the hottest."""
    part = cells(law)
    ends = np.cumsum(part.mass)
    cell = np.minimum(np.searchsorted(ends, quantile * ends[-1], side="right"), len(ends) - 1)
    inside = (quantile * ends[-1] - ends[cell]) / part.mass[cell] + 1
    ranks = part.first[cell] + np.clip(inside * part.width[cell], 0, part.width[cell] - 1).astype(np.int64)
    rows: Ints = _folded(ranks.ravel(), law.rows).reshape(ranks.shape)
    return rows


@njit(cache=True, nogil=True)
def _folded(ranks, rows):  # type: ignore[no-untyped-def]
    for at in range(len(ranks)):
        if ranks[at] >= rows:
            ranks[at] = fold(ranks[at], rows)
    return ranks
