"""Hot rows, and popular samples: those all of whose lookups meet hot rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..core.arrays import Flags, Ints
from ..core.hashing import Purpose, stream
from ..scenario.scenario import Scenario, per_table
from ..workload.batch import bag_layout, offsets
from ..workload.caching.expected_cache import hottest
from ..workload.popularity import popularities
from ..workload.source import Source
from ..workload.spectrum import EXACT_ROWS, row_shares

SAMPLED = 0.05  # of a file is counted to find its hot rows: FAE's own rate, of mini-batches instead of samples


@dataclass(frozen=True, slots=True, eq=False)
class HotSet:
    """The hot rows: of table t its first ones, below number `last[t]`, and the sorted `others` anywhere.

    `layout` are the positions in a batch's ids at which tables start, for `samples` samples; the lookups of an even bag are
    divided among the `features` of each table.
    """

    last: Ints
    others: Ints
    layout: Ints
    samples: int
    features: tuple[int, ...]


def hot_set(s: Scenario, capacity: float, given: Source) -> HotSet:
    """Return the `capacity` most frequent rows over all tables: by the generator's popularity, or counted in a file."""
    first, none = offsets(s.model), np.empty(0, dtype=np.int64)
    last, others = first[:-1], none
    if capacity >= first[-1]:
        last = first[1:]
    elif given.training_samples:
        others = _counted(s, int(capacity), given)
    else:
        last, others = _known(s, capacity, first)
    return HotSet(last, others, bag_layout(s.model, s.data.batch_size), s.data.batch_size, per_table(s.model, "features"))


def popular(hot: HotSet, ids: Ints, starts: Ints | None = None) -> tuple[float, float]:
    """Return the share of a batch's samples that are popular, and of its lookups that these make; `starts` as in a Batch."""
    every = np.ones(hot.samples, dtype=bool)
    for _, _, hot_bags in _hot_lookups(hot, ids, starts):
        every &= hot_bags.reshape(hot.samples, -1).all(axis=1)
    share = float(every.mean())
    lengths = None if starts is None else np.diff(starts).reshape(-1, hot.samples).sum(axis=0)
    return share, share if lengths is None else float(lengths[every].sum() / max(len(ids), 1))


def hot_shares(hot: HotSet, ids: Ints, starts: Ints | None = None) -> tuple[float, float, float]:
    """Return the shares of a batch's lookups and of its bags that meet hot rows alone, and the number of these rows."""
    lookups, rows, bag_shares = 0, 0, []
    for table_ids, is_hot, hot_bags in _hot_lookups(hot, ids, starts):
        lookups, rows = lookups + int(is_hot.sum()), rows + len(np.unique(table_ids[is_hot]))
        bag_shares.append(float(hot_bags.mean()))
    return lookups / max(len(ids), 1), float(np.average(bag_shares, weights=hot.features)), float(rows)


def _hot_lookups(hot: HotSet, ids: Ints, starts: Ints | None) -> Iterator[tuple[Ints, Flags, Flags]]:
    """Yield each table's ids, flags of the hot ones, and flags of the bags that have hot ones alone.

    Those are (samples, features), or (samples,) of uneven bags, which are not divided.
    """
    layout = hot.layout if starts is None else starts[:: hot.samples]
    for table, (low, high) in enumerate(pairwise(layout)):
        mine = ids[low:high]
        met = mine < hot.last[table]
        if len(hot.others):
            place = np.minimum(np.searchsorted(hot.others, mine), len(hot.others) - 1)
            met |= hot.others[place] == mine
        if starts is None:
            each = met.reshape(hot.samples, -1)
            first = np.arange(hot.features[table]) * each.shape[1] // hot.features[table]
            yield mine, met, np.logical_and.reduceat(each, first, axis=1)
        else:
            hot_bags, bags = np.ones(hot.samples, dtype=bool), starts[table * hot.samples : (table + 1) * hot.samples + 1]
            hot_bags[np.searchsorted(bags, low + np.flatnonzero(~met), side="right") - 1] = False
            yield mine, met, hot_bags


def _counted(s: Scenario, capacity: int, given: Source) -> Ints:
    """Count the ids of a few random mini-batches of a file, one at least; ties go to the lower row number."""
    batches = -(-(given.training_samples or 0) // s.data.batch_size)
    chosen = stream(s.data.seed, Purpose.PROFILE).permutation(batches)[: max(1, round(SAMPLED * batches))]
    rows, count = np.unique(np.concatenate([given.ids(int(n)) for n in chosen]), return_counts=True)
    hot: Ints = np.sort(rows[np.argsort(-count, kind="stable")[:capacity]])
    return hot


def _known(s: Scenario, capacity: float, first: Ints) -> tuple[Ints, Ints]:
    """Return where each table's run of hot rows ends, and the hot rows of small tables, whose order folding disturbs."""
    wanted = np.rint(hottest(s, capacity)[0]).astype(np.int64)
    last, others = first[:-1] + wanted, [np.empty(0, dtype=np.int64)]
    for table, law in enumerate(popularities(s)):
        if law.rows <= EXACT_ROWS and wanted[table] < law.rows:
            others.append(first[table] + np.argsort(-row_shares(law), kind="stable")[: wanted[table]])
            last[table] = first[table]
    return last, np.sort(np.concatenate(others))
