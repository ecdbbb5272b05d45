"""Caches: does a full run serve each batch as the policy's definition says, and does the estimate agree with it?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadKnob
from engine.estimate import estimate
from engine.presets import preset
from engine.scenario import with_values
from engine.simulate import simulate
from engine.workload import lru, ranks, sets, shelf
from engine.workload.batch import offsets
from engine.workload.source import source

SMALL = {"model.num_embeddings": (3000,) * 26, "data.batch_size": 256, "run.training": False, "run.batches": 60}
BATCHES = st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=6), min_size=1, max_size=20)


def small(**knobs):
    return with_values(preset("cached-embedding-kaggle").scenario, {**SMALL, "policy.cache_load_factor": 0.1, **knobs})


def by_hand(policy, capacity, batches):
    """Serve batches with a dict of rows and their worth: one loop per sentence of the definition."""
    worth, found = {}, []
    for ids in batches:
        rows = set(ids)
        missing = rows - set(worth)
        unseen = sum(row in missing for row in ids)
        over = max(0, len(worth) + len(missing) - capacity)
        for row in sorted(rows):
            worth[row] = worth.get(row, 0) + ids.count(row) if policy == "lfu" else -row
        for row in sorted(set(worth) - rows, key=worth.get)[:over]:
            del worth[row]
        found.append((unseen, len(missing), over, len(rows)))
    return found


def shelved(policy, capacity, batches):
    held, found = shelf.empty(), []
    for ids in batches:
        held, moves = shelf.serve(held, policy, capacity, np.array(ids))
        found.append(tuple(moves))
    return found


@given(batches=BATCHES, capacity=st.integers(6, 13))
def test_a_batch_moves_rows_as_the_definition_says(batches, capacity):
    assert shelved("frequency", capacity, batches) == by_hand("frequency", capacity, batches)


@given(batches=BATCHES)
def test_a_lookup_misses_if_its_row_was_not_held_when_the_batch_began(batches):
    cache, seen = lru.lru(13), set()
    for ids in batches:
        cache, misses, missed = lru.admit(cache, np.array(ids))
        assert misses == len(set(ids) - seen)
        assert missed == sum(row not in seen for row in ids)
        seen |= set(ids)


def test_the_row_used_least_often_goes_first():
    batches = [[1, 1, 1, 2, 2, 3], [4, 4], [1, 2, 3]]
    # 3, used once, goes for 4; then 3 comes back for 4, the only row that the batch does not use
    assert shelved("lfu", 3, batches) == by_hand("lfu", 3, batches) == [(6, 3, 0, 3), (2, 1, 1, 1), (1, 1, 1, 3)]


def test_rows_that_do_not_fit_beside_the_batch_are_fetched_and_sent_home_each_time():
    assert shelved("lfu", 2, [[1, 2, 3], [1, 2, 3]]) == [(3, 3, 1, 3), (1, 1, 1, 3)]
    assert shelved("lfu", 0, [[1, 2, 2]]) == [(3, 2, 2, 2)]


@given(batches=BATCHES, ahead=st.integers(1, 8))
def test_look_ahead_has_kept_what_one_of_the_last_batches_used(batches, ahead):
    held = shelf.empty()
    for turn, ids in enumerate(batches):
        recent = {row for before in batches[max(0, turn - ahead) : turn] for row in before}
        held, moves = shelf.look_ahead(held, ahead, turn, np.array(ids))
        assert moves.misses == len(set(ids) - recent)
        assert moves.missed_lookups == sum(row not in recent for row in ids)


@pytest.mark.parametrize("rows", [64, 320])
def test_each_set_is_an_lru_of_32_ways_and_a_conflict_is_not_kept(rows):
    rng = np.random.default_rng(1)
    cache, found = sets.sets(rows), []
    held: dict[int, dict[int, int]] = {}
    for turn in range(1, 20):
        ids = rng.integers(0, 500, 200)
        misses = 0
        missing = []
        for row in np.unique(ids).tolist():
            own = held.setdefault(sets.set_of(row, rows // 32), {})
            if row in own:
                own[row] = turn
            else:
                missing.append((row, own))
        for row, own in missing:
            misses += 1
            if len(own) == 32:
                oldest = min(own, key=own.get)
                if own[oldest] == turn:
                    continue
                del own[oldest]
            own[row] = turn
        found.append((sets.serve(cache, turn, ids).misses, misses))
        assert (cache.row > 0).sum() == sum(map(len, held.values()))
    # which of equally old rows goes is left open, so only the first rounds must agree to the row
    assert found[0][0] == found[0][1]
    assert sum(ours for ours, _ in found) == pytest.approx(sum(theirs for _, theirs in found), rel=0.02)


def test_ranks_number_all_rows_and_follow_how_often_the_data_uses_them():
    asked = small()
    ids, relabel = np.concatenate([source(asked).ids(n) for n in range(20)]), ranks.generated(asked)
    assert len(np.unique(relabel(ids))) == len(np.unique(ids))
    counts = np.bincount(relabel(ids))
    assert len(counts) <= offsets(asked.model)[-1]
    thirds = [part.sum() for part in np.array_split(counts[:900], 3)]
    assert thirds[0] > 2 * thirds[1] > 2 * thirds[2] and counts[0] == counts.max()


def test_a_file_is_ranked_by_its_own_counts():
    relabel = ranks.recorded([np.array([9, 9, 4]), np.array([4, 9, 7])])
    assert relabel(np.array([9, 4, 7])).tolist() == [0, 1, 2]


@pytest.mark.parametrize("popularity", ["kaggle", "zipf", "uniform"])
@pytest.mark.parametrize("together", [1, 2])
def test_estimate_and_full_run_agree_on_a_cache_by_frequency(popularity, together):
    asked = small(**{"data.popularity": popularity, "policy.prefetch_batches": together, "data.batch_size": 96})
    ours, counted = estimate(asked).results, simulate(asked).results
    assert ours["Cache hit rate [%]"] == pytest.approx(counted["Cache hit rate [%]"], abs=2)
    assert ours["Step time [ms]"] == pytest.approx(counted["Step time [ms]"], rel=0.05)


@pytest.mark.parametrize("locality", [0.0, 0.5])
def test_estimate_and_full_run_agree_on_a_cache_by_recency(locality):
    asked = small(**{"policy.cache_policy": "lru", "run.batches": 300, "data.locality": locality})
    ours, counted = estimate(asked).results, simulate(asked).results
    assert ours["Cache hit rate [%]"] == pytest.approx(counted["Cache hit rate [%]"], abs=2)


def test_several_batches_fetched_at_once_amortise_and_too_many_do_not_fit():
    steps = [estimate(small(**{"policy.prefetch_batches": p})).results["Step time [ms]"] for p in (1, 2, 4)]
    assert steps[0] > steps[1] > steps[2]
    for answer in (estimate, simulate):
        refused = answer(small(**{"policy.prefetch_batches": 30}))
        assert not refused.ran
        assert "30 batches together use" in refused.outcome and "lower policy.prefetch_batches" in refused.outcome


def test_a_system_refuses_a_cache_policy_that_it_does_not_have():
    with pytest.raises(BadKnob, match=r"system=ssd keeps rows by lru; set it to auto"):
        estimate(with_values(preset("tiny").scenario, {"system": "ssd", "policy.cache_policy": "lfu"}))


def test_only_a_system_with_a_cache_has_a_hit_rate():
    assert estimate(small(system="all-hbm")).results["Cache hit rate [%]"] is None
    assert 50 < estimate(small()).results["Cache hit rate [%]"] < 100
