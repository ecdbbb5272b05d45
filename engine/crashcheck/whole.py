"""The whole check: every configuration, tiny runs to the last combination and small ones further, under every model."""

from collections.abc import Callable
from dataclasses import replace

from .exploration import explore, safe_models
from .reference_run import configurations
from .report import CrashReport
from .visit import Effort

Told = Callable[[float, str], None]
"""Is told the share that is done, and what comes next."""


def efforts(states: int, pairs: int) -> tuple[Effort, Effort]:
    """Return how far tiny and small runs go, so that all `pairs` of configuration and model visit some `states` images."""
    each = max(states // pairs // 4, 4)
    return Effort(each, None, max(each // 50, 1), 2, 0), Effort(2 * each, 2, max(each // 25, 1), max(each // 10, 2), 1)


def check(
    states: int, models: tuple[str, ...] | None = None, seed: int = 0, told: Told = lambda share, what: None
) -> CrashReport:
    """Explore all configurations; an interrupt ends it with what has been found so far."""
    every, chosen = configurations(), models or safe_models()
    tiny, small = efforts(states, len(every) * len(chosen))
    report = CrashReport()
    try:
        for done, of in enumerate(every):
            told(done / len(every), f"{report.unique_states} states, {of.name}")
            report.add(explore(replace(of, size="tiny"), None, chosen, tiny, seed))
            report.add(explore(of, None, chosen, small, seed))
    except KeyboardInterrupt:
        report.interrupted = True
    return report
