"""Compiles every kernel that the explorer needs, in the order in which its pages do, so that no visitor waits for one."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np

from engine.analysis.pareto import fronts
from engine.estimate import estimate
from engine.full_runs import runs
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.simulate import simulate

estimate(preset("dlrm-kaggle").scenario)
tiny = preset("tiny").scenario
for changes in (
    {"system": "ssd"},
    {"model.optimizer": "adagrad", "policy.relaxed_lookup": False},
    {"model.interaction": "concat", "data.locality": 0.2},
    {"faults.power_loss_at_seconds": (0.001,)},
):
    scenario = with_values(tiny, changes)
    estimate(scenario)
    simulate(scenario)
hbm = with_values(tiny, {"system": "all-hbm", "run.training": False})
runs([with_values(hbm, {"machine.pcie_bandwidth_GBps": 1.0 + n}) for n in range(10)], tables=True)
fronts(np.zeros((1, 2)))
