"""The questions that people come with: each leads to the place that answers it."""

import streamlit as st

from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from pages.own_data import leading
from pages.own_data.leading import Question

CHOSEN = "question"
PAPERS = Question("Show me a paper's result", "evidence")
QUESTIONS = (
    Question("What should I build?", "decide"),
    Question("Is CXL enough for my model?", "design", "cxl"),
    leading.FAILURES,
    PAPERS,
)


def chosen() -> Question:
    """Draw the questions and return the one that is asked."""
    place = st.radio(
        "What do you want to know?",
        range(len(QUESTIONS)),
        format_func=lambda number: QUESTIONS[number].words,
        horizontal=True,
        key=CHOSEN,
    )
    return QUESTIONS[place]


def ask(asked: Question, base: str, changes: dict[str, object] | None = None) -> None:
    """Put the model of a preset, with changes, and the question into the session; only in a callback. BadKnob if refused."""
    leading.put(asked, base, with_values(preset(base).scenario, changes or {}))
