"""Can every benchmark be begun? An engine name that went away would otherwise be noticed only by whoever measures."""

import json

from benchmarks.draw import KEPT, PAGE, drawn
from engine.commands.bench import benchmarks
from tests import ROOT


def test_every_benchmark_can_be_imported_and_has_a_name_of_its_own() -> None:
    assert len(benchmarks()) == len(list((ROOT / "benchmarks").glob("p[0-9]*.py")))


def test_the_page_of_performance_is_what_was_measured_last() -> None:
    assert PAGE.read_text() == drawn(json.loads(KEPT.read_text()))
