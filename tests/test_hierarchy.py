"""Do levels of memory serve what nested caches serve, and do rates mix as serial reads do?"""

from math import prod

import numpy as np
import pytest

from engine.caches import batch_lru, stack_distance
from engine.errors import BadInput
from engine.insight import planner_gap
from engine.insight.inclusive_levels import Level, arithmetic, harmonic, seconds, served
from engine.workload import spectrum
from engine.workload.popularity import Popularity

LEVELS = (
    Level("HBM", 200, 64, 900e9),
    Level("DRAM", 900, 64, 80e9),
    Level("byte-addressable SCM", 2000, 64, 8e9),
    Level("block-addressable SCM", 0, 4096, 3e9),
)


@pytest.fixture(scope="module")
def ids():
    return (np.random.default_rng(2).pareto(0.7, 20_000) * 10).astype(np.int64) % 5000


def test_each_level_serves_what_its_cache_hits_beyond_the_faster_ones(ids):
    found = served(stack_distance.curve([ids]).hit_rate, LEVELS) * len(ids)
    misses = [len(ids), *(batch_lru.cache_misses([ids], level.rows)[0] for level in LEVELS[:-1]), 0]
    assert found == pytest.approx(-np.diff(misses)) and found.min() > 0


def test_the_mean_time_is_the_serial_sum_over_lookups(ids):
    shares = served(stack_distance.curve([ids]).hit_rate, LEVELS)
    total = sum(
        level.row_bytes / level.bytes_per_second * round(share * len(ids)) for share, level in zip(shares, LEVELS, strict=True)
    )
    assert seconds(shares, LEVELS) * len(ids) == pytest.approx(total, rel=1e-9)


def test_a_harmonic_rate_moves_its_bytes_in_the_serial_time():
    nbytes, shares, rates = 1e9, (0.7, 0.2, 0.1), (900e9, 80e9, 3e9)
    serial = sum(nbytes * share / rate for share, rate in zip(shares, rates, strict=True))
    assert nbytes / harmonic(shares, rates) == pytest.approx(serial)
    assert arithmetic(shares, rates) > 10 * harmonic(shares, rates)
    assert arithmetic((0.5, 0.5), (4.0, 4.0)) == harmonic((0.5, 0.5), (4.0, 4.0)) == 4.0


def test_a_level_smaller_than_a_faster_one_is_refused():
    with pytest.raises(BadInput, match="DRAM holds 100 rows, fewer than HBM's 200"):
        served(lambda rows: rows * 0, (LEVELS[0], Level("DRAM", 100, 64, 1.0), LEVELS[2], LEVELS[3]))


def test_the_planner_is_28_times_off_on_a_million_zipf_rows_ten_of_it_by_derating():
    rows = 10**6
    share = 1 / np.arange(1, rows + 1) ** 1.05
    hit_rate = share[:15_000].sum() / share.sum()
    found = planner_gap.Overlay(0.015, hit_rate)
    assert found.planner == pytest.approx((0.015 * 897e9 + 0.985 * 32e9) / 10)
    assert found.real / found.planner == pytest.approx(28, abs=0.7)
    assert prod(found.factors.values()) == pytest.approx(found.real / found.planner)
    derating, hits, mixing = found.factors.values()
    assert derating == pytest.approx(10) and hits * mixing == pytest.approx(2.8, abs=0.07) and hits > 15 and mixing < 0.2
    space = spectrum.spectrum(Popularity((), 1.0, 1.05, 0.0, rows, rows))
    assert float(spectrum.head_mass(space, 15_000)) == pytest.approx(hit_rate, abs=1e-3)
