"""Filters over a sweep's points: chips that any view can add to and a click takes away."""

from collections.abc import Iterable
from math import isfinite

import pandas as pd
import streamlit as st

from engine.analysis.objective import Constraint, constraint
from engine.analysis.over_weeks import WEEKS
from engine.sweep.links import MOST_BOUNDS, Questions
from pages.search import sweep_table
from pages.search.sweep_table import Words

FILTERS = "filters"
SIGNS = {"<=": "at most", ">=": "at least", "=": "exactly"}
Limit = Constraint | Words


def draw(frame: pd.DataFrame) -> tuple[Limit, ...]:
    """Draw the filters and the way to add one; return those that are set."""
    now = tuple(st.session_state.setdefault(FILTERS, []))
    left, right = st.columns((3, 1), vertical_alignment="bottom")
    left.multiselect(
        "Only points with",
        now,
        key=FILTERS,
        format_func=sweep_table.said,
        placeholder="All points; add a filter, or drag over a chart",
        disabled=not now,
    )
    with right.popover("Filter", width="stretch"):
        _form(frame)
    return now


def held() -> tuple[Limit, ...]:
    """Return the filters that are set."""
    return tuple(st.session_state.get(FILTERS, ()))


def add(limits: Iterable[Limit]) -> None:
    """Add filters to those that are set; one of the same column and sense takes the place of the older. In a callback."""
    now = [*held()]
    for limit in limits:
        now = [*(one for one in now if _sense(one) != _sense(limit)), limit]
    st.session_state[FILTERS] = now


def _sense(limit: Limit) -> tuple[str, str]:
    return limit.name, limit.sign[0] if isinstance(limit, Constraint) else "words"


def _form(frame: pd.DataFrame) -> None:
    names = list(dict.fromkeys(name for name in (*frame.columns, *WEEKS) if name not in (sweep_table.POINT, sweep_table.OUTCOME)))
    name = st.selectbox("Result or knob", names, key="filter name", format_func=sweep_table.title)
    if name in frame and not pd.api.types.is_numeric_dtype(frame[name]):
        words = st.multiselect("One of", tuple(map(str, frame[name].cat.categories)), key=f"filter words {name}")
        limit: Limit | None = Words(name, tuple(words)) if words else None
    else:
        sign = st.segmented_control("Is", SIGNS, default="<=", required=True, format_func=SIGNS.__getitem__, key="filter sign")
        held = frame[name].dropna() if name in frame else frame.iloc[:0]
        if len(held):
            st.caption(f"From {held.min():.5g} to {held.max():.5g} here.")
        limit = _bound(name, sign, st.text_input("Value", key="filter value"))
    st.button("Add", key="filter add", type="primary", disabled=limit is None, on_click=add, args=([limit],))


def _bound(name: str, sign: str, text: str) -> Constraint | None:
    try:
        bound = float(text)
    except ValueError:
        bound = float("nan")
    if not isfinite(bound):
        st.caption(":red[Write one number.]" if text else "Write a number and press Enter.")
        return None
    return Constraint(name, sign, bound)


def questions(sample: str, pins: str = "") -> Questions:
    """Return what the page asks of a sweep, for its link: sampling, bounds and pinned points; chosen words stay behind."""
    bounds = tuple(str(limit) for limit in held() if isinstance(limit, Constraint))
    return Questions(sample, bounds[:MOST_BOUNDS], pins=pins)


def put(asked: Questions) -> None:
    """Set the filters to those of a link; before the page is drawn."""
    st.session_state[FILTERS] = [constraint(text) for text in asked.where]
