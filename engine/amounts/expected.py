"""Traffic of a steady batch, expected from the popularity instead of counted from ids."""

import numpy as np

from ..core.memo import remembered
from ..registry import load
from ..scenario.scenario import Scenario
from ..systems.placement import levels
from ..systems.system import System, cache_policy
from ..systems.traffic import Traffic, scratchpad_rows, traffic
from ..systems.traffic import steady as repeated
from ..workload.accesses import expected
from ..workload.expected_cache import NOTHING, expected_moves, popular_share
from ..workload.repeats import expected_again


def expected_traffic(s: Scenario, batches: int) -> Traffic:
    """Return so many batches of the steady state's expected accesses."""
    return repeated(expected_amounts(s, s.system), batches)


@remembered()
def expected_amounts(s: Scenario, system: str) -> Traffic:
    """Return one batch of the steady state; a cache and a hot set are looked at only where the system has them."""
    chosen: System = load("systems", system)
    cache, hot, caches = chosen.cache, chosen.hot, chosen.caches
    accesses = expected(s)
    rows = accesses.unique_rows.sum(axis=1)
    room = scratchpad_rows(s, "near-data" in chosen.devices)
    again = 0.0 if room is None or room >= rows[0] else expected_again(s, room)
    moved = expected_moves(s, cache_policy(s, cache), cache.rows(s), cache.at_once(s)) if cache else NOTHING
    found = {"levels": rows[:, None] * levels(s, *caches(s))} if caches else {}
    return traffic(
        s,
        rows=rows,
        raw_share=accesses.raw_lookups.sum(axis=1) / accesses.lookups.sum(),
        misses=np.minimum(moved.misses, rows),
        cold=rows - accesses.shared_rows.sum(axis=1),
        popular=np.array([popular_share(s, hot(s)) if hot else 0.0]),
        missed=np.array([moved.missed_lookups]),
        refused=np.minimum(moved.refused, rows),
        again=np.array([again]),
        **found,
    )
