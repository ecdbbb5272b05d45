"""A sampled run on the page Design: for a model whose full run takes long, each N-th batch is trained.

The visitor picks a time, and N follows from the forecast.
"""

from collections.abc import Callable

import streamlit as st

from engine.core.figures import count, ordinal
from engine.run import forecast
from engine.scenario.scenario import Scenario, with_values
from engine.training.trained_batches import num_trained, sampling_words
from pages.ui.numbers import duration

LONG_SECONDS = 300.0  # a visitor waits for a shorter run; a longer one is a break in the work
TIMES = (60.0, 300.0, 900.0, 3600.0)  # seconds that a visitor may give
TRAIN_EVERY, TRAINING = "run.train_every", "run.training"
Start = Callable[[Scenario], None]


def run_label(scenario: Scenario, seconds: float) -> str:
    """Return the words on the button that starts a full or sampled run of so many seconds."""
    wait = duration(seconds)
    if not scenario.run.training:
        return f"Run every batch, without training: about {wait}"
    if scenario.run.train_every > 1:
        return f"Run a sampled training: each {ordinal(scenario.run.train_every)} batch, about {wait}"
    return f"Run full training: about {wait}"


def loss_words(train_every: int) -> str:
    """Return the batches that a curve of losses shows."""
    return "each batch" if train_every == 1 else f"each {ordinal(train_every)} batch, the only ones trained,"


def subtitle_end(train_every: int) -> str:
    """Return the end of a curve's subtitle: "; each 64th batch trained", or "" if all batches are trained."""
    return f"; {words}" if (words := sampling_words(train_every)) else ""


def draw(scenario: Scenario, start: Start) -> None:
    """Draw the choice of a time and the button of the sampled run that fits into it.

    Nothing is drawn without training, or where all batches are trained within LONG_SECONDS. `start` is called by a button.
    """
    full = with_values(scenario, {TRAIN_EVERY: 1})
    full_seconds = forecast.run_seconds(full)
    if not scenario.run.training:
        return
    if scenario != full:
        st.button(run_label(full, full_seconds), key="run all batches", on_click=start, args=(full,))
    if full_seconds <= LONG_SECONDS:
        return
    offered = [seconds for seconds in TIMES if seconds < full_seconds]
    seconds = st.segmented_control(
        "Or train a sample of the batches within",
        offered,
        default=LONG_SECONDS if LONG_SECONDS in offered else offered[0],
        required=True,
        format_func=duration,
        key="sampled run time",
    )
    affordable = forecast.affordable_run(full, seconds)
    if affordable.train_every is None:
        _draw_untrained(full, seconds, affordable.seconds, start)
        return
    sampled = with_values(full, {TRAIN_EVERY: affordable.train_every})
    if sampled != scenario:
        st.button(run_label(sampled, affordable.seconds), key="run sampled", on_click=start, args=(sampled,))
    trained = count(num_trained(scenario.run.batches, affordable.train_every), "batch", "batches")
    st.caption(
        f"All {count(scenario.run.batches, 'batch', 'batches')} are counted and timed, and faults strike as in the full run. "
        f"Loss and AUC are those of a training on {trained}."
    )


def _draw_untrained(full: Scenario, seconds: float, untrained_seconds: float, start: Start) -> None:
    """Draw that no training fits into `seconds`, and the button of the run without training."""
    untrained = with_values(full, {TRAINING: False})
    st.button(run_label(untrained, untrained_seconds), key="run untrained", on_click=start, args=(untrained,))
    st.caption(
        f"{duration(seconds)} is too short to train even two batches: counting and timing all "
        f"{count(full.run.batches, 'batch', 'batches')} takes about {duration(untrained_seconds)} without any training."
    )
