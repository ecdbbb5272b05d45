"""Full runs of several systems as sentences and tables: training, and losses by power failures."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from engine.core.arrays import Row
from engine.core.figures import count, figure, with_error
from engine.results.metrics import ERRORS, error_of
from engine.results.result import Result
from engine.results.samples_seen import HELD_OUT_ERROR, samples_note
from pages.answers.headline import system_title
from pages.systems.comparison import join_titles, lowest_systems, values
from pages.ui import palette, tables
from pages.ui.numbers import result_text

LOSS, TRAINING_LOSS, AUC, ELAPSED, LOST_BATCHES = "Loss", "Loss (training)", "AUC", "Elapsed [s]", "Lost batches"
AUC_ERROR = ERRORS[AUC]
# Equal scores of every batch's own prediction, and of the held-out samples, mean equal weights all along.
SCORES = (LOSS, AUC, "Accuracy [%]", TRAINING_LOSS, "AUC (training)")
RUN_RESULTS = {
    LOSS: "%.6f",
    AUC: "%.6f",
    AUC_ERROR: "%.6f",
    "Accuracy [%]": "%.3f",
    ELAPSED: "%.4g",
    LOST_BATCHES: "%,.0f",
    "Recovery time [s]": "%.4g",
    "Effective training time ratio": "%.4f",
    "MLP staleness [batches]": "%,.0f",
}
CURVES = ["system", "batch", "elapsed", "running", "joules", "part", "loss", "auc", "kind", "what"]
MOST_DRAWN = 20  # number of means by which a system's losses are drawn
Results = Mapping[str, Result]


def table(results: Results) -> pd.DataFrame:
    """Return a row for each finished system: training, faults and outcome.

    Empty columns are left out.
    """
    rows = [
        {"Training system": system}
        | {name: result.results.get(name) for name in RUN_RESULTS}
        | {"Outcome": result.outcome, "Known by": palette.known_by(system)}
        for system, result in results.items()
    ]
    return pd.DataFrame(rows).dropna(axis="columns", how="all")


def finding(results: Results) -> str:
    """Return a sentence on the quality of the trained models, and on the system that loses least.

    Without faults the sentence names the system that finishes first.
    """
    finished_results = {system: result for system, result in results.items() if result.ran}
    if not finished_results:
        return "No system finished its run"
    lost_batches = values(finished_results, LOST_BATCHES)
    if any(lost_batches.values()):
        least_system, most_system = (
            min(lost_batches, key=lost_batches.__getitem__),
            max(lost_batches, key=lost_batches.__getitem__),
        )
        named_systems = [least_system, most_system] if lost_batches[least_system] < lost_batches[most_system] else [least_system]
        outcome_text = ", ".join(
            f"{system_title(name)} runs {count(lost_batches[name], 'batch', 'batches')} again" for name in named_systems
        )
        outcome_text += " and so do all others" * (len(named_systems) == 1 < len(lost_batches))
    else:
        seconds = min(values(finished_results, ELAPSED).values())
        first_systems = lowest_systems(finished_results, ELAPSED)
        verb = "finish" if len(first_systems) > 1 else "finishes"
        outcome_text = f"{join_titles(first_systems)} {verb} first, after {result_text(seconds, 's')}"
    return (
        f"{_auc_sentence(finished_results)}: {outcome_text}"
        if values(finished_results, AUC)
        else f"{count(len(finished_results), 'system')} finished: {outcome_text}"
    )


def _auc_sentence(finished_results: Results) -> str:
    reached = values(finished_results, AUC)
    low, high = min(reached, key=reached.__getitem__), max(reached, key=reached.__getitem__)
    lowest_auc, highest_auc = (with_error(reached[name], error_of(AUC, finished_results[name].results)) for name in (low, high))
    if len(reached) == 1:
        return f"{system_title(low)} reaches an AUC of {lowest_auc}"
    if lowest_auc != highest_auc:
        return f"AUC {lowest_auc} ({system_title(low)}) to {highest_auc} ({system_title(high)})"
    spread_text = f", {figure(reached[high] - reached[low])} apart at most" if reached[high] > reached[low] else ""
    return f"All {count(len(reached), 'system')} reach an AUC of {highest_auc}{spread_text}"


def auc_notes(results: Results) -> str:
    """Return a note on the meaning of ± and on the number of training samples; "" without AUC."""
    samples_notes = dict.fromkeys(filter(None, map(samples_note, results.values())))
    return " ".join([HELD_OUT_ERROR, *samples_notes]) if samples_notes else ""


def equal_training_sentence(results: Results) -> str:
    """Return a sentence on the systems with bit-identical training, and the others' losses.

    "" with fewer than two systems.
    """
    groups: dict[tuple[float | None, ...], list[str]] = {}
    for system in (losses := values(results, LOSS)):
        groups.setdefault(tuple(results[system].results.get(name) for name in SCORES), []).append(system)
    if len(losses) < 2:
        return ""
    equal_group, *other_groups = sorted(groups.values(), key=len, reverse=True)
    start = f"{join_titles(equal_group)} train equally bit for bit: losses, AUC and accuracy agree in every digit."
    if len(equal_group) == 1:
        start = f"No two systems train equally bit for bit; losses are compared with those of {equal_group[0]}."
    loss_differences = [
        f"{join_titles(group)} {result_text(_loss_distance(results[group[0]], results[equal_group[0]]))}"
        for group in other_groups
    ]
    return f"{start} Differences of the loss: {'; '.join(loss_differences)}." if loss_differences else start


def _loss_distance(first_run: Result, second_run: Result) -> float:
    """Return the larger of two runs' differences in held-out and in training loss."""
    pairs = [(first_run.results.get(name), second_run.results.get(name)) for name in (LOSS, TRAINING_LOSS)]
    return max(
        abs(first_loss - second_loss) for first_loss, second_loss in pairs if first_loss is not None and second_loss is not None
    )


