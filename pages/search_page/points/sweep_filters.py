"""Filters over a sweep's points: chips that any view can add to and a click takes away."""

from collections.abc import Iterable, Sequence
from math import isfinite

import pandas as pd
import streamlit as st

from engine.analysis.objective import Constraint, column, constraint
from engine.analysis.over_weeks import WEEKS
from engine.core.figures import figure
from engine.errors import nearest
from engine.scenario import knobs
from engine.scenario.keys import How
from engine.scenario.scenario import KNOBS
from engine.sweep.axes import Axis, parse
from engine.sweep.questions import MOST_BOUNDS, Questions
from pages.search_page.points import sweep_table
from pages.search_page.points.sweep_table import Words
from pages.ui import session

FILTERS, METRIC, VIEW = "filters", "metric", "view"
FIRST_METRIC = "Step time [ms]"
VIEWS = ("Heat map", "Lines", "Pareto", "Parallel", "What matters")
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
    )
    with right.popover("Filter", width="stretch"):
        _form(frame)
    return now


def held() -> tuple[Limit, ...]:
    """Return the filters that are set."""
    return tuple(st.session_state.get(FILTERS, ()))


def axes(swept: Iterable[Axis]) -> tuple[Axis, ...]:
    """Return the axes with the words alone that the filters keep."""
    only = {limit.name: limit.words for limit in held() if isinstance(limit, Words)}
    return tuple(_kept(axis, only[axis.path]) if axis.path in only else axis for axis in swept)


def _kept(axis: Axis, words: Sequence[str]) -> Axis:
    return Axis(axis.path, tuple(value for value in axis.values if knobs.write(KNOBS[axis.path], value) in words))


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
            st.caption(f"From {figure(held.min())} to {figure(held.max())} here.")
        limit = bound(name, sign, st.text_input("Value", key="filter value"))
    st.button("Add", key="filter add", type="primary", disabled=limit is None, on_click=add, args=([limit],))


def bound(name: str, sign: str, text: str) -> Constraint | None:
    """Return a bound with the number that was written; None, and said, where there is none."""
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        st.caption(":red[Write one number.]" if text else "Write a number and press Enter.")
        return None
    return Constraint(name, sign, number)


def questions(sample: str, pins: str, how: How, first_view: str) -> Questions:
    """Return what the page asks of a sweep, for its link; what it shows by itself is left out."""
    bounds = tuple(str(limit) for limit in held() if isinstance(limit, Constraint))
    words = tuple(f"{limit.name}:{','.join(limit.words)}" for limit in held() if isinstance(limit, Words) and limit.words)
    metric, view = session.choice(METRIC), session.choice(VIEW)
    return Questions(
        sample,
        bounds[:MOST_BOUNDS],
        pins=pins,
        only=words[:MOST_BOUNDS],
        mode=how if how == "full" else "",
        metric=metric if metric != FIRST_METRIC else "",
        view=slug(view) if view != first_view else "",
    )


def slug(view: str) -> str:
    """Return how links write a view."""
    return view.lower().replace(" ", "-")


def put(asked: Questions) -> None:
    """Set the filters and what is shown to those of a link; before the page is drawn."""
    bounds: list[Limit] = [constraint(text) for text in asked.where]
    st.session_state[FILTERS] = bounds + [Words(path, words) for path, words in asked.words]
    session.ask(METRIC, column(asked.metric) if asked.metric else "")
    session.ask(VIEW, next((view for view in VIEWS if slug(view) == asked.view), ""))


def refusal(asked: Questions, axes: Sequence[str]) -> str:
    """Return the sentence that refuses a link's view, or words of a knob that is no axis of words; "" for neither."""
    views = tuple(map(slug, VIEWS))
    if asked.view not in ("", *views):
        return f"The link's view={asked.view} is not known; {nearest(asked.view, views)}"
    listed = {axis.path for axis in map(parse, axes) if not sweep_table.numeric(axis)}
    wrong = next((path for path, _ in asked.words if path not in listed), "")
    told = f"The link keeps words of {wrong} (only=), which is no axis of words; add axis={wrong}:V1,V2, or write where=."
    return told if wrong else ""
