"""The instant estimate: expected accesses instead of ids, the same systems, devices and schedule, no training."""

import numpy as np

from engine.fit import Fit
from engine.nodes import sized
from engine.report import Report
from engine.result import Result
from engine.run import Machinery, machinery, schedule
from engine.scenario import Scenario
from engine.steady import Steady, steady
from engine.story import cannot_run, sketch
from engine.timeline import Timeline
from engine.traffic import Traffic, traffic
from engine.traffic import steady as repeated
from engine.workload.accesses import expected
from engine.workload.caching import expected_fetches, popular_share

WINDOW, TURNS, LONGEST = 64, 3, 2048


def estimate(scenario: Scenario) -> Result:
    """Estimate a scenario's steady state in milliseconds of computing; faults and training are left out.

    What cannot run comes back as a result that says why; BadKnob is raised for a policy that the system cannot have.
    """
    settled = settle(scenario)
    m = machinery(settled.scenario)
    if settled.problems:
        return cannot_run(scenario, settled.problems)
    line = schedule(m, repeated(_expected(m), _window(m)))
    average = steady(line, m.devices)
    return sketch(scenario, line, _report(m, line, average), _notes(scenario))


def settle(scenario: Scenario) -> Fit:
    """Choose what is automatic, nodes included where a throughput is asked for, and check that everything fits."""
    return sized(scenario, _throughput)


def _throughput(settled: Scenario) -> float:
    m = machinery(settled)
    line = schedule(m, repeated(_expected(m), _window(m)))
    return settled.data.batch_size / steady(line, m.devices).step


def _expected(m: Machinery) -> Traffic:
    """Return one batch of the steady state; a cache and a hot set are looked at only where the system has them."""
    s, cache, hot = m.scenario, m.system.cache, m.system.hot
    accesses = expected(s)
    rows = accesses.unique_rows.sum(axis=1)
    misses = expected_fetches(s, cache.policy, cache.rows(s)) if cache else 0.0
    return traffic(
        s,
        rows=rows,
        raw_share=accesses.raw_lookups.sum(axis=1) / accesses.lookups.sum(),
        misses=np.minimum(misses, rows),
        cold=rows - accesses.shared_rows.sum(axis=1),
        popular=np.array([popular_share(s, hot(s)) if hot else 0.0]),
    )


def _window(m: Machinery) -> int:
    """Return how many batches show the steady state: two to begin with, then whole turns of bound + 1 batches.

    A log that cannot keep up makes somebody wait once in a turn; a run of fewer turns may end before the first wait.
    """
    turn = m.ways.bound + 1
    turns = min(max(TURNS, -(-WINDOW // turn)), max(LONGEST // turn, 1))
    return 2 + min(turns * turn, LONGEST)


def _report(m: Machinery, line: Timeline, average: Steady) -> Report:
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
        staleness=int(line.state.stale.max(initial=0)) if m.ways.log else None,
    )


def _notes(scenario: Scenario) -> tuple[str, ...]:
    if not scenario.data.digest:
        return ()
    return (f"Estimated with the generator's popularity {scenario.data.popularity!r}; a full run counts the file's own ids.",)
