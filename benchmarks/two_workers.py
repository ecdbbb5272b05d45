"""One sweep by one worker and by two, each into a new store.

The time of two workers is compared with half the time of one.
"""

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
    """Return the elapsed seconds of a sweep by `jobs` workers, and its stored results as texts.

    The seconds run from the request to the last row, and include the start of the workers.
    """
    with TemporaryDirectory() as folder:
        store, start = Path(folder) / "store.sqlite", monotonic()
        request = requests.submit(store, scenarios, how, sharing=False, keeps_on=True)  # however busy the computer
        service.serve(store, jobs, 0.0, request=request)
        took = monotonic() - start
        return took, [
            result_rows.result_text(result) for _, result in result_rows.stored_results(store, scenarios, how) if result
        ]


def efficiency(scenarios: Sequence[Scenario], how: Fidelity) -> Callable[[], tuple[float, float, bool]]:
    """Return the `run` of a benchmark: two workers, compared with half of one worker's time.

    Both sweeps are run in turn, and the medians of their times are compared.
    """

    def run() -> tuple[float, float, bool]:
        rounds = [(sweep(scenarios, how, 2), sweep(scenarios, how, 1)) for _ in range(ROUNDS)]
        equal = all(two[1] == one[1] and len(one[1]) == len(scenarios) for two, one in rounds)
        return median(two[0] for two, _ in rounds), median(one[0] for _, one in rounds) / 2, equal

    return run
