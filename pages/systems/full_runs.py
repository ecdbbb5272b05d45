"""Full runs of several training systems as sentences and plain tables: what each learned, and what power losses took."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from engine.core.arrays import Row
from engine.core.figures import count, figure, with_error
from engine.results.metrics import ERRORS, error_of
from engine.results.result import Result
from engine.results.samples_seen import HELD_OUT_ERROR, samples_note
from pages.answers.headline import system_title
from pages.systems.comparison import best, titled, values
from pages.ui import palette, tables
from pages.ui.numbers import readable

LOSS, TRAINING_LOSS, AUC, ELAPSED, LOST = "Loss", "Loss (training)", "AUC", "Elapsed [s]", "Lost batches"
AUC_ERROR = ERRORS[AUC]
# Equal scores of every batch's own prediction, and of the held-out samples, mean equal weights all along.
SCORES = (LOSS, AUC, "Accuracy [%]", TRAINING_LOSS, "AUC (training)")
SHOWN = {
    LOSS: "%.6f",
    AUC: "%.6f",
    AUC_ERROR: "%.6f",
    "Accuracy [%]": "%.3f",
    ELAPSED: "%.4g",
    LOST: "%,.0f",
    "Recovery time [s]": "%.4g",
    "Effective training time ratio": "%.4f",
    "MLP staleness [batches]": "%,.0f",
}
CURVES = ["system", "batch", "elapsed", "running", "joules", "loss", "auc", "kind", "what"]
MOST_DRAWN = 20  # a system's losses are drawn as the means of so many stretches
Results = Mapping[str, Result]


def table(results: Results) -> pd.DataFrame:
    """Return one row a finished system: what it learned, what faults took, how it ended; without what none of them has."""
    rows = [
        {"Training system": system}
        | {name: result.results.get(name) for name in SHOWN}
        | {"Outcome": result.outcome, "Known by": palette.known_by(system)}
        for system, result in results.items()
    ]
    return pd.DataFrame(rows).dropna(axis="columns", how="all")


def finding(results: Results) -> str:
    """Return what the finished runs show: how good the models are, and who loses least to faults or is done first."""
    done = {system: result for system, result in results.items() if result.ran}
    if not done:
        return "None of them got to the end"
    lost = values(done, LOST)
    if any(lost.values()):
        least, most = min(lost, key=lost.__getitem__), max(lost, key=lost.__getitem__)
        told = [least, most] if lost[least] < lost[most] else [least]
        taken = ", ".join(f"{system_title(name)} runs {count(lost[name], 'batch', 'batches')} again" for name in told)
        taken += " and so do all others" * (len(told) == 1 < len(lost))
    else:
        taken = f"{titled(best(done, ELAPSED))} first, after {readable(min(values(done, ELAPSED).values()), 's')}"
    return f"{_learned(done)}: {taken}" if values(done, AUC) else f"{len(done)} ran to the end: {taken}"


def _learned(done: Results) -> str:
    reached = values(done, AUC)
    low, high = min(reached, key=reached.__getitem__), max(reached, key=reached.__getitem__)
    least, most = (with_error(reached[name], error_of(AUC, done[name].results)) for name in (low, high))
    if len(reached) == 1:
        return f"{system_title(low)} reaches an AUC of {least}"
    if least != most:
        return f"AUC {least} ({system_title(low)}) to {most} ({system_title(high)})"
    apart = f", {figure(reached[high] - reached[low])} apart at most" if reached[high] > reached[low] else ""
    return f"All {len(reached)} reach an AUC of {most}{apart}"


def about_auc(results: Results) -> str:
    """Return what ± is and from how many samples the models learned, a sentence each kind; "" where no AUC is known."""
    said = dict.fromkeys(filter(None, map(samples_note, results.values())))
    return " ".join([HELD_OUT_ERROR, *said]) if said else ""


def alike(results: Results) -> str:
    """Return which systems train the same to the bit, and by how much the others' loss is off; "" with fewer than two."""
    groups: dict[tuple[float | None, ...], list[str]] = {}
    for system in (losses := values(results, LOSS)):
        groups.setdefault(tuple(results[system].results.get(name) for name in SCORES), []).append(system)
    if len(losses) < 2:
        return ""
    same, *others = sorted(groups.values(), key=len, reverse=True)
    start = f"{titled(same)} train the same to the bit: losses, AUC and accuracy agree in every digit."
    if len(same) == 1:
        start = f"No two of them train the same to the bit; held-out losses are measured against {same[0]}'s."
    off = [f"{titled(group)} {readable(_apart(results[group[0]], results[same[0]]))}" for group in others]
    return f"{start} Loss apart from theirs: {'; '.join(off)}." if off else start


def _apart(one: Result, other: Result) -> float:
    """Return how far two runs' losses are apart, held out or in training, whichever is more."""
    pairs = [(one.results.get(name), other.results.get(name)) for name in (LOSS, TRAINING_LOSS)]
    return max(abs(ours - theirs) for ours, theirs in pairs if ours is not None and theirs is not None)


def curves(runs: Mapping[str, tuple[Sequence[Row], Sequence[Row], tuple[float, float]]]) -> pd.DataFrame:
    """Return rows of CURVES: mean losses, AUCs and faults, told apart by what is empty.

    Of each system are given its training rows, its events and its pace (`tables.pace`).
    """
    frames = [_curve(tables.curve(*rows)).assign(system=system) for system, rows in runs.items() if rows[0]]
    return pd.concat(frames, ignore_index=True)[CURVES] if frames else pd.DataFrame(columns=CURVES)


def _curve(frame: pd.DataFrame) -> pd.DataFrame:
    trained = frame[frame["loss"].notna()]
    stretch = np.arange(len(trained)) * MOST_DRAWN // max(len(trained), MOST_DRAWN)
    ends = {name: (name, "last") for name in ("batch", "elapsed", "running", "joules")}
    means = trained.groupby(stretch).agg(loss=("loss", "mean"), **ends)
    scored = trained[trained["auc"].notna()].drop(columns="loss")
    return pd.concat([part for part in (means, scored, frame[frame["kind"] == "fault"]) if len(part)]).reindex(columns=CURVES)


def lost(results: Results) -> pd.DataFrame:
    """Return batches run again by system: system, amount; empty where power never failed."""
    rows = [(system, float(result.results.get(LOST) or 0.0)) for system, result in results.items() if result.results]
    return pd.DataFrame(rows if any(result.events for result in results.values()) else [], columns=["system", "amount"])
