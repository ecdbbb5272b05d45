"""P6-kept: kept results of a sweep written as CSV, as the page Runs does, compared with a limit for each row."""

from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np

from benchmarks.benchmark import ROUNDS, Benchmark, by_itself
from engine.estimates import estimates
from engine.results.csv_table import csv_of, csv_text
from engine.scenario.keys import key
from engine.scenario.presets import preset
from engine.service import history
from engine.store import requests, result_rows
from engine.store.database import open_store, transaction
from engine.sweep.axes import Axis
from engine.sweep.sweep import Sweep

LIMIT_SECONDS = 60e-6
CXL = Axis("machine.cxl_bandwidth_GBps", tuple(np.geomspace(1, 100, 50).tolist()))
BATCH = Axis("data.batch_size", tuple(range(64, 864, 32)))
SYSTEM = Axis("system", ("pcie", "cxl-d", "cxl-b", "cxl"))


def run() -> tuple[float, float, bool]:
    """Keep 5,000 estimates; return the seconds of their CSV, the limit, and whether it is that of the results."""
    points = tuple(Sweep(preset("dlrm-kaggle").scenario, (SYSTEM, BATCH, CXL)))
    results = estimates(points)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        request = requests.submit(path, points, "estimate")
        with open_store(path) as store, transaction(store):
            rows = [(key(result.scenario, "estimate"), result_rows.row_text(result)) for result in results]
            result_rows.store_results(store, rows)
        equal = csv_of(history.table_rows(path, [request])) == csv_text(results, "estimate")
        times = []
        with by_itself():
            for _ in range(ROUNDS):
                start = process_time()
                csv_of(history.table_rows(path, [request]))
                times.append(process_time() - start)
    return median(times), LIMIT_SECONDS * len(points), equal


BENCHMARK = Benchmark("P6-kept", "CSV of 5,000 kept rows", "its limit, 60 µs a row", "", 1, 2, run)
