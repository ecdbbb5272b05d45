"""A card of the clicked point, and a table that compares the pinned points."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from engine.core.figures import count
from engine.results.metrics import error_of
from engine.scenario.scenario import KNOBS
from engine.sweep import links
from engine.sweep.sweep import Sweep
from pages.graphics import chart
from pages.search_page.points import pinned, sweep_charts, sweep_table
from pages.search_page.points.sweep_table import OUTCOME, POINT
from pages.ui import downloads, numbers, session
from pages.ui.page_link import host
from pages.ui.plain import escape_markdown

CARD_METRICS = (
    "Step time [ms]",
    "Energy per batch [J]",
    "Capital cost [USD]",
    "Throughput [samples/s]",
    "AUC",
    "Effective training time ratio",
)


def draw_card(sweep: Sweep, table: pd.DataFrame) -> None:
    """Draw the clicked point as a card.

    The card has its knobs, its main results, a link to Design, and the pin button.
    """
    point = pinned.picked_point(sweep)
    point_rows = table[table[POINT] == point] if point is not None else table.iloc[:0]
    if point_rows.empty:
        st.caption("Click a point or a row to see its knobs, to open it in Design, or to pin it for a comparison.")
        return
    row = point_rows.iloc[0]
    with st.container(border=True):
        st.markdown(f"**Point {count(int(row[POINT]) + 1)}:** {escape_markdown(sweep_table.place_text(row, sweep.axes))}")
        if row[OUTCOME]:
            st.caption(escape_markdown(str(row[OUTCOME])))
        metrics = [name for name in CARD_METRICS if name in row and pd.notna(row[name])]
        for place, name in zip(st.columns(max(len(metrics), 1)), metrics, strict=False):
            place.metric(
                numbers.label(name), numbers.result_text(row[name], sweep_table.unit(name, sweep), error_of(name, row.to_dict()))
            )
        with st.container(horizontal=True):
            link = host() + links.link(sweep[int(row[POINT])], session.base())
            st.link_button(
                "Open in Design", link, key="open in design", help="Opens the whole scenario of this point in a new tab."
            )
            label = "Unpin" if point in pinned.pinned_points(sweep) else "Pin"
            helped = "Pinned points are compared below, and the link keeps them."
            st.button(label, key="pin", on_click=pinned.toggle_pin, args=(sweep.digest, point), help=helped)


def draw_comparison(sweep: Sweep, table: pd.DataFrame, metric: str) -> None:
    """Draw the pinned points side by side, each with its changes against the first pinned point."""
    rows = table.set_index(POINT).reindex(pinned.pinned_points(sweep)).dropna(how="all")
    if len(rows) < len(pinned.pinned_points(sweep)):
        unfinished_points = ", ".join(f"{count(point + 1)}" for point in pinned.pinned_points(sweep) if point not in rows.index)
        st.caption(f"These pinned points are not finished: {unfinished_points}. Run the sweep to see them here.")
    if rows.empty:
        return
    names = [f"Point {count(point + 1)}" for point in rows.index]
    bars = pd.DataFrame({"name": names, "amount": rows[metric].to_numpy() if metric in rows else None, "point": rows.index})
    title = f"Comparison of {count(len(rows), 'pinned point')}"
    chart.draw(
        bars,
        sweep_charts.pin_bars(metric),
        key="pins",
        title=title,
        subtitle=f"{metric}; the table has changes against the first",
    )
    downloads.show(comparison_table(rows, names, sweep))
    with st.container(horizontal=True):
        st.button("Unpin all", key="unpin all", on_click=pinned.set_pins, args=(sweep.digest, ()))
        downloads.rows(comparison_table(rows, names, sweep), "emberpool-pins", "Download the pinned points as CSV")


def comparison_table(rows: pd.DataFrame, names: Sequence[str], sweep: Sweep) -> pd.DataFrame:
    """Return a table with a column for each pinned point.

    Rows are the knobs of the axes, then results with their change against the first point.
    """
    first_row = rows.iloc[0]
    lines = [{"": KNOBS[axis.path].title, **dict(zip(names, map(str, rows[axis.path]), strict=True))} for axis in sweep.axes]
    for metric in sweep_table.metric_names(rows):
        metric_values = [None if pd.isna(number) else float(number) for number in rows[metric]]
        if any(number is not None for number in metric_values):
            reference_values = [
                None,
                *[None if pd.isna(first_row[metric]) else float(first_row[metric])] * (len(metric_values) - 1),
            ]
            errors = [error_of(metric, row.to_dict()) for _, row in rows.iterrows()]
            lines.append({"": metric, **dict(zip(names, map(_cell, metric_values, reference_values, errors), strict=True))})
    return pd.DataFrame(lines)


def _cell(amount: float | None, reference: float | None, error: float | None) -> str:
    change, number = numbers.change(amount, reference), numbers.result_text(amount, error=error)
    return f"{number} ({change})" if change and change != "same" else number
