"""Is a long run, which the event loop holds in parts, the same as one that it holds whole? And does it need little memory?"""

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from engine.core.graph import TaskGraph
from engine.registry import variant_names
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule import averages, course
from engine.schedule.machine import schedule
from engine.schedule.timeline import timeline
from engine.simulate import simulate
from engine.store.result_rows import result_text
from tests.cases import each
from tests.machines import counted_flow, ready
from tests.schedule.drawn import BENCH, GRAPHS, lasting

BATCHES = 700
MANY_BATCHES, BYTES_PER_BATCH = 200_000, 210  # 200 MiB for a million batches
IDS_BYTES = 100 * 2**20  # ids that are kept for the next pass, whatever the length of the run
PEAK = """
import resource
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.simulate import simulate
simulate(with_values(preset("tiny").scenario, {{"run.batches": {batches}, "run.training": False}}))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def hold(monkeypatch: pytest.MonkeyPatch, batches: int) -> None:
    """Let the event loop hold so many batches at a time."""
    for module in (course, averages):
        monkeypatch.setattr(module, "HELD_BATCHES", batches)
    monkeypatch.setattr(course, "SPARE_BATCHES", 16)


@each("system", variant_names("systems"), few=4)
def test_a_run_in_parts_has_the_bytes_of_a_run_held_whole(system: str) -> None:
    knobs = {"system": system, "run.training": False, "run.batches": BATCHES}
    asked = [with_values(preset("tiny").scenario, knobs | {"faults.power_loss_at_seconds": at}) for at in ((), (0.05, 0.09))]
    whole = [result_text(simulate(scenario)) for scenario in asked]
    with pytest.MonkeyPatch.context() as monkeypatch:
        hold(monkeypatch, 96)
        assert [result_text(simulate(scenario)) for scenario in asked] == whole


@each("bound", (1, 7, 40), few=3)
def test_a_log_over_many_batches_is_the_same_in_parts(bound: int) -> None:
    asked = with_values(preset("tiny").scenario, {"run.batches": BATCHES, "policy.mlp_staleness_bound_batches": bound})
    whole = schedule(ready(asked), counted_flow(asked, BATCHES))
    with pytest.MonkeyPatch.context() as monkeypatch:
        hold(monkeypatch, 96)
        parts = schedule(ready(asked), counted_flow(asked, BATCHES))
        assert len(parts.course.firsts) > 1
        for name in ("start", "end", "batch_ends", "durations"):
            np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
        np.testing.assert_array_equal(parts.course.staleness, whole.course.staleness)
        assert parts.steady == whole.steady and parts.makespan == whole.makespan
        assert len(averages.enter_demands.signatures) == 1, "a long run compiles no kernel of its own"


@each("drawn", GRAPHS)
def test_tasks_that_wait_in_any_queue_are_the_same_in_parts(drawn: Callable[[np.random.Generator], TaskGraph]) -> None:
    for seed in range(15):
        rng = np.random.default_rng(seed)
        graph = drawn(rng)
        asked = lasting(graph, rng.uniform(1.0, 2.0, (200, len(graph.tasks)))), BENCH, 200
        whole = timeline(*asked)
        with pytest.MonkeyPatch.context() as monkeypatch:
            hold(monkeypatch, 48)
            parts = timeline(*asked)
            for name in ("start", "end"):
                np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
            np.testing.assert_array_equal(parts.course.staleness, whole.course.staleness)


@pytest.mark.slow
def test_the_memory_of_a_run_hardly_grows_with_its_batches() -> None:
    few, many = (
        1024 * int(subprocess.run([sys.executable, "-c", PEAK.format(batches=batches)], capture_output=True, check=True).stdout)
        for batches in (1000, MANY_BATCHES)
    )
    assert many - few <= MANY_BATCHES * BYTES_PER_BATCH + IDS_BYTES
