"""The verdicts on all claims, computed one run at a time and kept as long as the process and the model version live."""

from collections.abc import Sequence
from threading import Lock
from time import monotonic

import streamlit as st

from engine import version
from engine.core.figures import duration
from engine.run import forecast
from engine.scenario.presets import preset, preset_names
from engine.validation import validate
from engine.validation.causes import trials, with_cause
from engine.validation.claims import claims
from engine.validation.validate import ClaimPoint, ClaimVerdict
from pages.answers import later
from pages.ui.plain import plain

# Visitors of a cold server share one computation: the second waits for a preset, and finds it done.
TURN = Lock()
_KNOWN: dict[tuple[str, str], tuple[ClaimVerdict, ...]] = {}  # by preset and model version


def are_known() -> bool:
    """Whether every verdict of this model version has been computed in this process."""
    return all((name, version.MODEL) in _KNOWN for name in _claiming())


def known() -> tuple[ClaimVerdict, ...]:
    """Return every verdict, preset by preset; all must be known."""
    return tuple(verdict for name in _claiming() for verdict in _KNOWN[name, version.MODEL])


def compute() -> None:
    """Compute the missing verdicts; draws progress, and the time left once one preset's time is known."""
    names = _claiming()
    work = _work(names)
    bar, start, done = st.empty(), monotonic(), 0.0
    for number, name in enumerate(names, 1):
        left = f", about {duration((sum(work.values()) - done) * (monotonic() - start) / done)} left" if done else ""
        bar.progress(done / sum(work.values()), f"{plain(preset(name).title)}: {number} of {len(names)} presets{left}")
        with TURN:
            if (name, version.MODEL) not in _KNOWN:
                _KNOWN[name, version.MODEL] = tuple(later.worker_result(validate.validate, (name,)))
        done += work[name]
    bar.empty()


def forget() -> None:
    """Forget all verdicts."""
    _KNOWN.clear()


def _claiming() -> list[str]:
    return [name for name in preset_names() if claims(name)]


def _work(names: Sequence[str]) -> dict[str, float]:
    """Return the seconds that each preset is likely to take, points of a preset before it left out."""
    seen: set[ClaimPoint] = set()
    found = {}
    for name in names:
        fresh = set(runs([name])) - seen
        seen |= fresh
        found[name] = sum(map(_seconds, fresh)) + forecast.ESTIMATE_SECONDS
    return found


def _seconds(point: ClaimPoint) -> float:
    batches = 0 if point.estimated else preset(point.preset).scenario.run.batches
    return forecast.POINT_SECONDS + batches * forecast.BATCH_SECONDS


def runs(names: Sequence[str]) -> list[ClaimPoint]:
    """Return what the claims of some presets need run, each point once."""
    asked = (each for name in names for claim in claims(name) for each in (claim, with_cause(claim), *trials(name, claim)))
    pairs = (pair for claim in asked for pair in validate.points(claim))
    return list(dict.fromkeys(point for pair in pairs for point in pair if point))
