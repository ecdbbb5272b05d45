"""The verdicts on all claims, computed one run at a time and kept as long as the process and the model version live."""

from collections.abc import Sequence
from functools import lru_cache
from threading import Lock
from time import monotonic

import streamlit as st

from engine import version
from engine.run import forecast
from engine.scenario.presets import preset, preset_names
from engine.validation import validate
from engine.validation.claims import claims
from engine.validation.validate import ClaimPoint, ClaimVerdict
from pages.common.numbers import duration
from pages.common.plain import plain

# Visitors of a cold server share one computation: the second waits for a run, and finds it done.
TURN = Lock()


def all_of_them() -> tuple[ClaimVerdict, ...]:
    """Return every verdict, preset by preset; draws progress and the time left while runs are missing."""
    names = [name for name in preset_names() if claims(name)]
    if _kept.cache_info().currsize < len(names):
        _run(runs(names))
    return tuple(verdict for name in names for verdict in _kept(name, version.MODEL))


@lru_cache
def _kept(name: str, model: str) -> tuple[ClaimVerdict, ...]:
    return validate.validate([name])


def runs(names: Sequence[str]) -> list[ClaimPoint]:
    """Return what the claims of some presets need run, each point once."""
    asked = (one for name in names for claim in claims(name) for one in (claim, validate.with_cause(claim)))
    pairs = (pair for claim in asked for pair in validate.points(claim))
    return list(dict.fromkeys(point for pair in pairs for point in pair if point))


def _run(points: Sequence[ClaimPoint]) -> None:
    """Run them under a bar; the forecast is corrected by the time that was really taken.

    Each look at the bar is where Streamlit may stop this script, so that a visitor can leave within one run.
    """
    work = [0.01 if point.estimated else forecast.seconds(preset(point.preset).scenario) for point in points]
    bar, start = st.empty(), monotonic()
    for index, point in enumerate(points):
        done = sum(work[:index])
        left = (sum(work) - done) * ((monotonic() - start) / done if done else 1.0)
        title = f"{plain(preset(point.preset).title)}, system {point.system}"
        bar.progress(done / sum(work), f"{title}: run {index + 1} of {len(points)}, about {duration(left)} left")
        with TURN:
            validate.run(point)
    bar.empty()
