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
from engine.validation.causes import trials, with_cause
from engine.validation.claims import claims
from engine.validation.validate import ClaimPoint, ClaimVerdict
from pages.answers import later
from pages.ui.numbers import duration
from pages.ui.plain import plain

# Visitors of a cold server share one computation: the second waits for a preset, and finds it done.
TURN = Lock()


def all_of_them() -> tuple[ClaimVerdict, ...]:
    """Return every verdict, preset by preset; draws progress and the time left while some are missing.

    The forecast is corrected by the time that was really taken.
    """
    names = [name for name in preset_names() if claims(name)]
    if _kept.cache_info().currsize == len(names):
        return tuple(verdict for name in names for verdict in _kept(name, version.MODEL))
    work = {name: sum(map(_seconds, runs([name]))) for name in names}
    bar, start, done = st.empty(), monotonic(), 0.0
    found: list[ClaimVerdict] = []
    for number, name in enumerate(names, 1):
        left = (sum(work.values()) - done) * ((monotonic() - start) / done if done else 1.0)
        said = f"{plain(preset(name).title)}: {number} of {len(names)} presets, about {duration(left)} left"
        bar.progress(done / sum(work.values()), said)
        with TURN:
            found += _kept(name, version.MODEL)
        done += work[name]
    bar.empty()
    return tuple(found)


@lru_cache
def _kept(name: str, model: str) -> tuple[ClaimVerdict, ...]:
    return tuple(later.worker_result(validate.validate, (name,)))


def _seconds(point: ClaimPoint) -> float:
    return 0.01 if point.estimated else forecast.seconds(preset(point.preset).scenario)


def runs(names: Sequence[str]) -> list[ClaimPoint]:
    """Return what the claims of some presets need run, each point once."""
    asked = (each for name in names for claim in claims(name) for each in (claim, with_cause(claim), *trials(name, claim)))
    pairs = (pair for claim in asked for pair in validate.points(claim))
    return list(dict.fromkeys(point for pair in pairs for point in pair if point))
