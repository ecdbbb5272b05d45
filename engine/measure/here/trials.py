"""Trials: a shape's predicted step, its step by peak rates, and its measured step."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from ...core import catalog
from ...core.arithmetic import total
from ...core.figures import count, figure, percent, signed
from ...errors import BadInput
from ...estimates import estimates
from ...hardware.devices.gpu import ACCELERATORS
from ...sweep import links
from ...units import GB, MS
from ...validation import roofline
from ...version import PROGRAM
from ..machine_limits import memory_bytes
from ..part_files import GPU_PART_NAMES, NAME
from .shapes import ALL_HBM, CPU_ONLY, ModelShape, draw_shape, refusal_reason, shape_scenario

NEAR_ERROR = 0.25
OF_TRAINING = ("host", "dram", "host-software", "framework")  # kinds of parts that a step depends on
MOST_DRAWN = 50  # shapes drawn for each requested one; beyond, this machine is too small


@dataclass(frozen=True)
class Trial:
    """One trial: a shape trained as a system.

    shape: the model.
    predicted_seconds: predicted seconds of a step.
    peak_seconds: seconds of a step by operations and bytes over peak rates.
    link: the explorer's link of the scenario.
    measured_seconds: measured seconds of a step, None before the training.
    system: the system's key.
    """

    shape: ModelShape
    predicted_seconds: float
    peak_seconds: float
    link: str
    measured_seconds: float | None = None
    system: str = CPU_ONLY

    @property
    def words(self) -> str:
        """The shape as text; for a system with a GPU, the system's key comes first."""
        return self.shape.words if self.system == CPU_ONLY else f"{self.system}: {self.shape.words}"

    @property
    def error(self) -> float:
        """The predicted step less the measured step, as a share of the measured step."""
        return self.predicted_seconds / self.measured_seconds - 1 if self.measured_seconds else float("nan")


class PredictionSet(NamedTuple):
    """The predictions, which are fixed before any training.

    parts: the digest of the measured parts.
    trials: a trial for each shape and system.
    left_out: the number of shapes that were left out, by reason.
    """

    parts: str
    trials: tuple[Trial, ...]
    left_out: dict[str, int]


def predict_trials(seed: int, count: int, systems: Sequence[str] = (CPU_ONLY,)) -> PredictionSet:
    """Draw shapes by a seed, and predict the step of each shape under each system.

    Raises BadInput where there are no measured parts.
    """
    digest = parts_digest(systems)
    trials: list[Trial] = []
    left_out: dict[str, int] = {}
    for number in range(count * MOST_DRAWN):
        if len(trials) >= count * len(systems):
            break
        for system in systems:
            trial = _predict(draw_shape(seed, number), system)
            if isinstance(trial, Trial):
                trials.append(trial)
            else:
                left_out[trial] = left_out.get(trial, 0) + 1
    return PredictionSet(digest, tuple(trials[: count * len(systems)]), left_out)


def _predict(shape: ModelShape, system: str) -> Trial | str:
    """Return a shape's trial with its prediction, or why the shape is left out.

    Tables lie in the GPU's memory or in the host's.
    """
    memory, memory_name = (
        (float(ACCELERATORS[NAME].memory.value * GB), "GPU memory") if system == ALL_HBM else (memory_bytes(), "memory")
    )
    if reason := refusal_reason(shape, memory, 0.0, memory_name):
        return reason
    step_scenario = shape_scenario(shape, system)
    (result,) = estimates([step_scenario])
    step = result.results["Step time [ms]"] if result.ran else None
    if step is None:
        return "not possible"
    if reason := refusal_reason(shape, memory, step * MS, memory_name):
        return reason
    return Trial(shape, float(step) * MS, roofline.roofline_seconds(step_scenario), links.link(step_scenario), system=system)


def parts_digest(systems: Sequence[str] = (CPU_ONLY,)) -> str:
    """Return the digest of the measured part files that the systems need.

    Raises BadInput where a file is missing.
    """
    parts = [(kind, NAME) for kind in OF_TRAINING]
    gpu = [(kind, GPU_PART_NAMES.get(kind, NAME)) for kind in ("copy-path", "framework", "gpu")] if systems != (CPU_ONLY,) else []
    absent_parts = [part for part in (*parts, *gpu) if part[1] not in catalog.part_names_of(part[0])]
    if absent_parts:
        kind, name = absent_parts[0]
        gpu_option = " --gpu 0" if absent_parts[0] in gpu else ""
        raise BadInput(
            f"There is no {kind} called {name}; run `{PROGRAM} measure --out DIR{gpu_option}` first, then add --parts-dir DIR."
        )
    folder = catalog.own_folder().path or Path()
    file_contents = b"".join((folder / kind / f"{name}.toml").read_bytes() for kind, name in (*sorted(parts), *gpu))
    return blake2b(file_contents, digest_size=8).hexdigest()


