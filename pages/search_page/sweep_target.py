"""The cheapest machine of a sweep that meets a target, as a sentence and a point to open."""

import streamlit as st

from engine.analysis import choice
from engine.core.figures import count, figure
from engine.hardware.money.prices import with_year
from pages.search_page.points import pinned, sweep_filters, sweep_table
from pages.search_page.points.sweep_table import COST, POINT
from pages.search_page.points.sweep_views import View
from pages.ui import numbers
from pages.ui.plain import escape_markdown


def draw(view: View) -> None:
    """Draw the form, and the answer among the rows that pass the filters."""
    if COST not in view.rows:
        return
    with st.container(border=True):
        st.markdown("**The cheapest machine that meets a target**")
        names = [name for name in sweep_table.differing_metrics(view.table) if name != COST] or [view.metric]
        metric_column, value_column = st.columns((3, 2))
        metric_index = names.index(view.metric) if view.metric in names else 0
        metric = metric_column.selectbox("Target", names, index=metric_index, key="target metric", format_func=_target_title)
        text = value_column.text_input("Value", key="target value", placeholder=_example(view, metric))
        if text:
            _answer(view, metric, text)


def _target_title(metric: str) -> str:
    """Return a metric's name with "at least" or "at most", as a target bounds it."""
    return f"{metric} {'at least' if numbers.better_direction(metric) == 'higher' else 'at most'}"


def _example(view: View, metric: str) -> str:
    metric_values = view.table[metric].dropna()
    return f"such as {figure(metric_values.median())}" if len(metric_values) else ""


def _answer(view: View, metric: str, text: str) -> None:
    limit = sweep_filters.bound(metric, ">=" if numbers.better_direction(metric) == "higher" else "<=", text)
    if limit is None:
        return
    cheapest = choice.cheapest({name: view.rows[name].to_numpy() for name in (metric, COST)}, (limit,))
    st.markdown(escape_markdown(with_year(cheapest.sentence, sweep_table.money(view.sweep))))
    if cheapest.index is not None:
        row = view.rows.iloc[cheapest.index]
        st.markdown(
            f"This machine is point {count(int(row[POINT]) + 1)}: {escape_markdown(sweep_table.place_text(row, view.axes))}."
        )
        st.button("Show this point", key="target show", on_click=pinned.pick_point, args=(int(row[POINT]),))
