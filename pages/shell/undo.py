"""Undo: a session's earlier scenarios with the axes of their sweeps and Decide's questions, the newest last."""

import streamlit as st

from engine.scenario.scenario import Scenario, values
from engine.sweep.questions import LinkQuestions
from pages.decide_page import form
from pages.search_page import axes_panel
from pages.ui import session

UNDO_STEPS, LAST_STATE, MOVED_KNOBS, MOST_STEPS = "scenarios before", "scenario seen last", "knobs moved last", 50
State = tuple[str, Scenario, tuple[str, ...], str, LinkQuestions]  # preset, scenario, axes, sampling, questions


def record() -> None:
    """Store the previous run's scenario, axes and questions, if this run has others."""
    current_state: State = (
        session.base(),
        session.scenario(),
        axes_panel.own_axes(),
        session.sample(),
        form.form_questions(),
    )
    last_state: State | None = st.session_state.get(LAST_STATE)
    if last_state is not None and last_state[1:] != current_state[1:]:
        moved_knobs = [path for path, knob_value in values(current_state[1]).items() if knob_value != values(last_state[1])[path]]
        moved_knobs += [session.AXES] * (last_state[2:4] != current_state[2:4])
        moved_knobs += [field for field, answer in vars(current_state[4]).items() if answer != vars(last_state[4])[field]]
        if (
            moved_knobs != st.session_state.get(MOVED_KNOBS) or len(moved_knobs) > 1 or not undo_steps()
        ):  # successive moves of one knob are one step
            st.session_state[UNDO_STEPS] = [*undo_steps(), last_state][-MOST_STEPS:]
        st.session_state[MOVED_KNOBS] = moved_knobs
    st.session_state[LAST_STATE] = current_state


def undo_steps() -> list[State]:
    """Return the states that can be restored, newest last."""
    states: list[State] = st.session_state.get(UNDO_STEPS, [])
    return states


def undo() -> None:
    """Restore the previous scenario, axes and questions; call in a callback."""
    *rest, state = undo_steps()
    st.session_state[UNDO_STEPS], st.session_state[LAST_STATE], st.session_state[MOVED_KNOBS] = rest, state, []
    session.hold_variation(*state[:2])
    axes_panel.set_panel(*state[2:4])
    form.set_form(state[4])
