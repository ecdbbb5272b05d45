"""Do the compiled caches do what each policy's definition says, batch by batch?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.__main__ import main
from engine.caches import row_index
from engine.caches.policies import lfu as engine_lfu
from engine.caches.policies import lru, set_associative
from engine.caches.policy import POLICIES, policies_of, systems_with
from engine.caches.row_index import COUNTS, EVICTED, MISSED_LOOKUPS, MISSES
from engine.caches.row_table import MIN_ROWS
from engine.caches.stack_distance import moved_rows, stack_distances
from engine.registry import all_variants
from engine.workload.caching.expected_cache import STEADY_STATES
from tests.caches import reference_caches as by_hand
from tests.caches.reference_caches import cache_misses, followed, lfu, lfu_in_sets, lru_in_sets
from tests.cases import each


def zipf(seed, batches=30, size=60, rows=200):
    share = 1 / np.arange(1, rows + 1)
    draws = np.random.default_rng(seed).choice(rows, (batches, size), p=share / share.sum())
    return [np.ascontiguousarray(ids) for ids in draws.astype(np.int64)]


def few(batches):
    return [np.array(ids, dtype=np.int64) for ids in batches]


BATCHES = st.lists(st.lists(st.integers(0, 12), max_size=6), max_size=25)


def test_every_policy_is_one_that_a_system_can_have_and_that_an_estimate_expects():
    kept = {policy for one in all_variants("systems").values() if one.cache for policy in policies_of(one.cache)}
    assert kept == set(POLICIES) == set(STEADY_STATES)


def test_the_command_lists_every_policy_with_the_systems_that_can_have_it(capsys):
    assert main(["list", "caches"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [POLICIES[name].name for name in sorted(POLICIES)]
    assert all(system in line for line, name in zip(lines, sorted(POLICIES), strict=True) for system in systems_with(name))


@given(batches=BATCHES, rows=st.integers(6, 14))
def test_small_batches_move_rows_as_the_definition_of_lfu_says(batches, rows):
    assert lfu(few(batches), rows) == by_hand.cache_counts(by_hand.Lfu(rows), batches)


@pytest.mark.parametrize("rows", [45, 60, 100, 150, 250])
def test_skewed_batches_move_rows_as_the_definition_of_lfu_says(rows):
    batches = zipf(rows)
    found = lfu(batches, rows)
    assert found == by_hand.cache_counts(by_hand.Lfu(rows), [ids.tolist() for ids in batches])
    assert np.cumsum([row[2] - row[3] for row in found]).tolist() == [row[4] for row in found]


@given(batches=BATCHES, rows=st.integers(0, 14))
def test_lru_looks_a_batch_up_when_it_begins_and_keeps_the_rows_used_last(batches, rows):
    contents, wanted = [], []
    for ids in batches:
        missing = [row for row in ids if row not in contents]
        ages = list(dict.fromkeys([*ids[::-1], *contents[::-1]]))[::-1]
        wanted.append([len(set(missing)), len(ages) - min(rows, len(ages)), len(missing)])
        contents = ages[len(ages) - min(rows, len(ages)) :]
    columns = [MISSES, EVICTED, MISSED_LOOKUPS]
    assert [counts[columns].tolist() for _, counts in followed(lru, lru.no_rows(rows), few(batches))] == wanted
    full = [n for n, ids in enumerate(batches) if ids]  # of no ids there are no distances
    if full:
        counted = moved_rows(stack_distances([few(batches)[n] for n in full]), rows)
        assert counted.T.tolist() == [wanted[n] for n in full]


@pytest.mark.parametrize("batch_size", [1, 7, 60])
def test_lru_serves_many_batches_at_once_as_one_after_another(batch_size):
    ids, counts = np.concatenate(zipf(5, rows=900)), np.zeros((2, COUNTS), dtype=np.int64)
    lru.serve_batches(lru.no_rows(50), ids, batch_size, counts[0])
    cache = lru.no_rows(50)
    for start in range(0, len(ids), batch_size):
        cache = lru.serve_batch(cache, ids[start : start + batch_size], counts[1])
    assert (counts[0] == counts[1]).all() and counts[0, EVICTED] > 100


@given(batches=BATCHES, rows=st.integers(6, 14))
def test_ids_far_apart_move_as_ids_close_together_do(batches, rows):
    assert lfu([ids * 2**40 for ids in few(batches)], rows) == lfu(few(batches), rows)


def test_a_batch_larger_than_the_cache_says_so_and_takes_nothing_in():
    assert [row[:3] for row in lfu(few([[1, 2], [1, 2, 3, 3], [1, 2]]), 2)] == [[2, 2, 2], [3, 2, 1], [2, 0, 0]]


@pytest.mark.parametrize("rows", [64, 320, 1000])
@pytest.mark.parametrize("ways", [4, 32])
def test_a_set_associative_cache_is_an_lru_in_each_set_of_the_split_trace(rows, ways):
    ids, number = np.concatenate(zipf(7, rows=3000)), rows // ways
    own = np.array([set_associative.set_of(row, number) for row in ids])
    assert len(np.unique(own)) >= 0.9 * number
    wanted = sum(cache_misses([ids[own == one]], ways)[0] for one in range(number))
    assert sum(row[2] for row in lru_in_sets(ids[:, None], rows, ways)) == wanted


def test_a_set_full_of_rows_of_two_batches_serves_a_conflict_without_keeping_it():
    ids = np.arange(200)
    own = np.array([set_associative.set_of(row, 2) for row in ids])
    one_set = ids[own == 0][:7]
    first = set_associative.first_missing_row(0, 7)
    came, left = np.split(np.roll(one_set, -first), [4])
    found = lru_in_sets([one_set, one_set, left, left, came], 8, 4)
    assert [row[2:] for row in found] == [[7, 3, 4, 3], [3, 3, 4, 3], [3, 3, 4, 3], [3, 3, 4, 0], [3, 3, 4, 3]]


@given(batches=st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=12), min_size=1, max_size=20), ways=st.integers(1, 4))
def test_a_cache_in_sets_keeps_what_the_definition_of_its_locks_says(batches, ways):
    """A row comes in place of the one of its set that was not used for longest, and not by this batch or the one before it."""
    held, found = [{} for _ in range(3)], []
    for turn, ids in enumerate(batches):
        unique = list(dict.fromkeys(ids))
        of = {row: held[set_associative.set_of(row, 3)] for row in unique}
        missing = [row for row in unique if row not in of[row]]
        evicted = refused = 0
        unmet = sum(row in missing for row in ids)
        for row in unique:
            if row in of[row]:
                of[row][row] = (turn, unique.index(row))
        first = set_associative.first_missing_row(turn, len(missing))
        for number, row in enumerate(missing[first:] + missing[:first]):
            mine = of[row]
            oldest = min(mine, key=mine.__getitem__) if len(mine) == ways else None
            if oldest is not None and mine[oldest][0] >= turn - 1:
                refused += 1
                continue
            evicted += oldest is not None
            mine.pop(oldest, None)
            mine[row] = (turn, len(unique) + number)
        found.append([len(unique), unmet, len(missing), evicted + refused, sum(map(len, held)), refused])
    assert lru_in_sets([np.array(ids) for ids in batches], 3 * ways, ways) == found


@each(("rows", "ways"), [(8, 8), (12, 4), (40, 4), (128, 32), (150, 10)])
@each("size", [1, 60])
def test_a_set_by_count_keeps_the_rows_looked_up_most_and_refuses_others(rows, ways, size):
    batches, number = zipf(rows, batches=30 * 60 // size, size=size, rows=300), rows // ways
    found = lfu_in_sets(batches, rows, ways)
    assert found == by_hand.counted_in_sets(
        [ids.tolist() for ids in batches], ways, number, lambda row: set_associative.set_of(row, number)
    )
    assert 0 < sum(row[5] for row in found) < sum(row[2] for row in found)


def test_without_conflicts_a_set_serves_batches_as_lru_does():
    batches = zipf(8, size=10)
    by_age = by_hand.cache_counts(by_hand.Lru(32), [ids.tolist() for ids in batches])
    assert lru_in_sets(batches, 32, 32) == [[*row, 0] for row in by_age]


@pytest.mark.parametrize("rows", [1, 30, 3 * MIN_ROWS])
def test_a_cache_that_has_changed_its_table_moves_rows_as_before(rows):
    """Tables and rings get full within batches and between them; removed rows leave positions that searches pass."""
    small = zipf(rows, batches=200, size=20, rows=5000)
    batches = small + zipf(rows, size=700, rows=5000) + small
    tables = set()
    moves = []
    for cache, counts in followed(lru, lru.no_rows(rows), batches):
        tables.add(cache.table.ctypes.data)
        moves.append(counts[[MISSES, EVICTED, MISSED_LOOKUPS]])
    assert len(tables) > 1 and np.array_equal(np.transpose(moves), moved_rows(stack_distances(batches), rows))
    small = zipf(rows, batches=700, size=20, rows=5000)
    if rows >= 20:
        assert lfu(small, rows) == by_hand.cache_counts(by_hand.Lfu(rows), [ids.tolist() for ids in small])


@pytest.mark.parametrize("batch_size", [1, 7, 60])
def test_lfu_serves_many_batches_at_once_as_one_after_another(batch_size):
    ids = np.concatenate(zipf(3))
    counts = np.zeros(COUNTS, dtype=np.int64)
    engine_lfu.serve_batches(engine_lfu.no_rows(60), ids, batch_size, counts)
    parts = np.split(ids, range(batch_size, len(ids), batch_size))
    assert counts.tolist() == sum(moves for _, moves in followed(engine_lfu, engine_lfu.no_rows(60), parts)).tolist()


def test_a_huge_cache_takes_memory_for_the_rows_it_holds():
    held = row_index.ensure_slots(row_index.empty_index(10**12, 2, ()), 5000)
    assert len(held.cell) < 20_000 and len(held.bucket) < 100_000
    for policy in (lru, engine_lfu):
        (_, (cache, _)) = followed(policy, policy.no_rows(10**12), [np.arange(2000), np.arange(5000)])
        assert sum(array.nbytes for array in cache) < 400 * 5000
