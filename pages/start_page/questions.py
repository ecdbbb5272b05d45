"""The questions that people come with: each leads to the place that answers it."""

from dataclasses import dataclass

import streamlit as st

from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from pages.answers import question
from pages.ui import session
from pages.ui.page_link import script

CHOSEN, GO = "question", "go to"


@dataclass(frozen=True)
class Question:
    """What is asked, the page that answers, the system it is about ("" keeps the model's)."""

    words: str
    page: str
    system: str = ""


PAPERS = Question("Show me a paper's result", "evidence")
QUESTIONS = (
    Question("What should I build?", "decide"),
    Question("Is CXL enough for my model?", "design", "cxl"),
    Question("What do failures cost?", "failures"),
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
    put(asked, base, with_values(preset(base).scenario, changes or {}))


def put(asked: Question, base: str, scenario: Scenario) -> None:
    """Put a variation of a preset and the question into the session; only in a callback."""
    session.put(base, with_values(scenario, {"system": asked.system} if asked.system else {}))
    question.reset_baseline()
    st.session_state[GO] = asked.page


def go() -> None:
    """Lead to the page that answers what was asked in a callback of the last run."""
    if page := st.session_state.pop(GO, ""):
        st.session_state[session.LANDED] = True
        st.switch_page(script(page))
