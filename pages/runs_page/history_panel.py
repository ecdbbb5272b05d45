"""The history's chosen requests: reopen, compare, export, pin, cancel and delete them."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from engine.core.figures import count
from engine.errors import EmberpoolError
from engine.results import csv_table
from engine.scenario.keys import How
from engine.service import history
from engine.service.history import Entry
from engine.sweep import links
from pages.answers import runs
from pages.graphics import chart
from pages.runs_page import history_charts, history_tables
from pages.runs_page.history_runs import FIRST_METRIC, METRIC
from pages.runs_page.history_tables import LIVE, RANK
from pages.ui import downloads, session
from pages.ui.numbers import error_formats
from pages.ui.page_link import host
from pages.ui.plain import plain

MOST_ROWS = 500
MOST_WHOLE = 100_000  # points whose every knob is written at the press of a button, in about a minute


def listing(entries: Sequence[Entry]) -> list[Entry]:
    """Draw the requests as a table and return the chosen ones; another list of requests begins without a choice."""
    columns = {
        "What": st.column_config.TextColumn(width="large"),
        "When": st.column_config.DatetimeColumn("When (UTC)", format="D MMM YY, HH:mm"),
        "Request": st.column_config.TextColumn("No.", width="small"),
        "State": st.column_config.TextColumn(help="What is pinned never makes room for newer results; all else may."),
    }
    event = st.dataframe(
        history_tables.listed(entries),
        column_config=columns,
        hide_index=True,
        width="stretch",
        height="content" if len(entries) <= 12 else 460,
        on_select="rerun",
        selection_mode="multi-row",
        key=f"history {hash(tuple(entry.request for entry in entries))}",
    )
    return [entries[row] for row in event["selection"]["rows"] if row < len(entries)]


def draw(chosen: Sequence[Entry]) -> None:
    """Draw what can be done with the chosen requests, and their points beside each other."""
    if not chosen:
        st.caption("Tick rows at their left edge, or find them by their numbers, to reopen, compare, export, pin or delete them.")
        return
    st.markdown(f"**{plain(chosen[0].title) if len(chosen) == 1 else f'{len(chosen)} requests chosen'}**")
    for entry in chosen:
        if entry.note:
            st.warning(plain(f"#{entry.request}: {entry.note}"))
    with st.container(horizontal=True):
        _actions(chosen)
        _delete(chosen)
    _points(chosen)


def _actions(chosen: Sequence[Entry]) -> None:
    for entry in chosen[:3]:
        link = history.link(runs.STORE, entry.request)
        if link:
            name = "Reopen" if len(chosen) == 1 else f"Reopen #{entry.request}"
            st.link_button(
                name,
                host() + links.in_mode(link, entry.how),
                help="Opens a tab of its own; what has made room is computed again there.",
            )
    numbers = [entry.request for entry in chosen]
    pinned = all(entry.pinned for entry in chosen)
    st.button("Unpin" if pinned else "Pin", key="pin", on_click=_told, args=(history.pin, numbers, not pinned))
    live = [entry.request for entry in chosen if entry.state in LIVE]
    if live:
        st.button("Cancel", key="cancel", on_click=_cancel, args=(live,))
    if any(entry.kept for entry in chosen):
        _exports(chosen)


def _exports(chosen: Sequence[Entry]) -> None:
    """Draw a CSV button for each way of computing among the chosen, and one for all as lines of JSON."""
    numbers = "-".join(str(entry.request) for entry in chosen[:5])
    ways = list(dict.fromkeys(entry.how for entry in chosen))
    for how in ways:
        of = [entry for entry in chosen if entry.how == how and entry.kept]
        name = "CSV" if len(ways) == 1 else f"CSV, {'full runs' if how == 'full' else 'estimates'}"
        _button(name, partial(_csv, of, how), f"emberpool-{how}-{numbers}.csv", "text/csv")
    _button("JSON", partial(_json, chosen), f"emberpool-{numbers}.jsonl", "application/jsonl")


def _button(label: str, text: Callable[[], str], name: str, kind: str) -> None:
    st.download_button(label, text, name, kind, on_click="ignore", key=f"file {label}")


def _csv(chosen: Sequence[Entry], how: How) -> str:
    """Write every knob, result and constant; of more points than a page can ask for, only what varies and the results."""
    if sum(entry.kept for entry in chosen) > MOST_WHOLE:
        return downloads.frame_text(history_tables.points(runs.STORE, chosen))
    return csv_table.csv_text((result for one in chosen for result in history.results(runs.STORE, one.request)), how)


def _json(chosen: Sequence[Entry]) -> str:
    return "".join(line for one in chosen for line in history.lines(runs.STORE, one.request))


def _delete(chosen: Sequence[Entry]) -> None:
    numbers = [entry.request for entry in chosen]
    with st.popover("Delete"):
        gone, many = history.freed(runs.STORE, numbers), len(chosen) > 1
        st.markdown(
            f"{f'These {len(chosen)} requests' if many else 'This request'} and {count(gone)} results that no other request has "
            f"go for good. {'One of them is pinned. ' if any(entry.pinned for entry in chosen) else ''}"
            f"{'What runs for them alone stops.' if any(entry.state in LIVE for entry in chosen) else ''}"
        )
        st.button("Delete for good", type="primary", key="delete", on_click=_told, args=(history.delete, numbers))


def _cancel(requests: Sequence[int]) -> None:
    for request in requests:
        runs.cancel(request)


def _told(change: Callable[..., None], *given: object) -> None:
    """Do what a button asks; shows the engine's sentence if the store refuses."""
    try:
        change(runs.STORE, *given)
    except EmberpoolError as error:
        st.toast(plain(str(error)), duration="infinite")


def _points(chosen: Sequence[Entry]) -> None:
    frame = history_tables.points(runs.STORE, [entry for entry in chosen if entry.kept])
    names = history_tables.metric_names(frame)
    if not names:
        st.caption("None of its points has a result now; reopen it to compute them." if len(chosen) == 1 else "No results.")
        return
    left, right = st.columns(2)
    session.offer(METRIC, names, FIRST_METRIC if FIRST_METRIC in names else names[0])
    metric = left.selectbox("Metric", names, key=METRIC)
    ways = history_tables.against(frame)
    across = right.selectbox("Against", ways, index=min(1, len(ways) - 1), key="history across")
    requests = tuple(dict.fromkeys(frame[history_tables.REQUEST]))
    if len(frame) > 1:
        marks = history_tables.marks(frame, metric, across)
        curve = across == RANK or not frame.duplicated([history_tables.REQUEST, across]).any()
        spec = history_charts.compared(metric, across, requests, curve)
        subtitle = f"{metric} of the chosen runs' points against {across}"
        chart.draw(marks, spec, key="compared", title=history_tables.finding(frame, metric), subtitle=subtitle)
    else:
        st.markdown(f"**{plain(history_tables.finding(frame, metric))}**")
    if len(frame) > MOST_ROWS:
        st.caption(f"The best {count(MOST_ROWS)} of {count(len(frame))} points; the CSV file has all.")
    shown = history_tables.top(frame, metric, MOST_ROWS)
    formats = {**dict.fromkeys(history_tables.metric_names(shown), "%.5g"), **error_formats(shown)}
    downloads.show(shown, formats, pinned=history_tables.REQUEST)
