"""Caches that serve a whole batch at once: by frequency, look-ahead or hash.

Rows of the batch itself are never evicted. Rows for which there is no room are fetched and then sent back to their memory. A
frequency-aware cache numbers rows by falling frequency in the data before the run starts; such a number is a rank.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..core.arrays import Ints
from ..core.hashing import GOLDEN, mix
from ..scenario.scenario import Scenario, per_table
from ..workload.batch import offsets
from ..workload.popularity import popularities, rank_cells

Relabel = Callable[[Ints], Ints]


class CacheTraffic(NamedTuple):
    """Rows that a cache moved for one batch.

    missed_lookups: lookups of rows that the cache did not hold when the batch began.
    misses: rows fetched from their memory.
    evicted: rows sent back to their memory.
    unique: unique rows of the batch.
    refused: rows without a place in the cache; they count as fetched and as evicted, too.
    """

    missed_lookups: float
    misses: float
    evicted: float
    unique: float
    refused: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class HeldRows:
    """The rows that a cache holds, in rising order.

    `last_batch`: for each row, the number of the batch that used it last.
    """

    rows: Ints
    last_batch: Ints


def most_popular_rows(rows: int) -> HeldRows:
    """Return a cache state that holds the `rows` most popular ranks."""
    return HeldRows(np.arange(rows), np.zeros(rows, dtype=np.int64))


def serve_by_frequency(shelf: HeldRows, capacity: float, ranks: Ints) -> tuple[HeldRows, CacheTraffic]:
    """Serve a batch of ranks from a cache that evicts the rarest rows first.

    The cache has room for `capacity` rows. Return the new state and the batch's traffic; `shelf` is the state before.
    """
    hit_slots, missing_rows, missed, unique = _find(shelf, ranks)
    spare = np.delete(np.arange(len(shelf.rows)), hit_slots)
    excess = max(0, len(shelf.rows) + len(missing_rows) - int(capacity))
    evicted_slots = spare[max(0, len(spare) - excess) :]
    remaining = HeldRows(np.delete(shelf.rows, evicted_slots), np.delete(shelf.last_batch, evicted_slots))
    return _with_rows(remaining, missing_rows[: len(missing_rows) - (excess - len(evicted_slots))], 0), CacheTraffic(
        missed, len(missing_rows), excess, unique
    )


def serve_looking_ahead(shelf: HeldRows, batches: int, turn: int, ids: Ints) -> tuple[HeldRows, CacheTraffic]:
    """Serve batch `turn` from a cache that knows the next `batches` batches.

    A row is held if one of the last `batches` batches has used it. Return the new state and the batch's traffic.
    """
    retained = shelf.last_batch >= turn - batches
    window = HeldRows(shelf.rows[retained], shelf.last_batch[retained])
    hit_slots, missing_rows, missed, unique = _find(window, ids)
    window.last_batch[hit_slots] = turn
    traffic = CacheTraffic(missed, len(missing_rows), len(retained) - int(retained.sum()), unique)
    return _with_rows(window, missing_rows, turn), traffic


def serve_by_hash(share: float, ids: Ints) -> CacheTraffic:
    """Return the traffic of a batch if a fixed `share` of all rows is held.

    A hash of the row number says whether the row is held; other rows are never fetched.
    """
    rows, times = np.unique(ids, return_counts=True)
    missing_mask = (mix(rows.astype(np.uint64) + GOLDEN) >> np.uint64(11)) * 2.0**-53 >= share
    misses = float(missing_mask.sum())
    return CacheTraffic(float(times[missing_mask].sum()), misses, misses, len(rows), misses)


def _find(shelf: HeldRows, ids: Ints) -> tuple[Ints, Ints, float, int]:
    """Return slots of held rows, missing rows, lookups of missing rows, and unique rows."""
    rows, times = np.unique(ids, return_counts=True)
    place = np.searchsorted(shelf.rows, rows)
    hits = place < len(shelf.rows)
    hits[hits] = shelf.rows[place[hits]] == rows[hits]
    return place[hits], rows[~hits], float(times[~hits].sum()), len(rows)


def _with_rows(shelf: HeldRows, rows: Ints, turn: int) -> HeldRows:
    """Return the shelf with `rows` added, last used in batch `turn`."""
    place = np.searchsorted(shelf.rows, rows)
    return HeldRows(np.insert(shelf.rows, place, rows), np.insert(shelf.last_batch, place, turn))


def ranks_by_popularity(s: Scenario) -> Relabel:
    """Return a function from generated ids to ranks by popularity over all tables.

    Rank 0 is the most popular row. Rows of a cell of equal popularity keep their order. The small share of lookups that folding
    adds to a row does not change its rank.
    """
    cell_starts, row_sizes, lookup_rates = [], [], []
    for popularity, offset, pooling in zip(popularities(s), offsets(s.model), per_table(s.model, "pooling"), strict=False):
        table_cells = rank_cells(popularity)
        row_counts = np.clip(popularity.rows - table_cells.first_ranks, 0, table_cells.widths)
        occupied = row_counts > 0
        cell_starts.append(offset + table_cells.first_ranks[occupied])
        row_sizes.append(row_counts[occupied])
        lookup_rates.append(pooling * table_cells.mass[occupied] / table_cells.widths[occupied])
    edges, order = np.concatenate(cell_starts), np.argsort(-np.concatenate(lookup_rates), kind="stable")
    sizes = np.concatenate(row_sizes)[order]
    rank = np.empty_like(edges)
    rank[order] = np.cumsum(sizes) - sizes

    def relabel(ids: Ints) -> Ints:
        cell = np.searchsorted(edges, ids, side="right") - 1
        ranked: Ints = rank[cell] + ids - edges[cell]
        return ranked

    return relabel


def ranks_by_count(batches: Iterable[Ints]) -> Relabel:
    """Return a function from ids to ranks by number of lookups in `batches`.

    Rank 0 is the row with the most lookups.
    """
    unique_rows, lookup_counts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for ids in batches:
        rows, batch_counts = np.unique(ids, return_counts=True)
        unique_rows, index = np.unique(np.concatenate((unique_rows, rows)), return_inverse=True)
        lookup_counts = np.bincount(index, weights=np.concatenate((lookup_counts, batch_counts))).astype(np.int64)
    rank = np.empty_like(unique_rows)
    rank[np.argsort(-lookup_counts, kind="stable")] = np.arange(len(unique_rows))

    def relabel(ids: Ints) -> Ints:
        ranked: Ints = rank[np.searchsorted(unique_rows, ids)]
        return ranked

    return relabel
