"""What to expect of a scenario: settled on its machine, the amounts of a steady batch, and how many batches show it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.fit import Fit
from engine.nodes import sized
from engine.placement import levels
from engine.registry import load
from engine.run import Machinery, machinery, schedule
from engine.scenario import Scenario, with_checked
from engine.seen import Seen, remembered
from engine.steady import steady
from engine.system import System, Ways, cache_policy
from engine.timeline import Timeline
from engine.traffic import Traffic, traffic
from engine.traffic import steady as repeated
from engine.workload.accesses import expected
from engine.workload.caching import NOTHING, expected_moves, popular_share

WINDOW, TURNS, LONGEST = 64, 3, 2048


def settle(scenario: Scenario) -> Fit:
    """Choose what is automatic, nodes included where a throughput is asked for, and check that everything fits."""
    changes, problems, automatic = _settled(scenario, scenario.system)
    return Fit(with_checked(scenario, changes) if changes else scenario, problems, automatic)


@remembered()
def _settled(s: Scenario, system: str) -> tuple[Mapping[str, Any], tuple[str, ...], bool]:
    found = sized(s, _throughput)
    changes = found.scenario.changes if isinstance(found.scenario, Seen) else {}
    return changes, found.problems, found.capacity_is_automatic


def _throughput(settled: Scenario) -> float:
    m = machinery(settled)
    return settled.data.batch_size / steady(expected_line(m), m.devices).step


def expected_line(m: Machinery, batches: int | None = None) -> Timeline:
    """Schedule batches of expected accesses, as many as the steady state takes; the scenario must fit its machine."""
    return schedule(m, expected_traffic(m, batches or window(m.ways)))


def expected_traffic(m: Machinery, batches: int) -> Traffic:
    """Return so many batches of the steady state's expected accesses."""
    return repeated(expected_amounts(m.scenario, m.scenario.system), batches)


@remembered()
def expected_amounts(s: Scenario, system: str) -> Traffic:
    """Return one batch of the steady state; a cache and a hot set are looked at only where the system has them."""
    chosen: System = load("systems", system)
    cache, hot, caches = chosen.cache, chosen.hot, chosen.caches
    accesses = expected(s)
    rows = accesses.unique_rows.sum(axis=1)
    moved = expected_moves(s, cache_policy(s, cache), cache.rows(s), cache.at_once(s)) if cache else NOTHING
    return traffic(
        s,
        rows=rows,
        raw_share=accesses.raw_lookups.sum(axis=1) / accesses.lookups.sum(),
        misses=np.minimum(moved.misses, rows),
        cold=rows - accesses.shared_rows.sum(axis=1),
        popular=np.array([popular_share(s, hot(s)) if hot else 0.0]),
        missed=np.array([moved.missed_lookups]),
        refused=np.minimum(moved.refused, rows),
        levels=rows[:, None] * levels(s, *caches(s)) if caches else None,
    )


def window(ways: Ways) -> int:
    """Return how many batches show the steady state: two to begin with, then whole turns of bound + 1 batches.

    A log that cannot keep up makes somebody wait once in a turn; a run of fewer turns may end before the first wait.
    """
    turn = ways.bound + 1
    turns = min(max(TURNS, -(-WINDOW // turn)), max(LONGEST // turn, 1))
    return 2 + min(turns * turn, LONGEST)
