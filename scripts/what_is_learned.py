"""Trains every preset that trains, for several seeds, and prints its AUC beside a logistic regression's and the clicking model's.

Run `python scripts/what_is_learned.py`; `--seeds 3 --preset dlrm-kaggle` are its options. 20,000 samples are held out. For each
preset it prints a row of `docs/model/training.md`, *Two yardsticks for a run's AUC*: means over the seeds, and the smallest lead
over the regression.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import with_values
from engine.simulate import simulate
from engine.training.yardsticks import yardsticks

HEAD = "| preset | seeds | AUC | regression | model that clicks | least above the regression |\n|---|---|---|---|---|---|"


def row(name: str, seeds: int) -> str:
    """Return a preset's row, telling each seed on the way."""
    found = []
    for seed in range(1, seeds + 1):
        scenario = with_values(preset(name).scenario, {"data.seed": seed, "data.held_out_samples": 20_000})
        result, lines = simulate(scenario), yardsticks(scenario)
        found.append((float(result.results["AUC"] or 0), lines.regression[-1][1], float(lines.teacher or 0)))
        print(f"{name}, seed {seed}: " + ", ".join(f"{auc:.4f}" for auc in found[-1]), file=sys.stderr, flush=True)
    ours, regression, teacher = (f"{mean:.3f}" for mean in np.mean(found, axis=0))
    least = min(ours - regression for ours, regression, _ in found)
    return f"| `{name}` | {seeds} | {ours} | {regression} | {teacher} | {least:.3f} |"


def main() -> None:
    """Print the table."""
    trained = [name for name in preset_names() if preset(name).scenario.run.training]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", choices=trained, help="this one alone")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    print(HEAD)
    for name in [given.preset] if given.preset else trained:
        print(row(name, given.seeds), flush=True)


if __name__ == "__main__":
    main()
