"""Undo: the scenarios that a session has left behind, with the axes of its sweep, newest last."""

import streamlit as st

from engine.scenario.scenario import Scenario, values
from pages.search_page import axes_panel
from pages.ui import session

PAST, SEEN, MOVED, MOST = "scenarios before", "scenario seen last", "knobs moved last", 50
State = tuple[str, Scenario, tuple[str, ...], str]  # preset, scenario, axes, sampling


def note() -> None:
    """Remember the scenario and axes of the run before, if this run has others."""
    now: State = (session.base(), session.scenario(), session.axes() or axes_panel.FIRST, session.sample())
    before: State | None = st.session_state.get(SEEN)
    if before is not None and before[1:] != now[1:]:
        moved = [path for path, value in values(now[1]).items() if value != values(before[1])[path]]
        moved += [session.AXES] * (before[2:] != now[2:])
        if moved != st.session_state.get(MOVED) or len(moved) > 1 or not past():  # a series on one knob is one step
            st.session_state[PAST] = [*past(), before][-MOST:]
        st.session_state[MOVED] = moved
    st.session_state[SEEN] = now


def past() -> list[State]:
    """Return what can be undone, newest last."""
    found: list[State] = st.session_state.get(PAST, [])
    return found


def undo() -> None:
    """Go back to the scenario and axes before; only in a callback."""
    *rest, last = past()
    st.session_state[PAST], st.session_state[SEEN], st.session_state[MOVED] = rest, last, []
    session.put(*last[:2])
    axes_panel.put(*last[2:])
