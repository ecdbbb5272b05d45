"""Visitors' pages are drawn in turn, one at a time.

Python's threads share one core: pages drawn side by side are all as late as the last of them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, local
from time import monotonic

import streamlit as st

PATIENCE_SECONDS = 3.0  # then a page is drawn all the same: none can keep the others away
LOOK_SECONDS = 0.1
VISITOR_LEFT = "left"
_turn = Lock()
_thread = local()


@contextmanager
def turn() -> Iterator[None]:
    """Hold the turn, after waiting for it."""
    _thread.holds_turn = _wait_for_turn()
    try:
        yield
    finally:
        _leave_turn()


@contextmanager
def leave_turn() -> Iterator[None]:
    """Let others draw while this thread waits, or computes for long."""
    held = _leave_turn()
    yield
    if held:
        _thread.holds_turn = _wait_for_turn()


def _wait_for_turn() -> bool:
    """Return whether the turn came within PATIENCE_SECONDS."""
    end = monotonic() + PATIENCE_SECONDS
    while monotonic() < end:
        if _turn.acquire(timeout=LOOK_SECONDS):
            return True
        look_whether_left()
    return False


def look_whether_left() -> None:
    """Stop this run of the script if its visitor has left the page or moved a knob."""
    st.session_state.get(VISITOR_LEFT)  # Streamlit stops it here


def _leave_turn() -> bool:
    """Leave the turn; return whether this thread held it."""
    held: bool = getattr(_thread, "holds_turn", False)
    _thread.holds_turn = False
    if held:
        _turn.release()
    return held
