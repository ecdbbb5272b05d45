"""The common questions; each opens the page that answers it."""

import streamlit as st

from engine.scenario.presets import EXPLORED, preset
from engine.scenario.scenario import with_values
from pages.decide_page import owned_fields, software_fields
from pages.own_data import leading
from pages.own_data.leading import Question
from pages.ui import session

QUESTION_KEY, KNOBS_KEY, OWN_POPOVER = "question", "four knobs", "own popover"
PAPERS = Question("Show me a paper's result", "evidence")
BUILD = Question("What should I build?", "decide")
QUESTIONS = (
    BUILD,
    Question("Is CXL enough for my model?", "design", "cxl"),
    leading.FAILURES,
    PAPERS,
)


def draw_four_knobs() -> None:
    """Draw the button that opens Design with a machine on which each of the four main knobs acts."""
    st.button(
        "Turn the four knobs: PMEM capacity, CXL bandwidth, near-data compute, checkpoint relaxation",
        key=KNOBS_KEY,
        on_click=ask,
        args=(Question("", "design"), EXPLORED),
        type="primary",
    )


def draw_questions() -> Question:
    """Draw the questions, and return the chosen one."""
    place = st.radio(
        "What do you want to know?",
        range(len(QUESTIONS)),
        format_func=lambda number: QUESTIONS[number].words,
        horizontal=True,
        key=QUESTION_KEY,
    )
    question = QUESTIONS[place]
    if question is BUILD:
        _draw_means()
    return question


def _draw_means() -> None:
    """Draw the choices of software and precision, and what is owned, which the page Decide takes over."""
    software_column, precision_column, loop_column, owned_column = st.columns((3, 2, 1, 2), vertical_alignment="bottom")
    with software_column:
        software_fields.draw_software()
    with precision_column:
        software_fields.draw_precision()
    with loop_column:
        if software_fields.is_own():
            software_fields.draw_loop()
    with (
        owned_column if software_fields.is_own() else loop_column,
        st.popover("I own", type="tertiary", key=OWN_POPOVER, on_change="rerun") as popover,
    ):
        if popover.open:
            owned_fields.draw("start")
    software_fields.draw_hint()
    owned_fields.draw_owned()


def ask(question: Question, base: str, changes: dict[str, object] | None = None) -> None:
    """Set the session to a preset's changed model and a question; call in a callback.

    Raises BadKnob if a change is refused.
    """
    session.put_origin("")
    leading.put_question(question, base, with_values(preset(base).scenario, changes or {}))
