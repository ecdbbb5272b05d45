"""Do rates mix as serial reads do, and how far off is a planner that mixes them otherwise?"""

from math import prod

import numpy as np
import pytest

from engine.insight import planner_gap
from engine.workload import spectrum
from engine.workload.popularity import Popularity


def test_the_planner_is_28_times_off_on_a_million_zipf_rows_ten_of_it_by_derating():
    rows = 10**6
    share = 1 / np.arange(1, rows + 1) ** 1.05
    hit_rate = share[:15_000].sum() / share.sum()
    found = planner_gap.overlay(0.015, hit_rate)
    assert found.planner == pytest.approx((0.015 * 897e9 + 0.985 * 32e9) / 10)
    assert found.real / found.planner == pytest.approx(28, abs=0.7)
    assert prod(found.factors) == pytest.approx(found.real / found.planner)
    derating, hits, mixing = found.factors
    assert derating == pytest.approx(10) and hits * mixing == pytest.approx(2.8, abs=0.07) and hits > 15 and mixing < 0.2
    space = spectrum.spectrum(Popularity((), 1.0, 1.05, 0.0, rows, rows))
    assert float(spectrum.head_mass(space, 15_000)) == pytest.approx(hit_rate, abs=1e-3)
