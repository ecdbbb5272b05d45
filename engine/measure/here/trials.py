"""Trials: a shape's predicted step, what operations and bytes alone would predict, and the step that was measured."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from ...core import catalog
from ...core.figures import figure, percent, signed
from ...errors import BadInput
from ...estimates import estimates
from ...hardware.devices.gpu import ACCELERATORS
from ...sweep import links
from ...units import GB, MS
from ...validation import roofline
from ...version import PROGRAM
from ..machine_limits import memory_bytes
from ..part_files import NAME, OF_GPU
from .shapes import ALL_HBM, CPU_ONLY, ModelShape, drawn, refused, scenario

NEAR = 0.25
OF_TRAINING = ("host", "dram", "host-software", "framework")  # kinds of parts that a step depends on
MOST_DRAWN = 50  # times as many as are asked for: beyond, this machine is too small for them


@dataclass(frozen=True)
class Trial:
    """One shape and system: seconds of a step as predicted, by operations and bytes alone, and as measured, None before."""

    shape: ModelShape
    predicted: float
    by_peaks: float
    link: str
    measured: float | None = None
    system: str = CPU_ONLY

    @property
    def words(self) -> str:
        """The model in words, after its system where that has a GPU."""
        return self.shape.words if self.system == CPU_ONLY else f"{self.system}: {self.shape.words}"

    @property
    def error(self) -> float:
        """How far the prediction is off, relative to what was measured."""
        return self.predicted / self.measured - 1 if self.measured else float("nan")


class Predictions(NamedTuple):
    """What is fixed before anything is trained: the digest of the measured parts, the trials, how many were left out and why."""

    parts: str
    trials: tuple[Trial, ...]
    left_out: dict[str, int]


def predictions(seed: int, count: int, systems: Sequence[str] = (CPU_ONLY,)) -> Predictions:
    """Draw shapes by a seed and predict each by systems from the measured parts; raises BadInput where there are none."""
    digest = parts_digest(systems)
    trials: list[Trial] = []
    left_out: dict[str, int] = {}
    for number in range(count * MOST_DRAWN):
        if len(trials) >= count * len(systems):
            break
        for system in systems:
            trial = _predicted(drawn(seed, number), system)
            if isinstance(trial, Trial):
                trials.append(trial)
            else:
                left_out[trial] = left_out.get(trial, 0) + 1
    return Predictions(digest, tuple(trials[: count * len(systems)]), left_out)


def _predicted(shape: ModelShape, system: str) -> Trial | str:
    """Return the prediction for a shape, or why it is left out: the tables' memory is the GPU's or the host's."""
    memory, of = (float(ACCELERATORS[NAME].memory.value * GB), "GPU memory") if system == ALL_HBM else (memory_bytes(), "memory")
    if why := refused(shape, memory, 0.0, of):
        return why
    asked = scenario(shape, system)
    (result,) = estimates([asked])
    step = result.results["Step time [ms]"] if result.ran else None
    if step is None:
        return "not possible"
    if why := refused(shape, memory, step * MS, of):
        return why
    return Trial(shape, float(step) * MS, roofline.seconds(asked), links.link(asked), system=system)


def parts_digest(systems: Sequence[str] = (CPU_ONLY,)) -> str:
    """Return the digest of the measured parts' files that systems need; raises BadInput where one is missing."""
    parts = [(kind, NAME) for kind in OF_TRAINING]
    gpu = [(kind, OF_GPU.get(kind, NAME)) for kind in ("copy-path", "framework", "gpu")] if systems != (CPU_ONLY,) else []
    missing = [part for part in (*parts, *gpu) if part[1] not in catalog.names(part[0])]
    if missing:
        kind, name = missing[0]
        more = " --gpu 0" if missing[0] in gpu else ""
        raise BadInput(
            f"There is no {kind} called {name}; run `{PROGRAM} measure --out DIR{more}` first, then add --parts-dir DIR."
        )
    folder = catalog.own_folder().path or Path()
    found = b"".join((folder / kind / f"{name}.toml").read_bytes() for kind, name in (*sorted(parts), *gpu))
    return blake2b(found, digest_size=8).hexdigest()


def trained(found: Predictions, seed: int, step_seconds: Callable[..., float], device: str = "") -> Iterator[Trial]:
    """Yield each trial with its measured step, trained one after the other; those of a GPU on a device."""
    for number, trial in enumerate(found.trials):
        on = (trial.system, device) if device else ()
        yield replace(trial, measured=step_seconds(trial.shape, seed + number, *on))


class TrialScore(NamedTuple):
    """How good predictions are: median error, share within NEAR, rank correlation; and the median error by peaks alone."""

    median: float
    near: float
    rank: float
    by_peaks: float


def score(trials: Sequence[Trial]) -> TrialScore | None:
    """Return the score of the trials that were trained; None for fewer than two."""
    done = [one for one in trials if one.measured]
    if len(done) < 2:
        return None
    measured, predicted, peaks = (
        np.array([getattr(one, name) for one in done], dtype=np.float64) for name in ("measured", "predicted", "by_peaks")
    )
    errors = np.abs(predicted / measured - 1)
    rank = float(spearmanr(predicted, measured).statistic)
    return TrialScore(
        float(np.median(errors)), float((errors <= NEAR).mean()), rank, float(np.median(np.abs(peaks / measured - 1)))
    )


def table(trials: Sequence[Trial]) -> str:
    """Write a line a trial: predicted, measured, how far off, by peaks alone, and the shape."""
    head = f"{'predicted [ms]':>15}{'measured [ms]':>15}{'error [%]':>11}{'at peak [ms]':>15}  model\n"
    return head + "".join(
        f"{figure(one.predicted / MS):>15}{figure(one.measured / MS) if one.measured else '-':>15}"
        f"{signed(100 * one.error) if one.measured else '-':>11}{figure(one.by_peaks / MS):>15}  {one.words}\n"
        for one in trials
    )


def sentence(found: Predictions, trials: Sequence[Trial]) -> str:
    """Return the score in a sentence, with what was left out."""
    whys = ", ".join(f"{count} for {why}" for why, count in found.left_out.items())
    beside = f" {sum(found.left_out.values())} drawn models were left out: {whys}." if whys else ""
    scored = score(trials)
    if scored is None:
        return f"Too few models were trained for a score.{beside}"
    return (
        f"Of {len(trials)} models the step is predicted within {percent(scored.median)} in the median, "
        f"{percent(scored.near)} of them within {percent(NEAR)}, rank correlation {figure(scored.rank)}; "
        f"operations and bytes over peak rates alone are off by {percent(scored.by_peaks)}.{beside}"
    )


def content(found: Predictions, trials: Sequence[Trial], seed: int, about: str) -> dict[str, Any]:
    """Return all for programs and for the page; predicted and measured are seconds of a step."""
    scored = score(trials)
    return {
        "machine": about,
        "date": date.today().isoformat(),
        "parts": found.parts,
        "seed": seed,
        "left_out": found.left_out,
        "rows": [
            {
                "shape": one.shape._asdict(),
                "system": one.system,
                "predicted": one.predicted,
                "measured": one.measured,
                "error_percent": 100 * one.error if one.measured else None,
                "by_peaks": one.by_peaks,
                "link": one.link,
            }
            for one in trials
        ],
        "median_percent": 100 * scored.median if scored else None,
        "within_25_percent": 100 * scored.near if scored else None,
        "rank": scored.rank if scored else None,
        "by_peaks_percent": 100 * scored.by_peaks if scored else None,
    }
