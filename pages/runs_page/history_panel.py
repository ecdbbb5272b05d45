"""The chosen requests of Runs: reopen, compare, export, pin, cancel and delete them."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from engine.artefact import pack_artefact
from engine.core.arithmetic import total
from engine.core.figures import count
from engine.errors import EmberpoolError
from engine.results import csv_table
from engine.results.short_table import short_csv_text
from engine.scenario.keys import Fidelity
from engine.service import history
from engine.service.history import PastRequest
from engine.sweep import links
from pages.answers import runs
from pages.graphics import chart
from pages.runs_page import history_charts, history_tables, run_curves
from pages.runs_page.history_runs import FIRST_METRIC, METRIC
from pages.runs_page.history_tables import LIVE, RANK
from pages.ui import downloads, session
from pages.ui.numbers import error_formats
from pages.ui.page_link import host
from pages.ui.plain import escape_markdown

MOST_ROWS = 500
MOST_SHORT = 2_000  # points whose whole results are read for a short table, in some seconds
MOST_WHOLE = 100_000  # points whose every knob is written at the press of a button, in about a minute


def draw_requests(entries: Sequence[PastRequest]) -> list[PastRequest]:
    """Draw the requests as a table, and return the chosen requests.

    If the list of requests changes, no request is chosen.
    """
    columns = {
        "What": st.column_config.TextColumn("Title", width="large"),
        "When": st.column_config.DatetimeColumn("When (UTC)", format="D MMM YY, HH:mm"),
        "Request": st.column_config.TextColumn("No.", width="small"),
        "State": st.column_config.TextColumn(help="A full store evicts results of old runs, but never those of pinned runs."),
        "Owner": st.column_config.TextColumn(help="Only its owner and whoever has the token can pin, cancel or delete a run."),
        "How": st.column_config.TextColumn("Kind"),
        "Took": st.column_config.TextColumn("Time taken"),
    }
    event = st.dataframe(
        history_tables.request_rows(entries, runs.user()),
        column_config=columns,
        hide_index=True,
        width="stretch",
        height="content" if len(entries) <= 12 else 460,
        on_select="rerun",
        selection_mode="multi-row",
        key=f"history {hash(tuple(run.request for run in entries))}",
    )
    return [entries[row] for row in event["selection"]["rows"] if row < len(entries)]


def draw(chosen_runs: Sequence[PastRequest]) -> None:
    """Draw the actions on the chosen requests, and compare their points."""
    if not chosen_runs:
        st.caption("Tick rows at their left edge, or search for their numbers, to reopen, compare, export, pin or delete runs.")
        return
    chosen_text = f"{count(len(chosen_runs), 'run')} chosen"
    st.markdown(f"**{escape_markdown(chosen_runs[0].title) if len(chosen_runs) == 1 else chosen_text}**")
    for run in chosen_runs:
        if run.note:
            st.warning(escape_markdown(f"#{run.request}: {run.note}"))
    others_note = history_tables.others_note(chosen_runs, runs.user())
    with st.container(horizontal=True):
        _draw_actions(chosen_runs, disabled=bool(others_note))
        _draw_delete(chosen_runs, disabled=bool(others_note))
    if others_note:
        st.caption(others_note)
    run_curves.draw(chosen_runs)
    _draw_points(chosen_runs)


def _draw_actions(chosen_runs: Sequence[PastRequest], disabled: bool) -> None:
    for run in chosen_runs[:3]:
        link = history.link(runs.STORE, run.request)
        if link:
            name = "Reopen" if len(chosen_runs) == 1 else f"Reopen #{run.request}"
            st.link_button(
                name,
                host() + links.link_in_mode(link, run.fidelity),
                help="Opens in a new tab; evicted results are computed again there.",
            )
    numbers = [run.request for run in chosen_runs]
    pinned = all(run.pinned for run in chosen_runs)
    change = (history.pin, numbers, not pinned)
    st.button("Unpin" if pinned else "Pin", key="pin", on_click=_change_store, args=change, disabled=disabled)
    live = [run.request for run in chosen_runs if run.state in LIVE]
    if live:
        st.button("Cancel", key="cancel", on_click=_cancel, args=(live,), disabled=disabled)
    if any(run.num_results for run in chosen_runs):
        _draw_exports(chosen_runs)


def _draw_exports(chosen_runs: Sequence[PastRequest]) -> None:
    """Draw two CSV buttons for each kind of run, one for a single run's zip, and one for JSON lines."""
    numbers = "-".join(str(run.request) for run in chosen_runs[:5])
    ways = list(dict.fromkeys(run.fidelity for run in chosen_runs))
    for run_kind in ways:
        runs_of_kind = [run for run in chosen_runs if run.fidelity == run_kind and run.num_results]
        name = "CSV" if len(ways) == 1 else f"CSV, {'full runs' if run_kind == 'full' else 'estimates'}"
        file_name = f"emberpool-{run_kind}-{numbers}"
        _draw_file_button(name, partial(_short_csv_text, runs_of_kind), f"{file_name}.csv", "text/csv")
        whole = partial(_csv_text, runs_of_kind, run_kind)
        _draw_file_button(f"{name}, every column", whole, f"{file_name}-all.csv", "text/csv")
    if total(run.num_results for run in chosen_runs) == 1:
        _draw_file_button("Zip", partial(_run_zip, chosen_runs), f"emberpool-{numbers}.zip", "application/zip")
    _draw_file_button("JSON", partial(_json_lines, chosen_runs), f"emberpool-{numbers}.jsonl", "application/jsonl")


