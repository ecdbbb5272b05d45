"""The number of passes that a run makes over its data file, computed in another process."""

from concurrent.futures import Future
from pathlib import Path

import streamlit as st

from engine.errors import EmberpoolError
from engine.insight.fitting.shape import training_samples_of
from engine.scenario.scenario import Scenario
from engine.workload.source import passes_over
from pages.answers import data_file, later
from pages.ui.plain import escape_markdown

MOST_BYTES = 1 << 28  # a larger file takes too long to be read for one sentence


def samples(scenario: Scenario) -> int:
    """Return the training samples of the scenario's file; 0 without a file or until known."""
    future = _samples_future(scenario)
    return future.result() if future and future.done() and not future.exception() else 0


def draw(scenario: Scenario) -> None:
    """Draw the number of passes over the scenario's file, once the number is known."""
    future = _samples_future(scenario)
    if num_samples := samples(scenario):
        st.caption(f"A run is {escape_markdown(passes_over(scenario, num_samples))}.")
    elif future and not future.done():
        later.redraw_after((future,))


def _samples_future(scenario: Scenario) -> Future[int] | None:
    """Return the future of the file's number of samples; None without a small file."""
    try:
        path: Path | None = data_file.path_for(scenario)
    except EmberpoolError:
        return None
    if path is None or path.stat().st_size > MOST_BYTES:
        return None
    return later.answer("samples", training_samples_of, str(path), scenario.data.digest, long=True)
