"""Does one pass give the exact cache of every size?"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.caches import stack_distance
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.workload import source
from tests.caches.reference_caches import cache_misses


def _by_list(ids):
    """Hits at each capacity by a list of rows, the newest first."""
    rows, found = [], np.zeros(len(set(ids)) + 1, dtype=np.int64)
    for row in ids:
        if row in rows:
            found[rows.index(row) + 1] += 1
            rows.remove(row)
        rows.insert(0, row)
    return np.cumsum(found).tolist()


@given(ids=st.lists(st.integers(0, 9), max_size=60), cut=st.integers(1, 9))
def test_the_curve_counts_distances_in_a_list_of_rows(ids, cut):
    batches = [np.array(ids[first : first + cut], dtype=np.int64) for first in range(0, len(ids), cut)]
    for found in (
        stack_distance.curve(batches),
        stack_distance.curve(iter(batches)),
        stack_distance.curve([ids * 2**40 for ids in batches]),
    ):
        assert found.hits.tolist() == _by_list(ids) and found.lookups == len(ids)


def test_batches_that_only_fill_the_caches_are_not_counted():
    origin = source.source(with_values(preset("optane-kaggle").scenario, {"data.batch_size": 1024}))
    long = [origin.ids(n) for n in range(20)]
    for size in (100, 20_000):
        for batches in (long, iter(long)):
            assert stack_distance.curve(batches, unseen=12).misses(size) == cache_misses(long, size)[12:].sum()


def test_no_ids_have_a_curve_too():
    assert stack_distance.curve([]).hits.tolist() == [0] and stack_distance.curve([]).hit_rate(5) == 0
