"""Full runs of many design points at once, where neither training nor a fault makes them differ from each other.

What their batches touch is counted once for all points with the same data, what a cache moves once for each cache; each
point then costs one schedule. A point that trains, is struck, or reads a file runs by itself.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.ahead import Ahead
from engine.books import undisturbed
from engine.errors import CannotRun, EmberpoolError
from engine.expected import settle
from engine.finding import finding
from engine.found import finder
from engine.graph import check
from engine.layout import laid_out
from engine.machinery import machinery
from engine.metric import measure
from engine.parts import named
from engine.registry import load
from engine.report import Report
from engine.result import Result
from engine.run import UNDISTURBED
from engine.scenario import Scenario, per_table
from engine.seen import remembered
from engine.serving import served, warm
from engine.simulate import simulate
from engine.single_thread import single_thread
from engine.story import cannot_run, warnings
from engine.system import System, cache_policy, ways
from engine.together import Observed, Plan, Point, Refused, Whole, each
from engine.traffic import LEVELS, Floats, Traffic, traffic
from engine.workload.hot import hot_set, popular
from engine.workload.recency import MOST_LOOKUPS, Distances, distances, moved
from engine.workload.recent import recent, tally
from engine.workload.source import source


def runs(scenarios: Sequence[Scenario]) -> list[Result]:
    """Run many scenarios in full, in order, as `simulate` does; results are without tables.

    A scenario that is refused gives a result that did not run, without numbers, and with the sentence as its outcome.
    """
    with single_thread():
        found = each(map(_ready, scenarios), _told, whole=True)
    return [one.result if isinstance(one, Refused) else one for one in found]


def _ready(asked: Scenario) -> Point | Result | Refused:
    try:
        if asked.run.training or asked.data.digest or not _calm(asked):
            return simulate(asked)
        settled = settle(asked)
        m = machinery(settled.scenario)
        if settled.problems:
            return cannot_run(asked, settled.problems)
        return Point(asked, m, _planned(settled.scenario, asked.system))
    except CannotRun as error:
        return cannot_run(asked, (str(error),))
    except EmberpoolError as error:
        return Refused(asked, error)


@remembered()
def _calm(s: Scenario) -> bool:
    """Return whether no fault will ever strike."""
    return Ahead(s).peek() is None


@remembered(most=16)
def _planned(s: Scenario, system: str) -> Plan:
    chosen: System = load("systems", system)
    amounts, policies, devices = counted(s, system), ways(s, chosen), named(system, s.machine)
    graph = chosen.plan(s, policies, amounts)
    check(graph, frozenset(devices))
    return Plan(amounts, laid_out(graph, devices, amounts.batches))


@remembered(most=16)
def counted(s: Scenario, system: str) -> Traffic:
    """Return what the batches of a run of the generator ask for, counted from their ids."""
    chosen: System = load("systems", system)
    amounts: dict[str, Any] = {"popular": np.zeros(s.run.batches), "misses": np.zeros(s.run.batches)}
    amounts |= dict(zip(("rows", "raw_share", "cold"), _tallied(s), strict=True))
    if chosen.cache:
        amounts |= dict(zip(("misses", "evicted", "missed", "refused"), _moved(s, system), strict=True))
    if chosen.caches:
        amounts["levels"] = _found(s, system)
    if chosen.hot:
        amounts["popular"] = _popular(s, system)
    return traffic(s, **amounts)


@remembered(most=16)
def _tallied(s: Scenario) -> Floats:
    """Return unique rows, share of lookups of rows of the batch before, and unique rows that it has not touched, (3, N)."""
    given, near = source(s), recent(s.model, s.data.batch_size)
    columns = np.zeros((3, s.run.batches))
    for n in range(s.run.batches):
        ids = given.ids(n)
        unique, shared, raw = tally(near, ids)
        columns[:, n] = unique.sum(), raw.sum() / ids.size, unique.sum() - shared.sum()
    return columns


@remembered(most=64)
def _moved(s: Scenario, system: str) -> Floats:
    """Return what the cache misses, evicts, misses by lookup and refuses, (4, N)."""
    cache = load("systems", system).cache
    lookups = s.data.batch_size * sum(per_table(s.model, "pooling")) * s.run.batches
    by_distance = cache_policy(s, cache) == "lru" and cache.at_once(s) == 1 and not warm(s, cache)
    if by_distance and lookups <= MOST_LOOKUPS:
        misses, evicted, missed = moved(_distances(s), max(0, int(cache.rows(s))))
        return np.array([misses, evicted, missed, np.zeros_like(misses)])
    flow = served(s, cache, source(s), s.run.batches)
    return np.array([(moves.misses, moves.evicted, moves.missed_lookups, moves.refused) for moves in flow], dtype=np.float64).T


@remembered(most=2)
def _distances(s: Scenario) -> Distances:
    """Measure how far back the run's lookups look: for LRU caches of every size."""
    given = source(s)
    return distances([given.ids(n) for n in range(s.run.batches)])


@remembered(most=16)
def _found(s: Scenario, system: str) -> Floats:
    """Return rows by the memory that they are found in, (N, LEVELS)."""
    given, near = source(s), recent(s.model, s.data.batch_size)
    find = finder(s, load("systems", system).caches(s), False)
    levels = np.zeros((s.run.batches, LEVELS))
    for n in range(s.run.batches):
        ids = given.ids(n)
        levels[n] = find(n, tally(near, ids)[0], ids)
    return levels


@remembered(most=16)
def _popular(s: Scenario, system: str) -> Floats:
    """Return the share of samples that meet hot rows alone, (N,)."""
    given = source(s)
    hot = hot_set(s, load("systems", system).hot(s), given)
    return np.array([popular(hot, given.ids(n)) for n in range(s.run.batches)])


def _told(point: Point, seen: Observed) -> Result:
    if seen.whole is None:
        raise ValueError("a run was observed for its averages alone.")
    report, asked = _report(point, seen, seen.whole), point.asked
    return Result(
        asked,
        ran=True,
        outcome=UNDISTURBED,
        results=measure(report),
        warnings=warnings(asked, report),
        finding=finding(report),
    )


def _report(point: Point, seen: Observed, whole: Whole) -> Report:
    m, amounts, devices = point.machinery, point.plan.amounts, point.machinery.devices
    busy, dynamic, logs = dict.fromkeys(devices, 0.0), dict.fromkeys(devices, 0.0), 0.0
    for (stage, name), (seconds, joules) in zip(point.plan.layout.cells, whole.cells, strict=True):
        busy[name] += seconds
        dynamic[name] += joules
        logs += joules if stage == "Checkpoint" else 0.0
    static = {name: device.idle_watts * whole.elapsed for name, device in devices.items()}
    watts = sum([device.idle_watts for device in devices.values()])
    every = watts * whole.elapsed + sum(dynamic.values())
    return Report(
        machinery=m,
        steady=seen.average,
        batches=amounts.batches,
        elapsed=whole.elapsed,
        static=static,
        dynamic=dynamic,
        busy=busy,
        pmem_written=whole.written,
        pmem_media_written=whole.media,
        staleness=seen.stale if m.ways.log else None,
        books=undisturbed(whole.elapsed, whole.waits, every, watts * whole.waits + logs),
        hit_rate=amounts.hit_rate if m.system.cache else None,
        drives_share=amounts.drives_share if m.system.caches else None,
    )
