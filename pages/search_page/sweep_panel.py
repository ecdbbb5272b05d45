"""The results of a sweep on the page Search.

From top to bottom: the finding, filters, one view at a time, the best points, and the files.
"""

from typing import Literal

import pandas as pd
import streamlit as st

from engine.core.figures import count
from engine.hardware.money.prices import with_year
from engine.results.result import Result
from engine.scenario.keys import Fidelity
from engine.sweep.sweep import Sweep
from pages.search_page import sweep_pins, sweep_search, sweep_target, sweep_weeks
from pages.search_page.points import pinned, sweep_files, sweep_filters, sweep_findings, sweep_table, sweep_views
from pages.search_page.points.sweep_figures import Figure
from pages.search_page.points.sweep_filters import FIRST_METRIC, METRIC
from pages.search_page.points.sweep_table import COST, NOTE, OUTCOME, POINT
from pages.search_page.points.sweep_views import VIEWS, View
from pages.ui import downloads, numbers, session, tables
from pages.ui.plain import escape_markdown

TOP = 100


def draw(sweep: Sweep, table: pd.DataFrame, mode: Fidelity, link: str, base: Result | None, run_ended: bool) -> None:
    """Draw the finished points of a sweep.

    link: reopens the sweep. base: result of the scenario in the sidebar, None if unknown.
    """
    note = table.attrs.get(NOTE, "")
    table, warning = sweep_weeks.with_weeks_metrics(sweep, table, sweep_filters.active_filters())
    if warning:
        st.warning(warning)
    names = sweep_table.metric_names(table)
    if not names:
        if table.empty or not run_ended:
            st.caption("The best point and its charts appear here when the first points are finished.")
            _outcomes(table)
        return
    metric_column, filter_column = st.columns((2, 3))
    session.restore_choice(METRIC, names, FIRST_METRIC if FIRST_METRIC in names else names[0])
    metric = metric_column.selectbox("Metric", names, key=METRIC)
    with filter_column:
        limits = sweep_filters.draw(table)
    rows = sweep_table.filtered_rows(table, limits)
    _outcomes(table)
    if note:
        st.caption(escape_markdown(note))
    view = View(sweep, table, rows, metric)
    figure = _views(view)
    sweep_pins.draw_card(sweep, table)
    sweep_pins.draw_comparison(sweep, table, metric)
    _top(view)
    sweep_files.draw(view, mode, link, figure)
    sweep_target.draw(view)
    sweep_search.draw(sweep, base)


def answer(sweep: Sweep, table: pd.DataFrame, base: Result | None, run_ended: bool) -> tuple[str, str]:
    """Return a sentence on the best finished point, and one on the knobs that matter.

    Both sentences are "" without results.
    """
    limits = sweep_filters.active_filters()
    table, _ = sweep_weeks.with_weeks_metrics(sweep, table, limits)
    names = sweep_table.metric_names(table)
    if not names:
        return "", ""
    chosen_metric = session.choice(METRIC)
    metric = chosen_metric if chosen_metric in names else FIRST_METRIC if FIRST_METRIC in names else names[0]
    rows = sweep_table.filtered_rows(table, limits)
    best_sentence = with_year(sweep_findings.finding(rows, sweep.axes, metric, base), sweep_table.money(sweep))
    shares = sweep_findings.variance_shares(sweep, rows, metric) if run_ended and len(sweep.axes) > 1 else ()
    matters = (
        shares[0].sentence(metric, sweep_findings.filtered_rows_words(rows, table)) if shares and shares[0].alone_share else ""
    )
    return best_sentence, " ".join(filter(None, [sweep_findings.plateau_sentence(rows, sweep.axes, metric), matters]))


def _views(view: View) -> Figure | None:
    default_view = sweep_views.default_view(view.axes)
    session.restore_choice(sweep_filters.VIEW, tuple(VIEWS), default_view)
    view_name = st.segmented_control("View", tuple(VIEWS), required=True, key=sweep_filters.VIEW, label_visibility="collapsed")
    if view.rows.empty or view.metric not in view.rows:
        st.caption("No point passes the filters; remove a filter to see points.")
        return None
    return VIEWS[view_name or default_view](view)


def _top(view: View) -> None:
    """Draw the best points as a table whose rows can be picked."""
    box_rows = sweep_views.rows_in_box(view.rows)
    top_rows = sweep_table.rank_rows(box_rows, view.metric).head(TOP)
    box_words = " in the box" if box_rows is not view.rows else ""
    known_count = int(box_rows[view.metric].notna().sum()) if view.metric in box_rows else 0
    st.markdown(
        f"**The {count(len(top_rows))} best of {count(known_count, 'point')}{box_words}**, "
        f"by {escape_markdown(numbers.label(view.metric).lower())}"
    )

    def picked() -> None:
        row_numbers = st.session_state["top"].selection["rows"]
        if row_numbers and row_numbers[0] < len(top_rows):
            pinned.pick_point(int(top_rows[POINT].iloc[row_numbers[0]]))

    titles = {name: sweep_table.title(name) for name in top_rows.columns if name != POINT}
    titles[COST] = f"{numbers.label(COST)} [{sweep_table.money(view.sweep)}]"
    order = [POINT, *(axis.path for axis in view.axes), view.metric, *sweep_table.metric_names(top_rows), OUTCOME]
    frame = top_rows[list(dict.fromkeys(order))].assign(**{POINT: top_rows[POINT] + 1}).dropna(axis="columns", how="all")
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


def commonest_reason(table: pd.DataFrame) -> str:
    """Return the most frequent reason of points without results, and the number of reasons; "" if all points could run."""
    reasons = _outcomes_of(table).value_counts()
    if reasons.empty:
        return ""
    return f"{reasons.index[0]}{f' ({count(len(reasons))} reasons in all)' if len(reasons) > 1 else ''}"


def _outcomes_of(table: pd.DataFrame) -> pd.Series:
    """Return why points have no results, a text for each such point."""
    return table[OUTCOME][table[OUTCOME] != ""] if OUTCOME in table else pd.Series(dtype=str)


def _outcomes(table: pd.DataFrame) -> None:
    """Draw the number of points without results, with the most frequent reason."""
    if reason := commonest_reason(table):
        st.caption(f"{count(len(_outcomes_of(table)), 'point has', 'points have')} no results: {escape_markdown(reason)}")
