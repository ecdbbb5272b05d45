"""Do the compiled caches do what each policy's definition says, batch by batch?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.__main__ import main
from engine.caches import batch_lru, row_index
from engine.caches.policies import set_associative
from engine.caches.policy import Room, by_table, caches
from engine.errors import BadInput, CannotRun
from engine.registry import names
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.workload import batch, source
from tests import reference_caches as by_hand

BY_HAND = {"lru": by_hand.Lru, "clock": by_hand.Clock, "lfu": by_hand.Lfu}
HOT = np.arange(100_000)
NAMES = tuple(caches())


def room(rows, **more):
    return Room(rows, hot_first=HOT, **more)


def table(found):
    return np.stack([getattr(found, name) for name in by_hand.COLUMNS], axis=1).tolist()


def zipf(seed, batches=30, size=60, rows=200):
    share = 1 / np.arange(1, rows + 1)
    draws = np.random.default_rng(seed).choice(rows, (batches, size), p=share / share.sum())
    return [np.ascontiguousarray(ids) for ids in draws.astype(np.int64)]


def few(batches):
    return [np.array(ids, dtype=np.int64) for ids in batches]


BATCHES = st.lists(st.lists(st.integers(0, 12), max_size=6), max_size=25)


def test_the_policies_of_the_issue_are_found():
    assert set(NAMES) == {"clock", "lfu", "look-ahead", "lru", "set-associative", "set-associative-lfu", "static"}


@pytest.mark.parametrize("name", BY_HAND)
@given(batches=BATCHES, rows=st.integers(6, 14))
def test_small_batches_move_rows_as_the_definition_says(name, batches, rows):
    found = caches()[name].run(few(batches), room(rows))
    assert table(found) == by_hand.served(BY_HAND[name](rows), batches)


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize("rows", [45, 60, 100, 150, 250])
def test_skewed_batches_move_rows_as_the_definition_says(name, rows):
    batches = zipf(rows)
    found = caches()[name].run(batches, room(rows))
    assert table(found) == by_hand.served(BY_HAND[name](rows), [ids.tolist() for ids in batches])
    assert found.held.max() <= rows and (found.hits + found.misses == found.unique).all()


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize("rows", [1, 2, 7, 40, 1000])
def test_one_id_at_a_time_is_a_batch_of_one(name, rows):
    ids = np.concatenate(zipf(3))
    wanted = sum(row[2] for row in by_hand.served(BY_HAND[name](rows), ids[:, None].tolist()))
    assert caches()[name].singly(ids, room(rows)) == wanted


@pytest.mark.parametrize("name", BY_HAND)
@given(ids=st.lists(st.integers(0, 9), max_size=80), rows=st.integers(0, 11))
def test_ids_far_apart_miss_as_often_as_ids_close_together(name, ids, rows):
    close = np.array(ids, dtype=np.int64)
    assert caches()[name].singly(close * 2**40, room(rows)) == caches()[name].singly(close, room(rows))


@pytest.mark.parametrize("rows", [0, 1, 5, 300, 5000])
def test_lru_served_singly_is_the_cache_of_system_ssd(rows):
    ids = np.concatenate(zipf(4, rows=4000))
    assert caches()["lru"].singly(ids, room(rows)) == batch_lru.cache_misses([ids], rows)[0]


@given(batches=BATCHES, rows=st.integers(6, 14), ahead=st.integers(0, 4))
def test_look_ahead_keeps_what_is_seen_again_in_time(batches, rows, ahead):
    found = caches()["look-ahead"].run(few(batches), room(rows, batches_ahead=ahead))
    assert table(found) == by_hand.belady(batches, rows, ahead)


@pytest.mark.parametrize("ahead", range(5))
def test_a_row_used_exactly_at_the_end_of_what_is_seen_stays(ahead):
    batches = [[1], [1, 2], [3], [1, 2], [3], [4], [5, 3]]
    found = caches()["look-ahead"].run(few(batches), room(6, batches_ahead=ahead))
    assert table(found) == by_hand.belady(batches, 6, ahead)


@pytest.mark.parametrize("rows", [1, 3, 20, 100])
def test_look_ahead_at_everything_is_belady_and_nobody_misses_less(rows):
    ids = np.concatenate(zipf(5, batches=15))
    best = caches()["look-ahead"].singly(ids, room(rows))
    assert best == sum(row[2] for row in by_hand.belady(ids[:, None].tolist(), rows, len(ids)))
    for name in ("lru", "clock", "lfu"):
        assert best <= caches()[name].singly(ids, room(rows))


def test_looking_no_batch_ahead_keeps_nothing_and_looking_far_misses_each_row_once():
    batches = zipf(6)
    none = caches()["look-ahead"].run(batches, room(10**6, batches_ahead=0))
    every = caches()["look-ahead"].run(batches, room(10**6, batches_ahead=1000))
    assert (none.misses == none.unique).all() and not none.held.any()
    assert every.misses.sum() == len(np.unique(np.concatenate(batches)))


@pytest.mark.parametrize("rows", [64, 320, 1000])
@pytest.mark.parametrize("ways", [4, 32])
def test_a_set_associative_cache_is_an_lru_in_each_set_of_the_split_trace(rows, ways):
    ids = np.concatenate(zipf(7, rows=3000))
    size = room(rows, ways=ways)
    number = set_associative.sets(size)
    own = np.array([set_associative.set_of(row, number) for row in ids])
    assert len(np.unique(own)) >= 0.9 * number
    wanted = sum(batch_lru.cache_misses([ids[own == one]], ways)[0] for one in range(number))
    assert caches()["set-associative"].singly(ids, size) == wanted


def test_a_set_full_of_the_present_batch_serves_a_conflict_without_keeping_it():
    size = room(8, ways=4)
    ids = np.arange(200)
    own = np.array([set_associative.set_of(row, 2) for row in ids])
    one_set = ids[own == 0][:7]
    found = caches()["set-associative"].run([one_set, one_set, one_set[4:]], size)
    assert found.misses.tolist() == [7, 3, 3]
    assert found.evicted.tolist() == [3, 3, 3] and found.held.tolist() == [4, 4, 4]
    assert found.refused.tolist() == [3, 3, 0]


@pytest.mark.parametrize(("rows", "ways"), [(8, 8), (12, 4), (40, 4), (128, 32), (150, 10)])
@pytest.mark.parametrize("size", [1, 60])
def test_a_set_by_count_keeps_the_rows_looked_up_most_and_refuses_others(rows, ways, size):
    batches, space = zipf(rows, batches=30 * 60 // size, size=size, rows=300), room(rows, ways=ways)
    found, number = caches()["set-associative-lfu"].run(batches, space), rows // ways
    by_count = by_hand.counted_in_sets(
        [ids.tolist() for ids in batches], ways, number, lambda row: set_associative.set_of(row, number)
    )
    assert [[*counts, refused] for counts, refused in zip(table(found), found.refused.tolist(), strict=True)] == by_count
    assert 0 < found.refused.sum() < found.misses.sum()
    ids = np.concatenate(batches)
    one_by_one = [ids[n : n + 1] for n in range(len(ids))]
    assert (
        caches()["set-associative-lfu"].singly(ids, space) == caches()["set-associative-lfu"].run(one_by_one, space).misses.sum()
    )


def test_without_conflicts_a_set_serves_batches_as_lru_does():
    batches = zipf(8, size=10)
    one_set = caches()["set-associative"].run(batches, room(32, ways=32))
    assert table(one_set) == table(caches()["lru"].run(batches, room(32)))


@pytest.mark.parametrize("rows", [0, 10, 60, 500])
def test_a_static_cache_hits_exactly_its_hot_rows(rows):
    batches = zipf(9)
    found = caches()["static"].run(batches, room(rows))
    assert found.missed_lookups.tolist() == [int((ids >= rows).sum()) for ids in batches]
    assert found.misses.tolist() == [len(np.unique(ids[ids >= rows])) for ids in batches]
    assert found.unique.tolist() == [len(np.unique(ids)) for ids in batches]
    assert caches()["static"].singly(np.concatenate(batches), room(rows)) == found.missed_lookups.sum()


def test_a_static_cache_without_frequencies_asks_for_them():
    with pytest.raises(BadInput, match="hot_first"):
        caches()["static"].run([], Room(10))


@pytest.mark.parametrize("name", ["lru", "clock", "lfu", "look-ahead"])
def test_a_batch_larger_than_the_cache_is_refused_with_its_size(name):
    batches = few([[1, 2], [1, 2, 3, 3]])
    with pytest.raises(CannotRun, match="2 rows cannot hold the 3 unique rows of batch 1; give it 3 rows or more"):
        caches()[name].run(batches, room(2))
    assert caches()[name].run(batches, room(3)).misses.tolist() == [2, 1]


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_writes_back_what_goes_and_balances_its_rows(name):
    found = caches()[name].run(zipf(10), room(70))
    assert found.lookups.tolist() == [60] * 30 and (found.missed_lookups >= found.misses).all()
    start = room(70).rows if name == "static" else 0
    assert (found.held == start + np.cumsum(found.misses - found.written_back)).all()
    assert found.hit_rate == pytest.approx(1 - found.missed_lookups / 60)
    assert 0 < found.misses[5:].sum() < found.unique[5:].sum()


def test_one_cache_a_table_serves_that_tables_ids_alone():
    scenario = with_values(preset("tiny").scenario, {"data.batch_size": 32})
    layout, origin = batch.bag_layout(scenario.model, 32), source.source(scenario)
    batches = [origin.ids(n) for n in range(8)]
    found = by_table(caches()["lru"], batches, layout, [Room(200)] * 3)
    for t, own in enumerate(found):
        split = [ids[layout[t] : layout[t + 1]].tolist() for ids in batches]
        assert table(own) == by_hand.served(by_hand.Lru(200), split)


def test_a_huge_cache_takes_memory_for_the_rows_it_holds():
    held = row_index.with_room(row_index.empty(10**12, 2, ()), 5000)
    assert len(held.cell) < 20_000 and len(held.bucket) < 100_000


def test_the_command_lists_every_cache_policy(capsys):
    assert main(["list", "caches"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(names("caches"))
