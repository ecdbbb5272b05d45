"""The knee of a locked cache: does the curve say what a cache of each size misses and refuses?"""

import numpy as np
import pytest

from engine.amounts.expected import expected_amounts
from engine.insight.memory.cache_locks import FEW_REFUSED, finding, knee, lock_curve
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import settle
from engine.workload.accesses import expected_accesses
from tests.cases import each

BASE = preset("torchrec-terabyte").scenario
MIXED = {"policy.kernel": ("uvm-cache",) * 13 + ("hbm",) * 13}


@each("knobs", [{}, MIXED, {"data.popularity": "uniform"}], few=1)
def test_points_are_what_a_batch_of_that_cache_misses_and_refuses(knobs):
    s = with_values(BASE, knobs)
    points = lock_curve(s)
    unique = expected_accesses(s).unique_rows[:13].sum() if "policy.kernel" in knobs else expected_accesses(s).unique_rows.sum()
    for point in (points[2], points[7], points[-1]):
        amounts = expected_amounts(settle(with_values(s, {"policy.cache_load_factor": point.share})))
        assert float(amounts.misses[0]) / unique == pytest.approx(point.missed)
        assert float(amounts.refused[0]) / unique == pytest.approx(point.refused, abs=1e-9)
        assert amounts.hit_rate == pytest.approx(point.hit_rate)
    assert [point.refused for point in points] == sorted((point.refused for point in points), reverse=True)
    assert all(0 <= point.refused <= point.missed + 1e-9 <= 1 + 1e-6 for point in points)


def test_the_knee_is_where_a_hundredth_of_a_batchs_rows_is_refused():
    points = lock_curve(BASE)
    bend = knee(points)
    assert bend is not None
    refused = np.interp(np.log(bend), np.log([p.gigabytes for p in points]), [p.refused for p in points])
    assert refused == pytest.approx(FEW_REFUSED, rel=1e-6)
    assert points[0].gigabytes < bend < points[-1].gigabytes and "rows of two batches fit" in finding(BASE, points)
    assert knee(points[-2:]) is None and finding(BASE, points[-2:]).startswith("This cache refuses 0 % of a batch's rows")


@each("system", ["all-hbm", "cached-embedding", "cxl", "scratchpipe"])
def test_other_caches_lock_nothing(system):
    assert lock_curve(with_values(BASE, {"system": system, "machine.num_gpus": 1})) == ()
    assert lock_curve(with_values(BASE, {"policy.cache_policy": "lfu"})) == ()
