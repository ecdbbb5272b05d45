"""The verdicts on all claims, computed one preset at a time and kept as long as the process and the model version live."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from threading import Lock
from time import monotonic

import streamlit as st

from engine import effort, validate, version
from engine.presets import preset, preset_names
from engine.published import claims
from engine.validate import Verdict
from pages.parts.numbers import duration
from pages.parts.plain import plain

# Visitors of a cold server share one computation: the second waits, and finds the runs done.
TURN = Lock()


def presets() -> tuple[str, ...]:
    """Return the presets that make claims, those last that also claim something about others."""
    found = [name for name in preset_names() if claims(name)]
    return tuple(sorted(found, key=lambda name: max(len(claim.presets) for claim in claims(name))))


def all_of_them() -> tuple[Verdict, ...]:
    """Return every verdict, ordered by preset; draws progress and the time left while some are missing."""
    names = presets()
    for name in _shown(names) if _kept.cache_info().currsize < len(names) else ():
        _kept(name, version.MODEL)
    return tuple(verdict for name in sorted(names) for verdict in _kept(name, version.MODEL))


@lru_cache
def _kept(name: str, model: str) -> tuple[Verdict, ...]:
    with TURN:
        return validate.validate([name])


def _shown(names: Sequence[str]) -> Iterator[str]:
    """Yield names with a bar of how far we are; the forecast is corrected by the time that was really taken."""
    work = [_forecast(name) for name in names]
    bar, start = st.empty(), monotonic()
    for index, name in enumerate(names):
        done = sum(work[:index])
        left = sum(work[index:]) * ((monotonic() - start) / done if done else 1.0)
        text = f"Running {plain(preset(name).title)}: preset {index + 1} of {len(names)}, about {duration(left)} left"
        bar.progress(done / sum(work), text)
        yield name
    bar.empty()


def _forecast(name: str) -> float:
    """Return the seconds of the preset's own runs; those of other presets were done before."""
    systems = {system for claim in claims(name) for system in (claim.system, claim.baseline) if system}
    return effort.seconds(preset(name).scenario) * len(systems)
