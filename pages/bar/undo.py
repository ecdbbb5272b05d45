"""Undo: the scenarios that a session has left behind, newest last."""

import streamlit as st

from engine.scenario.scenario import Scenario
from pages.common import session

PAST, SEEN, MOST = "scenarios before", "scenario seen last", 50
State = tuple[str, Scenario]


def note() -> None:
    """Remember the scenario of the run before, if this run has another one."""
    now: State = (session.base(), session.scenario())
    before: State | None = st.session_state.get(SEEN)
    if before is not None and before[1] != now[1]:
        st.session_state[PAST] = [*past(), before][-MOST:]
    st.session_state[SEEN] = now


def past() -> list[State]:
    """Return what can be undone, newest last."""
    found: list[State] = st.session_state.get(PAST, [])
    return found


def undo() -> None:
    """Go back to the scenario before; only in a callback."""
    *rest, last = past()
    st.session_state[PAST], st.session_state[SEEN] = rest, last
    session.put(*last)
