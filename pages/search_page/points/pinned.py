"""The point of a sweep that was clicked, and those that were pinned: held by the session, carried by the link."""

from collections.abc import Sequence

import streamlit as st

from engine.sweep.questions import MOST_PINS
from engine.sweep.sweep import Sweep

PICKED, OF, PINS = "picked point", "sweep of the picked point", "pinned points"


def pick(point: int) -> None:
    """Take a point as the one that was clicked; in a callback."""
    st.session_state[PICKED] = point


def picked(sweep: Sweep) -> int | None:
    """Return the point that was clicked; of another sweep than the last one asked about nothing was."""
    if st.session_state.get(OF, sweep.digest) != sweep.digest:
        st.session_state.pop(PICKED, None)
    st.session_state[OF] = sweep.digest
    point: int | None = st.session_state.get(PICKED)
    return point


def points(sweep: Sweep) -> list[int]:
    """Return the pinned points of this sweep."""
    return [point for point in st.session_state.get(PINS, {}).get(sweep.digest, []) if point < len(sweep)]


def turn(digest: str, point: int) -> None:
    """Pin a point, or unpin one that is; in a callback."""
    every: dict[str, list[int]] = st.session_state.setdefault(PINS, {})
    held = every.setdefault(digest, [])
    every[digest] = [one for one in held if one != point] if point in held else [*held, point][-MOST_PINS:]


def text(digest: str) -> str:
    """Return the pinned points of the sweep of this digest as its link says them, counted from 1; "" for none."""
    return ",".join(str(point + 1) for point in st.session_state.get(PINS, {}).get(digest, ()))


def put(digest: str, points: Sequence[int]) -> None:
    """Set the pinned points of a sweep to those of a link; before the page is drawn."""
    st.session_state[PINS] = {**st.session_state.get(PINS, {}), digest: [*points]}
