"""Several memories: does a full run find each row where nested LRU caches have it, and as often as the estimate expects?"""

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.amounts.counted import row_finder
from engine.caches.inclusive_lru import no_rows, serve_batch
from engine.caches.row_index import ensure_slots
from engine.estimate import estimate
from engine.registry import load_variant
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import settle
from engine.simulate import simulate
from engine.systems.placement import level_shares, placement
from engine.systems.row_kinds import row_bytes
from engine.workload.accesses import expected_accesses
from engine.workload.batch import bag_layout, recent, tally_batch
from engine.workload.source import source
from tests.cases import each
from tests.machines import counted_flow
from tests.systems.test_scale_out import small

DRIVES = "Rows from drives [%]"
SHORT_RUN = with_values(
    preset("mtrains-capacity").scenario,
    {"data.batch_size": 8192, "run.batches": 2, "machine.num_gpus": 16, "machine.target_throughput": None},
)
BATCHES = st.lists(st.lists(st.integers(0, 30), max_size=9), max_size=25)


def by_hand(capacity, batches):
    """Return which rows of each batch an LRU cache holds when the batch begins; it serves each of them once."""
    held, found = OrderedDict(), []
    for ids in batches:
        found.append({row for row in ids if row in held})
        for row in dict.fromkeys(ids):
            held.pop(row, None)
            held[row] = None
            while len(held) > capacity:
                held.popitem(last=False)
    return found


@given(batches=BATCHES, capacities=st.lists(st.integers(0, 20), min_size=1, max_size=3).map(sorted))
def test_one_list_holds_what_nested_lru_caches_hold(batches, capacities):
    held, ours = no_rows(capacities), []
    for ids in batches:
        ids, found = np.array(ids, dtype=np.int64), np.zeros(len(capacities) + 1, dtype=np.int64)
        held = ensure_slots(held, len(ids))
        fresh = serve_batch(*held, ids, found)
        ours.append((*found, len(fresh)))
    nested, seen = [by_hand(capacity, batches) for capacity in capacities], set()
    for n, ids in enumerate(batches):
        near = [*(len(found[n]) for found in nested), len(set(ids) & seen)]
        assert ours[n] == (*np.diff(near, prepend=0), len(set(ids) - seen))
        seen |= set(ids)


@each("popularity", ["zipf", "uniform", "meta"])
@each("locality", [0.0, 0.5])
def test_a_run_that_begins_warm_finds_rows_where_the_estimate_expects_them(popularity, locality):
    changes = {"data.popularity": popularity, "data.locality": locality, "policy.cache_load_factor": 0.002}
    asked = settle(small("mtrains", **changes)).scenario
    caches = load_variant("systems", "mtrains").caches(asked)
    found, rows = counted_flow(asked, 8), expected_rows(asked)
    wanted = rows * np.array(level_shares(asked, *caches))
    assert min(wanted[1:]) > 0
    assert found.levels.mean(axis=0) == pytest.approx(wanted, rel=0.05, abs=0.01 * rows)
    assert found.levels[0, 1:] == pytest.approx(wanted[1:], rel=0.1, abs=0.02 * rows)


def expected_rows(asked):
    return float(expected_accesses(asked).unique_rows.sum())


def test_a_run_that_begins_empty_shows_its_caches_fill():
    asked, caches, found = settle(small("mtrains", **{"data.batch_size": 128})).scenario, (2000.0, 40_000.0), []
    find, near, given = row_finder(asked, caches, recorded=True), recent(asked.model, 128), source(asked)
    for n in range(900):
        ids = given.ids(n)
        found.append(find(n, tally_batch(near, ids)[0], ids))
    found, wanted = np.array(found), expected_rows(asked) * np.array(level_shares(asked, *caches))
    assert found[0, 1] == found[0, 2] == 0 and found[0, 3] > 0
    assert found[20:40, 3].mean() > found[200:220, 3].mean() + 5 > wanted[3] + 5
    assert found[-100:].mean(axis=0) == pytest.approx(wanted, rel=0.05, abs=1)


def test_rows_of_placed_tables_are_counted_one_by_one_and_the_rest_through_the_caches():
    asked = settle(small("mtrains")).scenario
    caches, given = load_variant("systems", "mtrains").caches(asked), source(asked)
    dense, layout = placement(asked, caches[0] * row_bytes(asked)), bag_layout(asked.model, asked.data.batch_size)
    find, near = row_finder(asked, caches, recorded=True), recent(asked.model, asked.data.batch_size)
    for n in range(3):
        ids = given.ids(n)
        unique = [len(np.unique(ids[layout[t] : layout[t + 1]])) for t in range(8)]
        found = find(n, tally_batch(near, ids)[0], ids)
        assert found[0] == sum(unique[t] for t in dense.dram)
        assert found[1:].sum() == sum(unique[t] for t in dense.below_dram)


@pytest.mark.slow
def test_the_preset_agrees_with_its_estimate_on_rows_from_drives_and_an_empty_start_is_slower():
    warm, cold = (simulate(with_values(SHORT_RUN, {"policy.warm_caches": on})).results for on in (True, False))
    assert warm[DRIVES] == pytest.approx(estimate(SHORT_RUN).results[DRIVES], rel=0.02)
    assert cold[DRIVES] > 2 * warm[DRIVES] and cold["Step time [ms]"] > warm["Step time [ms]"]
