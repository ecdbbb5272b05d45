"""P9: training steps of a 1,000-point sweep in eight functional classes, with and without sharing.

The numbers are counts of training steps, not seconds. The sweep with sharing is computed completely, through a store. Without
sharing every 40th point is run; its result must be the same to the byte, and all other points train as many steps.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from benchmarks.benchmark import Benchmark
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.service.dispatch import Dispatcher
from engine.service.worker import COMPUTE, compute_chunk
from engine.simulate import simulate
from engine.store import requests
from engine.store.database import open_store
from engine.store.result_rows import result_text, stored_results
from engine.sweep.axes import parse
from engine.sweep.sweep import Sweep
from engine.training import loop

EVERY = 40
AXES = ("data.seed=1,2,3,4", "system=cxl,cxl-b", "machine.cxl_bandwidth_GBps=0.5:50:25:log", "machine.near_data_lanes=1,2,4,8,16")


class Steps:
    """A replacement of the training step that counts its calls."""

    def __init__(self) -> None:
        self.count, self.real = 0, loop.step

    def __call__(self, *given: object) -> object:
        self.count += 1
        return self.real(*given)  # type: ignore[arg-type]


def swept(store: Path, points: Sequence[Scenario]) -> None:
    """Compute the points as one worker would, in this process, so that steps can be counted."""
    requests.submit(store, points, "full")
    with open_store(store) as connection:
        feed = Dispatcher(connection, store, COMPUTE)
        for chunk, _ in feed.due_chunks(1):
            feed.note_answer(compute_chunk(chunk))


def run() -> tuple[float, float, bool]:
    """Return the steps with sharing and without, and whether results are equal."""
    base = with_values(preset("tiny").scenario, {"run.batches": 40})
    points = tuple(Sweep(base, tuple(parse(axis) for axis in AXES)))
    with TemporaryDirectory() as folder:
        store = Path(folder) / "store.sqlite"
        with patch.object(loop, "step", Steps()) as shared:
            swept(store, points)
        with patch.object(loop, "step", Steps()) as alone:
            apart = [simulate(point) for point in points[::EVERY]]
        together = [result for _, result in stored_results(store, points, "full")][::EVERY]
    equal = all(other and result_text(one) == result_text(other) for one, other in zip(apart, together, strict=True))
    return shared.count, alone.count / len(apart) * len(points), equal and len(points) == 1000


BENCHMARK = Benchmark("P9", "training steps, 1,000 points in 8 classes", "no sharing", "", 100.0, 125.0, run)
