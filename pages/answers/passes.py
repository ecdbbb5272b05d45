"""How many passes over its data file a run makes, found beside the page."""

from concurrent.futures import Future
from pathlib import Path

import streamlit as st

from engine.errors import EmberpoolError
from engine.insight.fitting.shape import training_samples_of
from engine.scenario.scenario import Scenario
from engine.workload.source import passes_over
from pages.answers import data_file, later
from pages.ui.plain import plain

MOST_BYTES = 1 << 28  # a larger file takes too long to be read for one sentence


def samples(scenario: Scenario) -> int:
    """Return the training samples of the scenario's file; 0 without one, and until they are known."""
    future = _asked(scenario)
    return future.result() if future and future.done() and not future.exception() else 0


def draw(scenario: Scenario) -> None:
    """Draw how many passes over its file a run of the scenario makes, as soon as that is known."""
    future = _asked(scenario)
    if known := samples(scenario):
        st.caption(f"A run is {plain(passes_over(scenario, known))}.")
    elif future and not future.done():
        later.redraw_after((future,))


def _asked(scenario: Scenario) -> Future[int] | None:
    """Ask how many samples the scenario's file has; None where there is no file, or it is large."""
    try:
        path: Path | None = data_file.path_for(scenario)
    except EmberpoolError:
        return None
    if path is None or path.stat().st_size > MOST_BYTES:
        return None
    return later.answer("samples", training_samples_of, str(path), scenario.data.digest, long=True)
