"""The verdicts on all claims, computed one run after another, and kept for later processes.

Each process caches them by model version.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import streamlit as st

from engine import version
from engine.core.arithmetic import total
from engine.core.figures import count, duration
from engine.run import forecast
from engine.scenario.presets import preset, preset_names
from engine.validation import kept_numbers, validate
from engine.validation.causes import sibling_trials, with_cause
from engine.validation.claims import claims
from engine.validation.validate import ClaimPoint, ClaimVerdict
from pages.answers import later, runs
from pages.ui.plain import escape_markdown

_VERDICTS: dict[tuple[str, str], tuple[ClaimVerdict, ...]] = {}  # by preset and model version
_DIGESTS: dict[str, str] = {}  # by preset, of the content from which its verdicts were computed


def are_known() -> bool:
    """Return whether this process has every verdict of this model version, computed or kept by an earlier process."""
    names = _claiming_presets()
    if any((name, version.MODEL) not in _VERDICTS for name in names):
        kept = kept_numbers.read_numbers(_kept_file()) or {}
        _VERDICTS.update({(name, version.MODEL): kept_numbers.verdicts_of(name, kept[name]) for name in names if name in kept})
    return all((name, version.MODEL) in _VERDICTS for name in names)


def _kept_file() -> Path:
    return runs.STORE.with_name("verdicts.txt")


def all_verdicts() -> tuple[ClaimVerdict, ...]:
    """Return every verdict, preset by preset; all must be known."""
    return tuple(verdict for name in _claiming_presets() for verdict in _VERDICTS[name, version.MODEL])


def compute() -> bool:
    """Take the verdicts that worker processes have computed; return whether all are known.

    If some are missing, draw a progress bar with the remaining time; the page is drawn again when the next preset's are known.
    """
    names = _claiming_presets()
    work = _preset_seconds(names)
    bar, done_seconds = st.empty(), 0.0
    for number, name in enumerate(names, 1):
        time_left = f", about {duration(total(work.values()) - done_seconds)} left" if done_seconds else ""
        bar.progress(
            done_seconds / total(work.values()),
            f"{escape_markdown(preset(name).title)}: {number} of {count(len(names), 'preset')}{time_left}",
        )
        is_known = (name, version.MODEL) in _VERDICTS
        keep = partial(_keep, name)
        if not (is_known or later.draw_when_known("", keep, kept_numbers.dated_verdicts, name, quick_seconds=0.0)):
            return False
        done_seconds += work[name]
    if {_DIGESTS.get(name) for name in names} == {kept_numbers.content_digest()}:
        fields = {name: kept_numbers.computed_fields(_VERDICTS[name, version.MODEL]) for name in names}
        kept_numbers.write_numbers(_kept_file(), fields)
    bar.empty()
    return True


def _keep(name: str, dated_verdicts: tuple[str, tuple[ClaimVerdict, ...]]) -> None:
    _DIGESTS[name], _VERDICTS[name, version.MODEL] = dated_verdicts


def forget() -> None:
    """Forget all verdicts of this process."""
    _VERDICTS.clear()
    _DIGESTS.clear()


def _claiming_presets() -> list[str]:
    return [name for name in preset_names() if claims(name)]


def _preset_seconds(names: Sequence[str]) -> dict[str, float]:
    """Return each preset's likely seconds, points of earlier presets left out."""
    counted_points: set[ClaimPoint] = set()
    work_seconds = {}
    for name in names:
        new_points = set(claim_points([name])) - counted_points
        counted_points |= new_points
        work_seconds[name] = total(map(_point_seconds, new_points)) + forecast.ESTIMATE_SECONDS
    return work_seconds


def _point_seconds(point: ClaimPoint) -> float:
    batches = 0 if point.estimated else preset(point.preset).scenario.run.batches
    return forecast.POINT_SECONDS + batches * forecast.BATCH_SECONDS


def claim_points(names: Sequence[str]) -> list[ClaimPoint]:
    """Return the points that presets' claims need, each once."""
    all_claims = (
        variant
        for name in names
        for claim in claims(name)
        for variant in (claim, with_cause(claim), *sibling_trials(name, claim))
    )
    pairs = (pair for claim in all_claims for pair in validate.claim_points(claim))
    return list(dict.fromkeys(point for pair in pairs for point in pair if point))