def train_trials(
    prediction_set: PredictionSet, seed: int, step_seconds: Callable[..., float], device: str = ""
) -> Iterator[Trial]:
    """Train the predicted trials in order; yield each with its measured step.

    device: the GPU for systems that have one.
    """
    for number, trial in enumerate(prediction_set.trials):
        system_and_device = (trial.system, device) if device else ()
        yield replace(trial, measured_seconds=step_seconds(trial.shape, seed + number, *system_and_device))


class TrialScore(NamedTuple):
    """The score of predictions: their errors against measured steps.

    median: median error, as a share.
    near_share: share of trials with an error of at most NEAR.
    rank: rank correlation of predicted and measured steps.
    peak_error: median error of the steps by peak rates.
    """

    median: float
    near_share: float
    rank: float
    peak_error: float


def score(trials: Sequence[Trial]) -> TrialScore | None:
    """Return the score of the trials that were trained; None for fewer than two."""
    trained_trials = [trial for trial in trials if trial.measured_seconds]
    if len(trained_trials) < 2:
        return None
    measured_seconds, predicted_seconds, peak_seconds = (
        np.array([getattr(trial, name) for trial in trained_trials], dtype=np.float64)
        for name in ("measured_seconds", "predicted_seconds", "peak_seconds")
    )
    errors = np.abs(predicted_seconds / measured_seconds - 1)
    rank = float(spearmanr(predicted_seconds, measured_seconds).statistic)
    return TrialScore(
        float(np.median(errors)),
        float((errors <= NEAR_ERROR).mean()),
        rank,
        float(np.median(np.abs(peak_seconds / measured_seconds - 1))),
    )


def table(trials: Sequence[Trial]) -> str:
    """Return a text line for each trial: predicted, measured, error, by peak rates, shape."""
    head = f"{'predicted [ms]':>15}{'measured [ms]':>15}{'error [%]':>11}{'at peak [ms]':>15}  model\n"
    return head + "".join(
        f"{figure(trial.predicted_seconds / MS):>15}{figure(trial.measured_seconds / MS) if trial.measured_seconds else '-':>15}"
        f"{signed(100 * trial.error) if trial.measured_seconds else '-':>11}{figure(trial.peak_seconds / MS):>15}"
        f"  {trial.words}\n"
        for trial in trials
    )


def sentence(prediction_set: PredictionSet, trials: Sequence[Trial]) -> str:
    """Return the score as a sentence, with the number of shapes that were left out."""
    left_out_reasons = ", ".join(f"{count} for {reason}" for reason, count in prediction_set.left_out.items())
    left_out_note = (
        f" {count(total(prediction_set.left_out.values()), 'drawn model was', 'drawn models were')} left out: {left_out_reasons}."
        if left_out_reasons
        else ""
    )
    trial_score = score(trials)
    if trial_score is None:
        return f"Too few models were trained for a score.{left_out_note}"
    return (
        f"For {count(len(trials), 'model')}, the predicted step differs by {percent(trial_score.median)} in the median; "
        f"{percent(trial_score.near_share)} of the models are predicted within {percent(NEAR_ERROR)}, with a rank correlation of "
        f"{figure(trial_score.rank)}. Operations and bytes over peak rates alone differ by "
        f"{percent(trial_score.peak_error)}.{left_out_note}"
    )


def trials_content(prediction_set: PredictionSet, trials: Sequence[Trial], seed: int, machine: str) -> dict[str, Any]:
    """Return the trials as one JSON-ready object; all times are seconds of a step."""
    trial_score = score(trials)
    return {
        "machine": machine,
        "date": date.today().isoformat(),
        "parts": prediction_set.parts,
        "seed": seed,
        "left_out": prediction_set.left_out,
        "rows": [
            {
                "shape": trial.shape._asdict(),
                "system": trial.system,
                "predicted": trial.predicted_seconds,
                "measured": trial.measured_seconds,
                "error_percent": 100 * trial.error if trial.measured_seconds else None,
                "by_peaks": trial.peak_seconds,
                "link": trial.link,
            }
            for trial in trials
        ],
        "median_percent": 100 * trial_score.median if trial_score else None,
        "within_25_percent": 100 * trial_score.near_share if trial_score else None,
        "rank": trial_score.rank if trial_score else None,
        "by_peaks_percent": 100 * trial_score.peak_error if trial_score else None,
    }
