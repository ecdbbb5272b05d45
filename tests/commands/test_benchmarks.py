"""Can every benchmark be begun? An engine name that went away would otherwise be noticed only by whoever measures."""

import json
from dataclasses import replace
from time import sleep

import numpy as np

from benchmarks.benchmark import Benchmark
from benchmarks.draw import KEPT, PAGE, drawn
from benchmarks.p06_knobs import batch_sizes, cache_shares, dims, poolings, systems
from engine.commands.bench import benchmark_row, benchmarks, table, verdict
from engine.estimates import estimates
from tests import ROOT


def test_every_benchmark_can_be_imported_and_has_a_name_of_its_own() -> None:
    assert len(benchmarks()) >= len(list((ROOT / "benchmarks").glob("p[0-9]*.py")))


def test_the_page_of_performance_is_what_was_measured_last() -> None:
    assert PAGE.read_text() == drawn(json.loads(KEPT.read_text()))


def test_a_row_is_plain_json_whatever_numbers_a_benchmark_returns() -> None:
    one = Benchmark("P", "title", "peer", "", 2.0, 4.0, lambda: (1.0, np.float64(3.0), np.bool_(True)))
    assert json.loads(json.dumps(benchmark_row(one)))["passed"] is True


def test_a_row_that_others_disturbed_is_not_measured() -> None:
    one = Benchmark("P", "title", "peer", "", 2.0, 4.0, lambda: (sleep(0.2), (1.0, 3.0, True))[1])
    slept, loaded = benchmark_row(one), benchmark_row(replace(one, clock="wall"), is_loaded=True)
    assert slept["busy"] and loaded["busy"] and not benchmark_row(replace(one, clock="wall"))["busy"]
    assert verdict(slept) == "equal, not measured: busy" and "not measured: busy" in table([slept])
    assert verdict({**slept, "busy": False}) == "equal, met" and verdict({**slept, "busy": False, "target": 4}) == "equal, missed"
    assert "numpy" in slept["environment"] and "openblas" in slept["environment"]


def test_points_along_knobs_can_all_be_estimated() -> None:
    for points in (batch_sizes, poolings, cache_shares, dims, systems):
        scenarios = points()
        assert len(set(scenarios)) == len(scenarios) >= 1000
        results = estimates(scenarios[:: len(scenarios) // 4])
        assert all(result.ran for result in results), points.__name__
