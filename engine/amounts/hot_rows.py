"""Hot rows, which are the most popular, and popular samples, which use hot rows only."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..core.arrays import Flags, Ints
from ..core.hashing import Purpose, stream
from ..scenario.scenario import Scenario, vectors_per_table
from ..workload.batch import bag_layout, offsets
from ..workload.caching.expected_cache import hottest_by_table
from ..workload.popularity import popularities
from ..workload.source import Source
from ..workload.spectrum import EXACT_ROWS, row_shares

SAMPLED_SHARE = 0.05  # share of a file's batches that is counted to find its hot rows; FAE samples at this rate


@dataclass(frozen=True, slots=True, eq=False)
class HotSet:
    """The most popular rows of all tables, and the layout of a batch's ids.

    run_ends: for each table, the end of its leading run of hot rows; a lower row number of the table is hot, (T,).
    scattered_rows: sorted numbers of the other hot rows.
    layout: positions in a batch's ids where tables start, (T+1,).
    samples: number of samples of a batch.
    features: number of features of each table; the lookups of an even bag are divided among them.
    """

    run_ends: Ints
    scattered_rows: Ints
    layout: Ints
    samples: int
    features: tuple[int, ...]


def hot_set(s: Scenario, capacity: float, origin: Source) -> HotSet:
    """Return the `capacity` most frequent rows over all tables.

    For generated data, the frequencies are the expected ones; for a data file, lookups are counted in a sample of its batches.
    """
    first_rows, no_rows = offsets(s.model), np.empty(0, dtype=np.int64)
    run_ends, scattered_rows = first_rows[:-1], no_rows
    if capacity >= first_rows[-1]:
        run_ends = first_rows[1:]
    elif origin.training_samples:
        scattered_rows = _count_hot_rows(s, int(capacity), origin)
    else:
        run_ends, scattered_rows = _expected_hot_rows(s, capacity, first_rows)
    return HotSet(run_ends, scattered_rows, bag_layout(s.model, s.data.batch_size), s.data.batch_size, vectors_per_table(s.model))


def popular_shares_counted(hot: HotSet, ids: Ints, starts: Ints | None = None) -> tuple[float, float]:
    """Return the share of popular samples in a batch, and their share of lookups.

    `starts` are the positions in `ids` where uneven bags start, as in a Batch; None for even bags.
    """
    is_popular = np.ones(hot.samples, dtype=bool)
    for _, _, hot_bags in _hot_lookups(hot, ids, starts):
        is_popular &= hot_bags.reshape(hot.samples, -1).all(axis=1)
    share = float(is_popular.mean())
    lengths = None if starts is None else np.diff(starts).reshape(-1, hot.samples).sum(axis=0)
    return share, share if lengths is None else float(lengths[is_popular].sum() / max(len(ids), 1))


def hot_shares(hot: HotSet, ids: Ints, starts: Ints | None = None) -> tuple[float, float, float]:
    """Return a batch's shares of hot lookups and hot bags, and its hot rows.

    The third is the number of different hot rows. All lookups of a hot bag are of hot rows. `starts` are the positions in `ids`
    where uneven bags start; None for even bags.
    """
    lookups, rows, bag_shares = 0, 0, []
    for table_ids, is_hot, hot_bags in _hot_lookups(hot, ids, starts):
        lookups, rows = lookups + int(is_hot.sum()), rows + len(np.unique(table_ids[is_hot]))
        bag_shares.append(float(hot_bags.mean()))
    return lookups / max(len(ids), 1), float(np.average(bag_shares, weights=hot.features)), float(rows)


def _hot_lookups(hot: HotSet, ids: Ints, starts: Ints | None) -> Iterator[tuple[Ints, Flags, Flags]]:
    """Yield each table's ids, flags of hot ids, and flags of bags of hot ids.

    Flags of bags are (samples, features), or (samples,) of uneven bags, which are not divided.
    """
    layout = hot.layout if starts is None else starts[:: hot.samples]
    for table, (low, high) in enumerate(pairwise(layout)):
        table_ids = ids[low:high]
        is_hot = table_ids < hot.run_ends[table]
        if len(hot.scattered_rows):
            place = np.minimum(np.searchsorted(hot.scattered_rows, table_ids), len(hot.scattered_rows) - 1)
            is_hot |= hot.scattered_rows[place] == table_ids
        if starts is None:
            hot_by_sample = is_hot.reshape(hot.samples, -1)
            bag_starts = np.arange(hot.features[table]) * hot_by_sample.shape[1] // hot.features[table]
            yield table_ids, is_hot, np.logical_and.reduceat(hot_by_sample, bag_starts, axis=1)
        else:
            hot_bags, bags = np.ones(hot.samples, dtype=bool), starts[table * hot.samples : (table + 1) * hot.samples + 1]
            hot_bags[np.searchsorted(bags, low + np.flatnonzero(~is_hot), side="right") - 1] = False
            yield table_ids, is_hot, hot_bags


def _count_hot_rows(s: Scenario, capacity: int, origin: Source) -> Ints:
    """Return the hot rows by a count of some random batches of a file, at least one.

    Ties go to the lower row number.
    """
    batches = -(-(origin.training_samples or 0) // s.data.batch_size)
    sampled_batches = stream(s.data.seed, Purpose.PROFILE).permutation(batches)[: max(1, round(SAMPLED_SHARE * batches))]
    rows, count = np.unique(np.concatenate([origin.ids(int(n)) for n in sampled_batches]), return_counts=True)
    hot: Ints = np.sort(rows[np.argsort(-count, kind="stable")[:capacity]])
    return hot


def _expected_hot_rows(s: Scenario, capacity: float, first_rows: Ints) -> tuple[Ints, Ints]:
    """Return the ends of each table's run of hot rows, and the hot rows of small tables.

    In small tables the folding of ranks disturbs the order, so that hot rows are no run.
    """
    hot_counts = np.rint(hottest_by_table(s, capacity)[0]).astype(np.int64)
    run_ends, scattered_rows = first_rows[:-1] + hot_counts, [np.empty(0, dtype=np.int64)]
    for table, law in enumerate(popularities(s)):
        if law.rows <= EXACT_ROWS and hot_counts[table] < law.rows:
            scattered_rows.append(first_rows[table] + np.argsort(-row_shares(law), kind="stable")[: hot_counts[table]])
            run_ends[table] = first_rows[table]
    return run_ends, np.sort(np.concatenate(scattered_rows))
