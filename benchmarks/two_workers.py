"""The same sweep by one worker and by two, each into a new store: how far from half the time the two are."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic

from engine.scenario.keys import Fidelity
from engine.scenario.scenario import Scenario
from engine.service import service
from engine.store import requests, result_rows

ROUNDS = 3


def sweep(scenarios: Sequence[Scenario], how: Fidelity, jobs: int) -> tuple[float, list[str]]:
    """Return the seconds on the clock from asking to the last row, start of the workers included, and what was kept."""
    with TemporaryDirectory() as folder:
        store, start = Path(folder) / "store.sqlite", monotonic()
        request = requests.submit(store, scenarios, how, sharing=False, keeps_on=True)  # however busy the computer
        service.serve(store, jobs, 0.0, request=request)
        took = monotonic() - start
        return took, [
            result_rows.result_text(result) for _, result in result_rows.stored_results(store, scenarios, how) if result
        ]


def efficiency(scenarios: Sequence[Scenario], how: Fidelity) -> Callable[[], tuple[float, float, bool]]:
    """Return the run of a benchmark: two workers beside half of what one takes, in turns, by the median."""

    def run() -> tuple[float, float, bool]:
        rounds = [(sweep(scenarios, how, 2), sweep(scenarios, how, 1)) for _ in range(ROUNDS)]
        equal = all(two[1] == one[1] and len(one[1]) == len(scenarios) for two, one in rounds)
        return median(two[0] for two, _ in rounds), median(one[0] for _, one in rounds) / 2, equal

    return run
