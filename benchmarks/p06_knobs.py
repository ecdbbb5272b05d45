"""P6 for knobs of model, data and policy: 1,024 estimates along each, compared with MAD-Max's pace.

The seconds include the table.
"""

from collections.abc import Callable
from functools import partial
from statistics import median
from time import process_time

import numpy as np

from benchmarks.benchmark import Benchmark
from benchmarks.p06_estimate import MADMAX_POINTS_PER_SECOND
from engine.core import memo
from engine.estimate import estimate
from engine.estimates import estimates
from engine.registry import variant_names
from engine.results.csv_table import csv_text
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values

POINTS, ROUNDS, ALONE = 1024, 3, 16
Points = Callable[[], list[Scenario]]


def batch_sizes() -> list[Scenario]:
    """Return the default machine with 1,024 batch sizes."""
    sizes = np.unique(np.geomspace(32, 65_536, 4 * POINTS).astype(int))
    chosen = sizes[np.linspace(0, len(sizes) - 1, POINTS).astype(int)]
    return [with_values(preset("dlrm-kaggle").scenario, {"data.batch_size": int(size)}) for size in chosen]


def poolings() -> list[Scenario]:
    """Return the default machine with 1 to 1,024 lookups a sample in each table."""
    return [with_values(preset("dlrm-kaggle").scenario, {"model.pooling": (n,)}) for n in range(1, POINTS + 1)]


def cache_shares() -> list[Scenario]:
    """Return the machine of system CachedEmbedding with 1,024 sizes of its cache."""
    shares, base = np.geomspace(0.002, 0.3, POINTS).tolist(), preset("cached-embedding-kaggle").scenario
    return [with_values(base, {"policy.cache_load_factor": share}) for share in shares]


def dims() -> list[Scenario]:
    """Return rows of 4 to 4,096 B, with interaction `concat` and a bottom MLP of the same dim."""
    base = with_values(preset("dlrm-kaggle").scenario, {"model.interaction": "concat"})
    bottom = base.model.bottom_mlp[:-1]
    return [with_values(base, {"model.embedding_dim": n, "model.bottom_mlp": (*bottom, n)}) for n in range(1, POINTS + 1)]


def systems() -> list[Scenario]:
    """Return every system of a single node with 48 batch sizes."""
    sizes = np.geomspace(64, 16_384, 48).astype(int).tolist()
    base = preset("dlrm-kaggle").scenario
    return [with_values(base, {"system": name, "data.batch_size": n}) for name in variant_names("systems")[:21] for n in sizes]


def run(points: Points) -> tuple[float, float, bool]:
    """Estimate the points with empty memos and write their table; return the times.

    Seconds are of both estimates and table.
    """
    scenarios = points()
    alone = scenarios[:: len(scenarios) // ALONE]
    equal = csv_text(estimates(alone), "estimate") == csv_text(map(estimate, alone), "estimate")
    times = []
    for _ in range(ROUNDS):
        memo.clear_memos()
        start = process_time()
        csv_text(estimates(scenarios), "estimate")
        times.append(process_time() - start)
    return median(times), len(scenarios) / MADMAX_POINTS_PER_SECOND, equal


def row(name: str, title: str, points: Points) -> Benchmark:
    """Return the benchmark of the points along one axis."""
    return Benchmark(name, title, "MAD-Max, as stated", "", 4500 / 2406, 10_000 / 2406, partial(run, points))


BENCHMARKS = (
    row("P6-batch", "1,024 estimates along the batch size", batch_sizes),
    row("P6-pooling", "1,024 estimates along pooling", poolings),
    row("P6-cache", "1,024 estimates along the cache's share", cache_shares),
    row("P6-dim", "1,024 estimates along the row's width", dims),
    row("P6-systems", "21 systems, 48 batch sizes each", systems),
)
