"""Do the caches miss exactly as often as libCacheSim's on the same trace?"""

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks import libcachesim_peer as peer
from engine.caches import stack_distance
from engine.caches.policy import Room, caches

RECORDED = json.loads((Path(__file__).parent / "data" / "libcachesim_misses.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def ids():
    return peer.zipf(**RECORDED["trace"])


@pytest.mark.parametrize("name", peer.POLICIES)
def test_misses_are_those_that_libcachesim_counted(name, ids):
    wanted = RECORDED["misses"][name]
    found = [caches()[name].singly(ids, Room(rows)) for rows in RECORDED["capacities"]]
    assert found == wanted and len(set(wanted)) >= 6


def test_one_pass_has_every_lru_count_of_libcachesim(ids):
    assert stack_distance.curve([ids]).misses(np.array(RECORDED["capacities"])).tolist() == RECORDED["misses"]["lru"]


@pytest.mark.slow
@pytest.mark.parametrize(("exponent", "seed"), [(0.6, 1), (1.05, 2), (1.4, 3)])
def test_misses_are_those_of_the_installed_libcachesim_on_a_million_ids(exponent, seed, tmp_path):
    assert find_spec("libcachesim"), "make slow installs libcachesim; see requirements-slow.txt"
    ids, capacities = peer.zipf(1_000_000, 300_000, exponent, seed), [30, 3000, 30_000, 150_000]
    peer.write(tmp_path / "trace", ids)
    for name in peer.POLICIES:
        found = [caches()[name].singly(ids, Room(rows)) for rows in capacities]
        assert found == peer.misses(tmp_path / "trace", len(ids), name, capacities)
