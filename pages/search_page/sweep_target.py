"""The cheapest machine that meets a target, as a sentence and a point to open."""

import streamlit as st

from engine.analysis import choice
from engine.core.figures import count, figure
from engine.hardware.prices import with_year
from pages.search_page.points import pinned, sweep_filters, sweep_table
from pages.search_page.points.sweep_table import COST, POINT
from pages.search_page.points.sweep_views import View
from pages.ui import numbers
from pages.ui.plain import plain


def draw(view: View) -> None:
    """Draw the form, and the answer among the rows that pass the filters."""
    if COST not in view.rows:
        return
    with st.container(border=True):
        st.markdown("**The cheapest machine that meets a target**")
        names = [name for name in sweep_table.differing(view.table) if name != COST] or [view.metric]
        left, right = st.columns((3, 2))
        at = names.index(view.metric) if view.metric in names else 0
        metric = left.selectbox("Target", names, index=at, key="target metric", format_func=_asked)
        text = right.text_input("Value", key="target value", placeholder=_example(view, metric))
        if text:
            _answer(view, metric, text)


def _asked(metric: str) -> str:
    """Say a metric with the sense in which a target bounds it."""
    return f"{metric} {'at least' if numbers.better(metric) == 'higher' else 'at most'}"


def _example(view: View, metric: str) -> str:
    held = view.table[metric].dropna()
    return f"such as {figure(held.median())}" if len(held) else ""


def _answer(view: View, metric: str, text: str) -> None:
    limit = sweep_filters.bound(metric, ">=" if numbers.better(metric) == "higher" else "<=", text)
    if limit is None:
        return
    found = choice.cheapest({name: view.rows[name].to_numpy() for name in (metric, COST)}, (limit,))
    st.markdown(plain(with_year(found.sentence, sweep_table.money(view.sweep))))
    if found.index is not None:
        row = view.rows.iloc[found.index]
        st.markdown(f"It is point {count(int(row[POINT]) + 1)}: {plain(sweep_table.where(row, view.axes))}.")
        st.button("Show this point", key="target show", on_click=pinned.pick, args=(int(row[POINT]),))
