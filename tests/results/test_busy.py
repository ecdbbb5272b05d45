"""Are a link's directions counted apart, and is no cache's hit rate the rounding of its misses?"""

import re

import pytest

from engine.analysis.enough.cache import cache_of_size
from engine.embedding_tables.table_rows import table_rows
from engine.estimate import estimate
from engine.simulate import simulate
from tests.machines import TINY, scenario, with_values


def test_a_link_is_as_busy_as_its_busier_direction():
    result = estimate(scenario("dlrm-kaggle", "cxl", **{"machine.cxl_bandwidth_GBps": 4.0, "machine.framework": "lean"}))
    both = sum(row["Busy [s]"] for row in result.breakdown if row["Device"] == "cxl") / result.results["Step time [ms]"] * 1e3
    busy = next(row["Busy [%]"] for row in result.devices if row["Device"] == "cxl") / 100
    told = float(re.search(r"busier direction of the CXL link carries data for ([\d.]+) %", result.finding)[1]) / 100
    assert both > 1.3 and both / 2 < busy < 1 and told == pytest.approx(busy, rel=0.01)


def test_a_full_run_and_an_estimate_count_a_links_directions_alike():
    knobs = {"machine.cxl_bandwidth_GBps": 0.3, "run.training": False, "run.batches": 40}
    expected, counted = (answer(scenario("tiny", "cxl-b", **knobs)) for answer in (estimate, simulate))
    shares = [next(row["Busy [%]"] for row in result.devices if row["Device"] == "cxl") for result in (expected, counted)]
    assert shares[0] == pytest.approx(shares[1], rel=0.05) and max(shares) <= 100


def test_a_cache_without_rows_has_a_hit_rate_of_0():
    for system in ("ssd", "torchrec-uvm"):
        s = with_values(TINY, {"system": system, "policy.cache_load_factor": 1e-6})
        assert estimate(s).results["Cache hit rate [%]"] == 0
        assert {row["Hit rate [%]"] for row in table_rows(estimate(s))} <= {0}
    assert cache_of_size(TINY, 0.0).recent_rate == 0
