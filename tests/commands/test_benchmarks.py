"""Can every benchmark be begun? An engine name that went away would otherwise be noticed only by whoever measures."""

import json

import numpy as np

from benchmarks.benchmark import Benchmark
from benchmarks.draw import KEPT, PAGE, drawn
from engine.commands.bench import benchmark_row, benchmarks
from tests import ROOT


def test_every_benchmark_can_be_imported_and_has_a_name_of_its_own() -> None:
    assert len(benchmarks()) == len(list((ROOT / "benchmarks").glob("p[0-9]*.py")))


def test_the_page_of_performance_is_what_was_measured_last() -> None:
    assert PAGE.read_text() == drawn(json.loads(KEPT.read_text()))


def test_a_row_is_plain_json_whatever_numbers_a_benchmark_returns() -> None:
    one = Benchmark("P", "title", "peer", "", 2.0, 4.0, lambda: (1.0, np.float64(3.0), np.bool_(True)))
    assert json.loads(json.dumps(benchmark_row(one)))["passed"] is True
