"""Can every benchmark be begun? An engine name that went away would otherwise be noticed only by whoever measures."""

from engine.commands.bench import benchmarks
from tests import ROOT


def test_every_benchmark_can_be_imported_and_has_a_name_of_its_own() -> None:
    assert len(benchmarks()) == len(list((ROOT / "benchmarks").glob("p[0-9]*.py")))
