"""Undo: a session's earlier scenarios with the axes of their sweeps, newest last."""

import streamlit as st

from engine.scenario.scenario import Scenario, values
from pages.search_page import axes_panel
from pages.ui import session

UNDO_STEPS, LAST_STATE, MOVED_KNOBS, MOST_STEPS = "scenarios before", "scenario seen last", "knobs moved last", 50
State = tuple[str, Scenario, tuple[str, ...], str]  # preset, scenario, axes, sampling


def record() -> None:
    """Remember the scenario and axes of the run before, if this run has others."""
    now: State = (session.base(), session.scenario(), session.axes() or axes_panel.FIRST, session.sample())
    before: State | None = st.session_state.get(LAST_STATE)
    if before is not None and before[1:] != now[1:]:
        moved = [path for path, value in values(now[1]).items() if value != values(before[1])[path]]
        moved += [session.AXES] * (before[2:] != now[2:])
        if moved != st.session_state.get(MOVED_KNOBS) or len(moved) > 1 or not undo_steps():  # a series on one knob is one step
            st.session_state[UNDO_STEPS] = [*undo_steps(), before][-MOST_STEPS:]
        st.session_state[MOVED_KNOBS] = moved
    st.session_state[LAST_STATE] = now


def undo_steps() -> list[State]:
    """Return the states that can be restored, newest last."""
    found: list[State] = st.session_state.get(UNDO_STEPS, [])
    return found


def undo() -> None:
    """Go back to the scenario and axes before; only in a callback."""
    *rest, last = undo_steps()
    st.session_state[UNDO_STEPS], st.session_state[LAST_STATE], st.session_state[MOVED_KNOBS] = rest, last, []
    session.put(*last[:2])
    axes_panel.put(*last[2:])
