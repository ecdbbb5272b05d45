"""What a run's ids ask of rows and caches, kept for the next points: counts hang on ids and caches, on no bandwidth."""

from collections.abc import Callable, Hashable
from typing import Any

from engine.machinery import Machinery
from engine.traffic import Floats

Amounts = dict[str, Floats]
MOST_BATCHES = 500_000  # of all counts kept in a process, some 100 bytes each
KEPT: dict[Hashable, Amounts] = {}


def recalled(m: Machinery, batches: int, count: Callable[[], Amounts]) -> Amounts:
    """Return what `count` gives, from this process's memory if a point that reads the same has been counted; the oldest goes."""
    asked = (*reads(m), batches)
    if asked not in KEPT:
        found = count()
        while KEPT and batches + sum(key[-1] for key in KEPT) > MOST_BATCHES:  # type: ignore[index]
            del KEPT[next(iter(KEPT))]
        KEPT[asked] = found
    return KEPT[asked]


def reads(m: Machinery) -> tuple[Any, ...]:
    """Return all that counting reads of a scenario: model and data, and of a system with caches or hot rows what these keep."""
    s, system = m.scenario, m.system
    near: tuple[Any, ...] = ()
    if system.cache:
        near += (system.cache, s.policy, system.cache.rows(s), system.cache.at_once(s), system.cache.window(s))
    if system.hot:
        near += (system.hot(s),)
    if system.caches:
        near += (system.caches(s), s.policy, s.machine)
    return s.model, s.data, near