def _draw_file_button(label: str, text: Callable[[], str | bytes], name: str, kind: str) -> None:
    st.download_button(label, text, name, kind, on_click="ignore", key=f"file {label}")


def _short_csv_text(chosen_runs: Sequence[PastRequest]) -> str:
    """Return the knobs that matter and headline results as CSV; beyond MOST_SHORT points the varied knobs and all results."""
    if total(run.num_results for run in chosen_runs) > MOST_SHORT:
        return downloads.frame_text(history_tables.points(runs.STORE, chosen_runs))
    return short_csv_text((result for run in chosen_runs for result in history.results(runs.STORE, run.request)), host())


def _csv_text(chosen_runs: Sequence[PastRequest], run_kind: Fidelity) -> str:
    """Return every knob, result and constant as CSV; fewer columns for many points.

    Beyond MOST_WHOLE points it has the varied knobs and the results alone.
    """
    if total(run.num_results for run in chosen_runs) > MOST_WHOLE:
        return downloads.frame_text(history_tables.points(runs.STORE, chosen_runs))
    return csv_table.csv_of(history.table_rows(runs.STORE, [run.request for run in chosen_runs]))


def _run_zip(chosen_runs: Sequence[PastRequest]) -> bytes:
    """Return the only result of the chosen runs as a zip."""
    (run,) = (run for run in chosen_runs if run.num_results)
    (result,) = history.results(runs.STORE, run.request)
    return pack_artefact(result, run.fidelity)


def _json_lines(chosen_runs: Sequence[PastRequest]) -> str:
    return "".join(line for run in chosen_runs for line in history.result_lines(runs.STORE, run.request))


def _draw_delete(chosen_runs: Sequence[PastRequest], disabled: bool) -> None:
    numbers = [run.request for run in chosen_runs]
    with st.popover("Delete", disabled=disabled):
        num_freed = history.freed_results(runs.STORE, numbers)
        these_runs = f"these {count(len(chosen_runs), 'run')}" if len(chosen_runs) > 1 else "this run"
        st.markdown(
            f"This deletes {these_runs} and {count(num_freed, 'result')} that "
            f"no other run has, for good. {'A pinned run is among them. ' if any(run.pinned for run in chosen_runs) else ''}"
            f"{'Points that only these runs need stop.' if any(run.state in LIVE for run in chosen_runs) else ''}"
        )
        change = (history.delete, numbers)
        st.button("Delete for good", type="primary", key="delete", on_click=_change_store, args=change, disabled=disabled)


def _cancel(requests: Sequence[int]) -> None:
    for request in requests:
        runs.cancel(request)


def _change_store(change: Callable[..., None], *arguments: object) -> None:
    """Do a button's work for this visitor; show the engine's sentence if the store refuses.

    The store checks the owner: a browser can press a button that is drawn as disabled.
    """
    try:
        change(runs.STORE, *arguments, runs.user())
    except EmberpoolError as error:
        st.toast(escape_markdown(str(error)), duration="infinite")


def _draw_points(chosen_runs: Sequence[PastRequest]) -> None:
    frame = history_tables.points(runs.STORE, [run for run in chosen_runs if run.num_results])
    names = history_tables.metric_names(frame)
    if not names:
        st.caption(
            "No point has a result now; reopen the run to compute them." if len(chosen_runs) == 1 else "No run has a result now."
        )
        return
    left_column, right_column = st.columns(2)
    session.restore_choice(METRIC, names, FIRST_METRIC if FIRST_METRIC in names else names[0])
    metric = left_column.selectbox("Metric", names, key=METRIC)
    requests = tuple(dict.fromkeys(frame[history_tables.REQUEST]))
    if len(frame) > len(requests):  # requests of a point each have no axis in common
        ways = history_tables.x_axis_choices(frame)
        x_name = right_column.selectbox("Horizontal axis", ways, index=min(1, len(ways) - 1), key="history across")
        marks = history_tables.marks(frame, metric, x_name)
        curve = x_name == RANK or not frame.duplicated([history_tables.REQUEST, x_name]).any()
        spec = history_charts.compared(metric, x_name, requests, curve)
        subtitle = f"{metric} of the chosen runs' points against {x_name}"
        chart.draw(marks, spec, key="compared", title=history_tables.finding(frame, metric), subtitle=subtitle)
    else:
        st.markdown(f"**{escape_markdown(history_tables.finding(frame, metric))}**")
    if len(frame) > MOST_ROWS:
        st.caption(f"The table has the best {count(MOST_ROWS)} of {count(len(frame), 'point')}; the CSV file has all points.")
    best_points = history_tables.best_points(frame, metric, MOST_ROWS)
    formats = {**dict.fromkeys(history_tables.metric_names(best_points), "%.5g"), **error_formats(best_points)}
    downloads.show(best_points, formats, pinned=history_tables.REQUEST)
