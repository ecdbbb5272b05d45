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
from ...sweep import links
from ...units import MS
from ...validation import roofline
from ...version import PROGRAM
from ..machine_limits import memory_bytes
from ..part_files import NAME
from .shapes import ModelShape, drawn, refused, scenario

NEAR = 0.25
OF_TRAINING = ("host", "dram", "host-software", "framework")  # kinds of parts that a step depends on
MOST_DRAWN = 50  # times as many as are asked for: beyond, this machine is too small for them


@dataclass(frozen=True)
class Trial:
    """One shape: seconds of a step as predicted, by operations and bytes alone, and as measured, None before it is trained."""

    shape: ModelShape
    predicted: float
    by_peaks: float
    link: str
    measured: float | None = None

    @property
    def error(self) -> float:
        """How far the prediction is off, relative to what was measured."""
        return self.predicted / self.measured - 1 if self.measured else float("nan")


class Predictions(NamedTuple):
    """What is fixed before anything is trained: the digest of the measured parts, the trials, how many were left out and why."""

    parts: str
    trials: tuple[Trial, ...]
    left_out: dict[str, int]


def predictions(seed: int, count: int) -> Predictions:
    """Draw shapes by a seed and predict each from the measured parts; raises BadInput where there are none."""
    digest = parts_digest()
    trials: list[Trial] = []
    left_out: dict[str, int] = {}
    memory = memory_bytes()
    for number in range(count * MOST_DRAWN):
        if len(trials) == count:
            break
        shape = drawn(seed, number)
        why = refused(shape, memory, 0.0)
        if not why:
            asked = scenario(shape)
            (result,) = estimates([asked])
            step = result.results["Step time [ms]"] if result.ran else None
            why = "not possible" if step is None else refused(shape, memory, step * MS)
        if why:
            left_out[why] = left_out.get(why, 0) + 1
        else:
            trials.append(Trial(shape, float(step or 0.0) * MS, roofline.seconds(asked), links.link(asked)))
    return Predictions(digest, tuple(trials), left_out)


def parts_digest() -> str:
    """Return the digest of the measured parts' files; raises BadInput where one is missing."""
    missing = [kind for kind in OF_TRAINING if NAME not in catalog.names(kind)]
    if missing:
        raise BadInput(
            f"There is no {missing[0]} called {NAME}; run `{PROGRAM} measure --out DIR` first, then add --parts-dir DIR."
        )
    folder = catalog.own_folder().path or Path()
    found = b"".join((folder / kind / f"{NAME}.toml").read_bytes() for kind in sorted(OF_TRAINING))
    return blake2b(found, digest_size=8).hexdigest()


def trained(found: Predictions, seed: int, step_seconds: Callable[[ModelShape, int], float]) -> Iterator[Trial]:
    """Yield each trial with its measured step, trained one after the other."""
    for number, trial in enumerate(found.trials):
        yield replace(trial, measured=step_seconds(trial.shape, seed + number))


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
        f"{signed(100 * one.error) if one.measured else '-':>11}{figure(one.by_peaks / MS):>15}  {one.shape.words}\n"
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
                "system": "cpu-only",
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
