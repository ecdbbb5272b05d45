"""Do the caches miss exactly as often as libCacheSim's on the same trace?"""

import json
from importlib.util import find_spec

import numpy as np
import pytest

from benchmarks import libcachesim_peer as peer
from benchmarks.replay import POLICIES
from engine.caches import stack_distance
from tests import ROOT
from tests.caches.reference_caches import cache_misses, lfu

RECORDED = json.loads((ROOT / "tests/data/libcachesim_misses.json").read_text(encoding="utf-8"))
CAPACITIES = RECORDED["capacities"]


@pytest.fixture(scope="module")
def ids():
    return peer.zipf(**RECORDED["trace"])


@pytest.mark.parametrize("name", peer.POLICIES)
def test_misses_of_a_replay_are_those_that_libcachesim_counted(name, ids):
    wanted = RECORDED["misses"][name]
    found = [POLICIES[name](ids, RECORDED["trace"]["rows"], rows) for rows in CAPACITIES]
    assert found == wanted and len(set(wanted)) >= 6


def test_the_caches_of_a_full_run_miss_as_often_when_batches_are_single_ids(ids):
    assert [cache_misses([ids], rows)[0] for rows in CAPACITIES] == RECORDED["misses"]["lru"]
    for place in (2, 4):
        assert sum(row[2] for row in lfu(ids[:, None], CAPACITIES[place])) == RECORDED["misses"]["lfu"][place]


def test_one_pass_has_every_lru_count_of_libcachesim(ids):
    assert stack_distance.curve([ids]).misses(np.array(CAPACITIES)).tolist() == RECORDED["misses"]["lru"]


@pytest.mark.slow
@pytest.mark.parametrize(("exponent", "seed"), [(0.6, 1), (1.05, 2), (1.4, 3)])
def test_misses_are_those_of_the_installed_libcachesim_on_a_million_ids(exponent, seed, tmp_path):
    assert find_spec("libcachesim"), "make slow installs libcachesim; see requirements-slow.txt"
    ids, capacities = peer.zipf(1_000_000, 300_000, exponent, seed), [30, 3000, 30_000, 150_000]
    peer.write(tmp_path / "trace", ids)
    for name in peer.POLICIES:
        found = [POLICIES[name](ids, 300_000, rows) for rows in capacities]
        assert found == peer.misses(tmp_path / "trace", len(ids), name, capacities)
