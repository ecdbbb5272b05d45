"""The clicked point and the pinned points of a sweep, stored in the session.

The link carries the pins.
"""

from collections.abc import Sequence

import streamlit as st

from engine.sweep.questions import MOST_PINS
from engine.sweep.sweep import Sweep

PICKED_POINT, PICKED_SWEEP, PINS = "picked point", "sweep of the picked point", "pinned points"


def pick_point(point: int) -> None:
    """Set the clicked point; call in a callback."""
    st.session_state[PICKED_POINT] = point


def picked_point(sweep: Sweep) -> int | None:
    """Return the clicked point of this sweep, None without one.

    A point that was clicked in another sweep does not count.
    """
    if st.session_state.get(PICKED_SWEEP, sweep.digest) != sweep.digest:
        st.session_state.pop(PICKED_POINT, None)
    st.session_state[PICKED_SWEEP] = sweep.digest
    point: int | None = st.session_state.get(PICKED_POINT)
    return point


def pinned_points(sweep: Sweep) -> list[int]:
    """Return the pinned points of this sweep."""
    return [point for point in st.session_state.get(PINS, {}).get(sweep.digest, []) if point < len(sweep)]


def toggle_pin(digest: str, point: int) -> None:
    """Pin a point, or unpin it if it is pinned; call in a callback.

    digest: the digest of the sweep.
    """
    pins_by_sweep: dict[str, list[int]] = st.session_state.setdefault(PINS, {})
    pins = pins_by_sweep.setdefault(digest, [])
    pins_by_sweep[digest] = [pin for pin in pins if pin != point] if point in pins else [*pins, point][-MOST_PINS:]


def pins_text(digest: str) -> str:
    """Return the pinned points of a sweep as text for its link, counted from 1.

    The text is "" without pinned points. digest: the digest of the sweep.
    """
    return ",".join(str(point + 1) for point in st.session_state.get(PINS, {}).get(digest, ()))


def set_pins(digest: str, points: Sequence[int]) -> None:
    """Set the pinned points of a sweep to those of a link.

    Call this before the page is drawn.
    """
    st.session_state[PINS] = {**st.session_state.get(PINS, {}), digest: [*points]}
