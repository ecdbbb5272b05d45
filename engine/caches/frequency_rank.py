"""Rows numbered by falling frequency in the data, as a frequency-aware cache relabels them before it starts."""

from collections.abc import Callable, Iterable

import numpy as np

from ..core.arrays import Ints
from ..scenario.scenario import Scenario, per_table
from ..workload.batch import offsets
from ..workload.popularity import cells, popularities

Relabel = Callable[[Ints], Ints]


def generated(s: Scenario) -> Relabel:
    """Return what gives the generator's ids their rank over all tables, 0 for the most popular row.

    Rows of a cell are equally popular and keep their order; what folding adds to a row is too little to move it.
    """
    first, width, p = [], [], []
    for popularity, offset, pooling in zip(popularities(s), offsets(s.model), per_table(s.model, "pooling"), strict=False):
        part = cells(popularity)
        some = np.clip(popularity.rows - part.first, 0, part.width)
        here = some > 0
        first.append(offset + part.first[here])
        width.append(some[here])
        p.append(pooling * part.mass[here] / part.width[here])
    edges, order = np.concatenate(first), np.argsort(-np.concatenate(p), kind="stable")
    sizes = np.concatenate(width)[order]
    rank = np.empty_like(edges)
    rank[order] = np.cumsum(sizes) - sizes

    def relabel(ids: Ints) -> Ints:
        cell = np.searchsorted(edges, ids, side="right") - 1
        ranked: Ints = rank[cell] + ids - edges[cell]
        return ranked

    return relabel


def recorded(batches: Iterable[Ints]) -> Relabel:
    """Return what gives ids their rank by how often the batches look them up, 0 for the most frequent row."""
    known, times = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for ids in batches:
        rows, more = np.unique(ids, return_counts=True)
        known, index = np.unique(np.concatenate((known, rows)), return_inverse=True)
        times = np.bincount(index, weights=np.concatenate((times, more))).astype(np.int64)
    rank = np.empty_like(known)
    rank[np.argsort(-times, kind="stable")] = np.arange(len(known))

    def relabel(ids: Ints) -> Ints:
        ranked: Ints = rank[np.searchsorted(known, ids)]
        return ranked

    return relabel
