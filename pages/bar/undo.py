"""Undo: the scenarios that a session has left behind, newest last."""

import streamlit as st

from engine.scenario.scenario import Scenario, values
from pages.common import session

PAST, SEEN, MOVED, MOST = "scenarios before", "scenario seen last", "knobs moved last", 50
State = tuple[str, Scenario]


def note() -> None:
    """Remember the scenario of the run before, if this run has another one."""
    now: State = (session.base(), session.scenario())
    before: State | None = st.session_state.get(SEEN)
    if before is not None and before[1] != now[1]:
        moved = [path for path, value in values(now[1]).items() if value != values(before[1])[path]]
        if moved != st.session_state.get(MOVED) or len(moved) > 1 or not past():  # a series on one knob is one step
            st.session_state[PAST] = [*past(), before][-MOST:]
        st.session_state[MOVED] = moved
    st.session_state[SEEN] = now


def past() -> list[State]:
    """Return what can be undone, newest last."""
    found: list[State] = st.session_state.get(PAST, [])
    return found


def undo() -> None:
    """Go back to the scenario before; only in a callback."""
    *rest, last = past()
    st.session_state[PAST], st.session_state[SEEN], st.session_state[MOVED] = rest, last, []
    session.put(*last)