def curves(runs: Mapping[str, tuple[Sequence[Row], Sequence[Row], tuple[float, float]]]) -> pd.DataFrame:
    """Return rows of CURVES: mean losses, AUCs and faults, each with its own columns filled.

    `runs` has each system's training rows, its events and its pace (`tables.power_pace`).
    """
    frames = [_curve_rows(tables.curve(*rows)).assign(system=system) for system, rows in runs.items() if rows[0]]
    return pd.concat(frames, ignore_index=True)[CURVES] if frames else pd.DataFrame(columns=CURVES)


def _curve_rows(frame: pd.DataFrame) -> pd.DataFrame:
    trained = frame[frame["loss"].notna()]
    stretch = np.arange(len(trained)) * MOST_DRAWN // max(len(trained), MOST_DRAWN)
    ends = {name: (name, "last") for name in ("batch", "elapsed", "running", "joules", "part")}
    means = trained.groupby(stretch).agg(loss=("loss", "mean"), **ends)
    scored = trained[trained["auc"].notna()].drop(columns="loss")
    return pd.concat([part for part in (means, scored, frame[frame["kind"] == "fault"]) if len(part)]).reindex(columns=CURVES)


def most_lost(lost_frame: pd.DataFrame) -> str:
    """Return the sentence on the system that loses most batches.

    `lost_frame` has the rows of `lost_batches_frame`.
    """
    top = lost_frame.loc[lost_frame["amount"].idxmax()]
    return f"{system_title(top['system'])} trains most batches again: {count(top['amount'])}"


def lost_batches_frame(results: Results) -> pd.DataFrame:
    """Return repeated batches by system: system, amount; empty where power never failed."""
    rows = [(system, float(result.results.get(LOST_BATCHES) or 0.0)) for system, result in results.items() if result.results]
    return pd.DataFrame(rows if any(result.events for result in results.values()) else [], columns=["system", "amount"])
