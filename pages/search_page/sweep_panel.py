"""The results of a sweep from the answer down: the finding, filters, one view at a time, the points, and the files."""

from typing import Literal

import pandas as pd
import streamlit as st

from engine.core.figures import count
from engine.hardware.prices import with_year
from engine.results.result import Result
from engine.scenario.keys import How
from engine.sweep.sweep import Sweep
from pages.search_page import sweep_pins, sweep_search, sweep_target, sweep_weeks
from pages.search_page.points import pinned, sweep_files, sweep_filters, sweep_findings, sweep_table, sweep_views
from pages.search_page.points.sweep_figures import Figure
from pages.search_page.points.sweep_filters import FIRST_METRIC, METRIC
from pages.search_page.points.sweep_table import COST, NOTE, OUTCOME, POINT
from pages.search_page.points.sweep_views import VIEWS, View
from pages.ui import downloads, numbers, session, tables
from pages.ui.plain import plain

TOP = 100


def draw(sweep: Sweep, table: pd.DataFrame, how: How, link: str, base: Result | None, ended: bool) -> None:
    """Draw what is finished of a sweep that `link` reopens; `base` is the result of the scenario in the sidebar."""
    note = table.attrs.get(NOTE, "")
    table, warning = sweep_weeks.joined(sweep, table, sweep_filters.held())
    if warning:
        st.warning(warning)
    names = sweep_table.metric_names(table)
    if not names:
        soon = "The best point and its charts stand here as soon as points are finished."
        st.caption(soon if table.empty else "No finished point could run.")
        _outcomes(table)
        return
    left, right = st.columns((2, 3))
    session.offer(METRIC, names, FIRST_METRIC if FIRST_METRIC in names else names[0])
    metric = left.selectbox("Metric", names, key=METRIC)
    with right:
        limits = sweep_filters.draw(table)
    rows = sweep_table.kept(table, limits)
    _outcomes(table)
    if note:
        st.caption(plain(note))
    view = View(sweep, table, rows, metric)
    figure = _views(view)
    sweep_pins.card(sweep, table)
    sweep_pins.compare(sweep, table, metric)
    _top(view)
    sweep_files.draw(view, how, link, figure)
    sweep_target.draw(view)
    sweep_search.draw(sweep, base)


def answer(sweep: Sweep, table: pd.DataFrame, base: Result | None, ended: bool) -> tuple[str, str]:
    """Return the best point of what is finished in a sentence, and which knob matters in another; both "" without results."""
    limits = sweep_filters.held()
    table, _ = sweep_weeks.joined(sweep, table, limits)
    names = sweep_table.metric_names(table)
    if not names:
        return "", ""
    chosen = session.choice(METRIC)
    metric = chosen if chosen in names else FIRST_METRIC if FIRST_METRIC in names else names[0]
    rows = sweep_table.kept(table, limits)
    found = with_year(sweep_findings.finding(rows, sweep.axes, metric, base), sweep_table.money(sweep))
    shares = sweep_findings.shares(sweep, rows, metric) if ended and len(sweep.axes) > 1 else ()
    matters = shares[0].sentence(metric, sweep_findings.among(rows, table)) if shares and shares[0].alone else ""
    return found, " ".join(filter(None, [sweep_findings.plateaus(rows, sweep.axes, metric), matters]))


def _views(view: View) -> Figure | None:
    first = sweep_views.first(view.axes)
    session.offer(sweep_filters.VIEW, tuple(VIEWS), first)
    chosen = st.segmented_control("View", tuple(VIEWS), required=True, key=sweep_filters.VIEW, label_visibility="collapsed")
    if view.rows.empty or view.metric not in view.rows:
        st.caption("No point passes the filters; take one away to draw some.")
        return None
    return VIEWS[chosen or first](view)


def _top(view: View) -> None:
    """Draw the best points as a table whose rows can be picked, and the files with all of them."""
    inside = sweep_views.boxed(view.rows)
    shown = sweep_table.ranked(inside, view.metric).head(TOP)
    where = " in the box" if inside is not view.rows else ""
    known = int(inside[view.metric].notna().sum()) if view.metric in inside else 0
    st.markdown(
        f"**The {count(len(shown))} best of {count(known)} points{where}**, by {plain(numbers.label(view.metric).lower())}"
    )

    def picked() -> None:
        at = st.session_state["top"].selection["rows"]
        if at and at[0] < len(shown):
            pinned.pick(int(shown[POINT].iloc[at[0]]))

    titles = {name: sweep_table.title(name) for name in shown.columns if name != POINT}
    titles[COST] = f"{numbers.label(COST)} [{sweep_table.money(view.sweep)}]"
    order = [POINT, *(axis.path for axis in view.axes), view.metric, *sweep_table.metric_names(shown), OUTCOME]
    frame = shown[list(dict.fromkeys(order))].assign(**{POINT: shown[POINT] + 1}).dropna(axis="columns", how="all")
    frame = frame.rename(columns={**titles, POINT: "Point"})
    numbered = frame.select_dtypes("number").columns.drop("Point")
    formats = {name: st.column_config.NumberColumn(format="%.5g") for name in numbered}
    height: Literal["content", "auto"] = "content" if len(frame) <= downloads.MOST_ROWS else "auto"
    st.dataframe(
        tables.with_system_titles(frame),
        hide_index=True,
        key="top",
        on_select=picked,
        selection_mode="single-row",
        height=height,
        column_config=formats,
    )


def _outcomes(table: pd.DataFrame) -> None:
    """Say how many points have no numbers, and why, the most frequent reason first."""
    why = table[OUTCOME][table[OUTCOME] != ""] if OUTCOME in table else pd.Series(dtype=str)
    if len(why):
        reasons = why.value_counts()
        more = f" ({count(len(reasons))} reasons in all)" if len(reasons) > 1 else ""
        st.caption(f"{count(len(why))} points have no numbers: {plain(str(reasons.index[0]))}{more}")
