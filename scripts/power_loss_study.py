"""Cuts the power at random instants and prints, for every system, how many runs end as if it never had been cut.

Run `python scripts/power_loss_study.py`; `--instants 500 --preset tiny --seed 1` are its options. Half of the
instants fall anywhere, half inside the short time in which a batch's commit is made durable.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from engine.registry import variant_names
from engine.results.result import Result
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.scenario.storage import OPTIMIZERS
from engine.schedule.machine import machine_of
from engine.simulate import simulate
from engine.systems.capacity import fit

QUICK = {"run.batches": 40, "faults.detect_seconds": 1e-3, "faults.restart_seconds": 2e-3}
MODEL = ("Loss", "AUC", "Accuracy [%]", "Loss (training)", "AUC (training)")
HEAD = f"{'system':8}{'optimizer':17}{'promise':20}{'instants':>9}{'same losses and model':>23}{'batches run again':>19}"


def learned(result: Result) -> tuple[dict[int, float], list[float | None]]:
    """Return what training left: the last loss of each batch, and the scores of the model."""
    return {row["Batch"]: row["Loss"] for row in result.training}, [result.results[name] for name in MODEL]


def instants(quiet: Result, count: int, seed: int) -> np.ndarray:
    """Return instants of a run in s: anywhere, and inside a commit, whose times are shown for a few batches."""
    rng, step = np.random.default_rng(seed), quiet.results["Step time [ms]"] / 1e3
    anywhere = rng.uniform(0, quiet.results["Elapsed [s]"], count - count // 2)
    ends = np.array([row["Elapsed [s]"] for row in quiet.training])
    commits = [row for row in quiet.timeline if row["Task"] == "Commit"] or [{"Batch": 4, "Start [ms]": 0, "End [ms]": step}]
    shown = [commits[i] for i in rng.integers(len(commits), size=count // 2)]
    before = float(ends[min(row["Batch"] for row in commits) - 1])
    inside = [before + rng.uniform(row["Start [ms]"], row["End [ms]"]) / 1e3 for row in shown]
    return np.concatenate([anywhere, inside])


def study(asked: Scenario, count: int, seed: int) -> str:
    """Return one row of the table."""
    quiet = simulate(asked)
    struck = [simulate(with_values(asked, {"faults.power_loss_at_seconds": (at,)})) for at in instants(quiet, count, seed)]
    same = sum(learned(result) == learned(quiet) for result in struck)
    again = np.mean([result.results["Lost batches"] for result in struck])
    ways = machine_of(fit(asked)).log_policy
    promise = "to the bit" if ways.strict else f"MLP <= {ways.mlp_staleness_bound} batches old" if ways.log else "starts again"
    return f"{asked.system:8}{asked.model.optimizer:17}{promise:20}{count:9}{same:23}{again:19.2f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--instants", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(HEAD)
    for system in variant_names("systems"):
        for optimizer in OPTIMIZERS:
            knobs = {"system": system, "model.optimizer": optimizer, **QUICK}
            print(study(with_values(preset(options.preset).scenario, knobs), options.instants, options.seed), flush=True)


if __name__ == "__main__":
    main()
