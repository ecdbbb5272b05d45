"""Compiles every kernel that the explorer needs, in the order in which its pages do, so that no visitor waits for one."""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from engine.estimate import estimate
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.service.kernels import compile_all


def uses() -> Iterator[None]:
    """Use them: first those of the first page, its estimate; then those of full runs, sweeps and fronts."""
    estimate(preset("dlrm-kaggle").scenario)
    yield
    os.nice(10)  # a visitor looks at the page by now
    import numpy as np

    from engine.analysis.pareto import fronts
    from engine.full_runs import full_runs
    from engine.simulate import simulate

    tiny = with_values(preset("tiny").scenario, {"run.batches": 40})
    for changes in (
        {"system": "ssd", "model.optimizer": "sgd"},
        {"model.optimizer": "adam"},
        {"model.interaction": "concat", "data.locality": 0.2},
        {"faults.power_loss_at_seconds": (0.001,)},
    ):
        scenario = with_values(tiny, changes)
        estimate(scenario)
        simulate(scenario)
    hbm = with_values(tiny, {"system": "all-hbm", "run.training": False})
    estimate(with_values(hbm, {"machine.num_gpus": 2}))  # a plan of tables
    full_runs([with_values(hbm, {"machine.pcie_bandwidth_GBps": 1.0 + n}) for n in range(10)], tables=True)
    fronts(np.zeros((1, 2)))


gc.freeze()  # of what numba makes little is garbage: looking through it seldom saves a tenth of the time
gc.set_threshold(10_000)
compile_all(uses(), lambda line: print(line, flush=True))
