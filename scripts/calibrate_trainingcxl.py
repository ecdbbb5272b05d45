"""Fits the TrainingCXL prototype's unstated constants to the paper's RM1 and RM4 step times, and prints them.

Run `python scripts/calibrate_trainingcxl.py` (it needs SciPy); the constants labelled "calibrated" in engine/hardware/catalog and
in presets/trainingcxl-*.toml are its output, rounded. RM2 and RM3 are not used: they are predictions.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares
from trainingcxl_figure import DIGITISED

sys.path.insert(0, str(Path(__file__).parent.parent))

from engine.core.graph import STAGES
from engine.estimate import estimate
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values

START = {
    "pmem.read-rate": 11.3,
    "pmem.in-place-update-rate": 1.476,
    "pmem.read-write-mix": 0.7,
    "pmem.read-after-write-stall": 279.0,
    "host.embedding-software-per-batch": 6914.0,
    "host.embedding-software-per-lookup": 38.1,
    "pcie.software-hand-off": 372.4,
    "gpu.bottom-MLP-per-parameter": 103.8,
    "gpu.bottom-MLP-forward-share": 0.308,
    "gpu.top-part-fixed-time": 1.194,
    "gpu.top-part-per-parameter": 188.6,
    "machine.cxl_bandwidth_GBps": 67.3,
    "machine.pcie_bandwidth_GBps": 41.08,
}
# RM1 and RM4 leave one direction open: a longer forward pass and a longer stalled lookup look alike. Two weak
# priors settle it: the forward pass is one GEMM of a layer's three, and a stall doubles a lookup (paper, text).
PRIORS = {"gpu.bottom-MLP-forward-share": (1 / 3, 0.2), "pmem.read-after-write-stall": (243 / 0.87, 0.2)}
LEAST_PART = 0.5
TOTAL_WEIGHT, PART_WEIGHT = 1 / 0.02, 1 / 0.1


def knobs_of(values: dict[str, float]) -> dict[str, object]:
    """Return the values as knobs: what is no knob itself is a constant to assume."""
    knobs = {name: value for name, value in values.items() if name.startswith("machine.")}
    return {**knobs, "machine.assume": tuple((name, value) for name, value in values.items() if name not in knobs)}


def simulated(model: str, system: str, knobs: dict[str, object]) -> tuple[float, ...]:
    """Return our milliseconds of one batch, by stage."""
    scenario = with_values(preset(f"trainingcxl-{model}").scenario, {"system": system, **knobs})
    rows = estimate(scenario).breakdown
    return tuple(1e3 * sum(row["Exposed [s]"] for row in rows if row["Stage"] == stage) for stage in STAGES[:5])


def residuals(logs: np.ndarray) -> np.ndarray:
    """Return relative misses, parts of at least 0.5 ms and totals, in units of their weight."""
    values = dict(zip(START, np.exp(logs), strict=True))
    knobs = knobs_of(values)
    misses = [np.log(values[name] / centre) / width for name, (centre, width) in PRIORS.items()]
    for (model, system), paper in DIGITISED.items():
        ours = simulated(model, system, knobs)
        misses.append(TOTAL_WEIGHT * (sum(ours) / sum(paper) - 1))
        misses += [PART_WEIGHT * (x / y - 1) for x, y in zip(ours, paper, strict=True) if y >= LEAST_PART]
    return np.array(misses)


def main() -> None:
    """Fit, then print constants and the table of misses."""
    fit = least_squares(residuals, np.log(list(START.values())), diff_step=1e-3)
    values = dict(zip(START, np.exp(fit.x), strict=True))
    for name, value in values.items():
        print(f"{name:32} {value:10.4g}")
    knobs = knobs_of(values)
    for (model, system), paper in DIGITISED.items():
        ours = simulated(model, system, knobs)
        parts = "  ".join(f"{x:6.2f} ({y:5.2f})" for x, y in zip(ours, paper, strict=True))
        miss = 100 * (sum(ours) / sum(paper) - 1)
        print(f"{model} {system:6} {parts}  total {sum(ours):6.2f} ({sum(paper):6.2f}) {miss:+5.1f} %")


if __name__ == "__main__":
    main()
