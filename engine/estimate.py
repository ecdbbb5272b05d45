"""The instant estimate: expected accesses instead of ids, the same systems, devices and schedule, no training."""

import numpy as np

from engine.books import Books, undisturbed
from engine.fit import Fit
from engine.nodes import sized
from engine.placement import levels
from engine.report import Report
from engine.result import Result
from engine.run import Machinery, machinery, schedule
from engine.scenario import Scenario
from engine.steady import Steady, steady
from engine.story import cannot_run, sketch
from engine.system import cache_policy
from engine.timeline import Timeline
from engine.traffic import Traffic, traffic
from engine.traffic import steady as repeated
from engine.workload.accesses import expected
from engine.workload.caching import NOTHING, expected_moves, popular_share

WINDOW, TURNS, LONGEST = 64, 3, 2048


def estimate(scenario: Scenario) -> Result:
    """Estimate a scenario's steady state in milliseconds of computing; faults and training are left out.

    What cannot run comes back as a result that says why; BadKnob is raised for a policy that the system cannot have.
    """
    settled = settle(scenario)
    m = machinery(settled.scenario)
    if settled.problems:
        return cannot_run(scenario, settled.problems)
    amounts = _expected(m)
    line = schedule(m, repeated(amounts, _window(m)))
    accounts = _report(m, line, steady(line, m.devices), amounts)
    return sketch(scenario, line, accounts, _notes(scenario))


def settle(scenario: Scenario) -> Fit:
    """Choose what is automatic, nodes included where a throughput is asked for, and check that everything fits."""
    return sized(scenario, _throughput)


def _throughput(settled: Scenario) -> float:
    m = machinery(settled)
    return settled.data.batch_size / steady(expected_line(m), m.devices).step


def expected_line(m: Machinery, batches: int | None = None) -> Timeline:
    """Schedule batches of expected accesses, as many as the steady state takes; the scenario must fit its machine."""
    return schedule(m, expected_traffic(m, batches or _window(m)))


def expected_traffic(m: Machinery, batches: int) -> Traffic:
    """Return so many batches of the steady state's expected accesses."""
    return repeated(_expected(m), batches)


def _expected(m: Machinery) -> Traffic:
    """Return one batch of the steady state; a cache and a hot set are looked at only where the system has them."""
    s, cache, hot = m.scenario, m.system.cache, m.system.hot
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
        levels=rows[:, None] * levels(s, *m.system.caches(s)) if m.system.caches else None,
    )


def _window(m: Machinery) -> int:
    """Return how many batches show the steady state: two to begin with, then whole turns of bound + 1 batches.

    A log that cannot keep up makes somebody wait once in a turn; a run of fewer turns may end before the first wait.
    """
    turn = m.ways.bound + 1
    turns = min(max(TURNS, -(-WINDOW // turn)), max(LONGEST // turn, 1))
    return 2 + min(turns * turn, LONGEST)


def _report(m: Machinery, line: Timeline, average: Steady, amounts: Traffic) -> Report:
    """Scale the steady state to the scenario's number of batches."""
    batches = m.scenario.run.batches
    return Report(
        machinery=m,
        steady=average,
        batches=batches,
        elapsed=average.step * batches,
        static={name: joules * batches for name, joules in average.static.items()},
        dynamic={name: joules * batches for name, joules in average.dynamic.items()},
        busy={name: seconds * batches for name, seconds in average.busy.items()},
        pmem_written=average.written * batches,
        pmem_media_written=average.media_written * batches,
        staleness=int(line.state.stale.max(initial=0)) if m.ways.log else None,
        books=_books(average, batches),
        hit_rate=amounts.hit_rate if m.system.cache else None,
        drives_share=amounts.drives_share if m.system.caches else None,
    )


def _books(average: Steady, batches: int) -> Books:
    logs = sum(row["Energy [J]"] for row in average.rows if row["Stage"] == "Checkpoint")
    waits = average.stage("Checkpoint")
    joules = logs + waits * sum(average.static.values()) / average.step
    return undisturbed(average.step * batches, waits * batches, average.energy * batches, joules * batches)


def _notes(scenario: Scenario) -> tuple[str, ...]:
    if not scenario.data.digest:
        return ()
    return (f"Estimated with the generator's popularity {scenario.data.popularity!r}; a full run counts the file's own ids.",)
