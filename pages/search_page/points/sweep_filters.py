"""Filters over a sweep's points, drawn as chips.

Each view can add a filter; a click on a chip removes it.
"""

from collections.abc import Iterable, Sequence
from math import isfinite

import pandas as pd
import streamlit as st

from engine.analysis.objective import Constraint, column_name, read_constraint
from engine.analysis.over_weeks import CAMPAIGN_METRICS
from engine.core.figures import figure
from engine.errors import nearest_hint
from engine.scenario import knobs
from engine.scenario.keys import Fidelity
from engine.scenario.scenario import KNOBS
from engine.sweep.axes import Axis, parse
from engine.sweep.questions import MOST_BOUNDS, LinkQuestions
from pages.search_page.points import sweep_table
from pages.search_page.points.sweep_table import FilterWords
from pages.ui import session

FILTERS, METRIC, VIEW = "filters", "metric", "view"
FIRST_METRIC = "Step time [ms]"
VIEWS = ("Heat map", "Lines", "Pareto", "Parallel", "What matters")
SIGNS = {"<=": "at most", ">=": "at least", "=": "exactly"}
Limit = Constraint | FilterWords


def draw(frame: pd.DataFrame) -> tuple[Limit, ...]:
    """Draw the filters and a form to add one; return the filters that are set."""
    filters = tuple(st.session_state.setdefault(FILTERS, []))
    chips_column, form_column = st.columns((3, 1), vertical_alignment="bottom")
    chips_column.multiselect(
        "Only points with",
        filters,
        key=FILTERS,
        format_func=sweep_table.filter_text,
        placeholder="All points; add a filter, or drag over a chart",
    )
    with form_column.popover("Filter", width="stretch"):
        _form(frame)
    return filters


def active_filters() -> tuple[Limit, ...]:
    """Return the filters that are set."""
    return tuple(st.session_state.get(FILTERS, ()))


def filtered_axes(swept: Iterable[Axis]) -> tuple[Axis, ...]:
    """Return the axes without the words that the filters exclude."""
    words_by_knob = {limit.name: limit.words for limit in active_filters() if isinstance(limit, FilterWords)}
    return tuple(_filtered_axis(axis, words_by_knob[axis.path]) if axis.path in words_by_knob else axis for axis in swept)


def _filtered_axis(axis: Axis, words: Sequence[str]) -> Axis:
    return Axis(axis.path, tuple(axis_value for axis_value in axis.values if knobs.write(KNOBS[axis.path], axis_value) in words))


def add_filters(limits: Iterable[Limit]) -> None:
    """Add filters.

    A new filter replaces an older one of the same column and direction. Call this in a callback.
    """
    filters = [*active_filters()]
    for limit in limits:
        filters = [*(earlier_limit for earlier_limit in filters if _sense(earlier_limit) != _sense(limit)), limit]
    st.session_state[FILTERS] = filters


def _sense(limit: Limit) -> tuple[str, str]:
    return limit.name, limit.sign[0] if isinstance(limit, Constraint) else "words"


def _form(frame: pd.DataFrame) -> None:
    names = list(
        dict.fromkeys(
            name for name in (*frame.columns, *CAMPAIGN_METRICS) if name not in (sweep_table.POINT, sweep_table.OUTCOME)
        )
    )
    name = st.selectbox("Result or knob", names, key="filter name", format_func=sweep_table.title)
    if name in frame and not pd.api.types.is_numeric_dtype(frame[name]):
        words = st.multiselect("One of", tuple(map(str, frame[name].cat.categories)), key=f"filter words {name}")
        limit: Limit | None = FilterWords(name, tuple(words)) if words else None
    else:
        sign = st.segmented_control("Is", SIGNS, default="<=", required=True, format_func=SIGNS.__getitem__, key="filter sign")
        column_values = frame[name].dropna() if name in frame else frame.iloc[:0]
        if len(column_values):
            st.caption(f"The points have {figure(column_values.min())} to {figure(column_values.max())}.")
        limit = bound(name, sign, st.text_input("Value", key="filter value"))
    st.button("Add", key="filter add", type="primary", disabled=limit is None, on_click=add_filters, args=([limit],))


def bound(name: str, sign: str, text: str) -> Constraint | None:
    """Return the bound that a written number states.

    If the text is no number, show a caption and return None.
    """
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        st.caption(":red[Write one number.]" if text else "Write a number and press Enter.")
        return None
    return Constraint(name, sign, number)


def page_questions(sample: str, pins: str, mode: Fidelity, first_view: str) -> LinkQuestions:
    """Return the page's filters, pins, mode, metric and view for its link.

    Defaults are left out.
    """
    bounds = tuple(str(limit) for limit in active_filters() if isinstance(limit, Constraint))
    words = tuple(
        f"{limit.name}:{','.join(limit.words)}" for limit in active_filters() if isinstance(limit, FilterWords) and limit.words
    )
    metric, view = session.choice(METRIC), session.choice(VIEW)
    return LinkQuestions(
        sample,
        bounds[:MOST_BOUNDS],
        pins=pins,
        allowed_words=words[:MOST_BOUNDS],
        mode=mode if mode == "full" else "",
        metric=metric if metric != FIRST_METRIC else "",
        view=slug(view) if view != first_view else "",
    )


def slug(view: str) -> str:
    """Return a view's name as it stands in links."""
    return view.lower().replace(" ", "-")


def set_filters(link_questions: LinkQuestions) -> None:
    """Set filters, metric and view to those of a link; call before the page is drawn."""
    bounds: list[Limit] = [read_constraint(text) for text in link_questions.bounds]
    st.session_state[FILTERS] = bounds + [FilterWords(path, words) for path, words in link_questions.words]
    session.take_choice(METRIC, column_name(link_questions.metric) if link_questions.metric else "")
    session.take_choice(VIEW, next((view for view in VIEWS if slug(view) == link_questions.view), ""))


def refusal(link_questions: LinkQuestions, axes: Sequence[str]) -> str:
    """Return the sentence that refuses a link's view or filters of words; "" for none.

    A view must be known, and the knob of a filter of words must be an axis of words.
    """
    views = tuple(map(slug, VIEWS))
    if link_questions.view not in ("", *views):
        return f"The link's view={link_questions.view} is not known; {nearest_hint(link_questions.view, views)}"
    word_axes = {axis.path for axis in map(parse, axes) if not sweep_table.numeric(axis)}
    unknown_path = next((path for path, _ in link_questions.words if path not in word_axes), "")
    sentence = (
        f"The link filters by words of {unknown_path} (only=), which is not an axis of words; "
        f"add axis={unknown_path}:V1,V2, or use where=."
    )
    return sentence if unknown_path else ""
