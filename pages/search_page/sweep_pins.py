"""The point that was clicked, as a card, and the pinned points beside each other."""

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
from pages.ui.plain import plain

MAIN = (
    "Step time [ms]",
    "Energy per batch [J]",
    "Capital cost [USD]",
    "Throughput [samples/s]",
    "AUC",
    "Effective training time ratio",
)


def card(sweep: Sweep, table: pd.DataFrame) -> None:
    """Draw the clicked point: its place, its main results, the way to Design, and the pin."""
    point = pinned.picked(sweep)
    found = table[table[POINT] == point] if point is not None else table.iloc[:0]
    if found.empty:
        st.caption("Click a point or a row to see its knobs, open it in Design, or pin it beside others.")
        return
    row = found.iloc[0]
    with st.container(border=True):
        st.markdown(f"**Point {count(int(row[POINT]) + 1)}:** {plain(sweep_table.where(row, sweep.axes))}")
        if row[OUTCOME]:
            st.caption(plain(str(row[OUTCOME])))
        shown = [name for name in MAIN if name in row and pd.notna(row[name])]
        for place, name in zip(st.columns(max(len(shown), 1)), shown, strict=False):
            place.metric(
                numbers.label(name), numbers.readable(row[name], sweep_table.unit(name, sweep), error_of(name, row.to_dict()))
            )
        with st.container(horizontal=True):
            link = host() + links.link(sweep[int(row[POINT])], session.base())
            st.link_button("Open in Design", link, help="The whole scenario of this point, in a tab of its own.")
            label = "Unpin" if point in pinned.points(sweep) else "Pin"
            helped = "Pinned points are compared below, and the link carries them."
            st.button(label, key="pin", on_click=pinned.turn, args=(sweep.digest, point), help=helped)


def compare(sweep: Sweep, table: pd.DataFrame, metric: str) -> None:
    """Draw the pinned points beside each other, with their differences to the first one."""
    rows = table.set_index(POINT).reindex(pinned.points(sweep)).dropna(how="all")
    if len(rows) < len(pinned.points(sweep)):
        left = ", ".join(f"{count(point + 1)}" for point in pinned.points(sweep) if point not in rows.index)
        st.caption(f"Pinned, but not finished: point {left}. Run the sweep to see it here.")
    if rows.empty:
        return
    names = [f"Point {count(point + 1)}" for point in rows.index]
    bars = pd.DataFrame({"name": names, "amount": rows[metric].to_numpy() if metric in rows else None, "point": rows.index})
    title = f"{count(len(rows), 'pinned point')} beside each other"
    chart.draw(
        bars, sweep_charts.bars(metric), key="pins", title=title, subtitle=f"{metric}; in the table changes against the first"
    )
    downloads.show(beside(rows, names, sweep))
    with st.container(horizontal=True):
        st.button("Unpin all", on_click=pinned.put, args=(sweep.digest, ()))
        downloads.rows(beside(rows, names, sweep), "emberpool-pins", "Download the pinned points as CSV")


def beside(rows: pd.DataFrame, names: Sequence[str], sweep: Sweep) -> pd.DataFrame:
    """Return a column a point: knobs of the axes first, then every result that any has, with its change."""
    first = rows.iloc[0]
    lines = [{"": KNOBS[axis.path].title, **dict(zip(names, map(str, rows[axis.path]), strict=True))} for axis in sweep.axes]
    for metric in sweep_table.metric_names(rows):
        held = [None if pd.isna(value) else float(value) for value in rows[metric]]
        if any(value is not None for value in held):
            against = [None, *[None if pd.isna(first[metric]) else float(first[metric])] * (len(held) - 1)]
            errors = [error_of(metric, row.to_dict()) for _, row in rows.iterrows()]
            lines.append({"": metric, **dict(zip(names, map(_cell, held, against, errors), strict=True))})
    return pd.DataFrame(lines)


def _cell(value: float | None, against: float | None, error: float | None) -> str:
    change, number = numbers.change(value, against), numbers.readable(value, error=error)
    return f"{number} ({change})" if change and change != "same" else number
