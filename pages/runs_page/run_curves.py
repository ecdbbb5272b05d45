"""Loss and AUC of the chosen full runs of Runs, one over the other."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

import pandas as pd
import streamlit as st

from engine.core.arithmetic import total
from engine.core.figures import count, figure
from engine.results.result import Result
from engine.service import history
from engine.service.history import PastRequest
from pages.answers import runs
from pages.graphics import chart, charts
from pages.runs_page import history_charts
from pages.systems import full_runs
from pages.ui import palette, tables
from pages.ui.plain import escape_markdown

MOST_CURVES = len(palette.OTHER_COLOURS)  # a colour for each run
SHARED_AXES = ("running", "batch", "joules")  # an axis cannot be broken for the outages of several runs at once
RUN = "run"
SAVED = {
    RUN: "Run",
    "batch": "Batch",
    "elapsed": "Elapsed [s]",
    "running": "Time without outages [s]",
    "joules": "Energy without outages [J]",
    "loss": "Loss",
    "auc": "AUC",
    "kind": "Event",
}


def draw(chosen_runs: Sequence[PastRequest]) -> None:
    """Draw the curves of two or more chosen full runs side by side; nothing for fewer."""
    frame, num_left_out = curves_frame(chosen_runs)
    names = tuple(dict.fromkeys(frame[RUN]))
    if len(names) < 2:
        return
    x_field = st.segmented_control(
        "Horizontal axis",
        SHARED_AXES,
        default="running",
        required=True,
        format_func=charts.CHOICES.__getitem__,
        key="run curves against",
    )
    for column, field, title in zip(st.columns(2), ("loss", "auc"), ("Loss", "AUC"), strict=True):
        with column:
            words = "Mean training loss of some batches" if field == "loss" else "AUC on held-out samples"
            chart.draw(
                frame,
                history_charts.curves(field, title, x_field, names),
                key=f"runs {field}",
                title=finding(frame, field),
                subtitle=f"{words} over {charts.CURVE_AXES[x_field]}; a triangle marks a fault",
                columns=SAVED,
            )
    if num_left_out:
        st.caption(escape_markdown(f"{count(num_left_out, 'more run')} not drawn: {MOST_CURVES} curves can be told apart."))


def curves_frame(chosen_runs: Sequence[PastRequest]) -> tuple[pd.DataFrame, int]:
    """Return the columns of SAVED for at most MOST_CURVES trained runs, named by their titles, and how many more there are."""
    full = [run for run in chosen_runs if run.fidelity == "full" and run.num_results]
    frames = [_request_curves(run.request, run.title, (run.created, run.num_results, run.num_failures)) for run in full]
    rows = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*SAVED, "part", "what"])
    names = list(dict.fromkeys(rows[RUN]))
    num_undrawn = total(run.num_results for run in full) - total(frame[RUN].nunique() for frame in frames)
    is_drawn = rows[RUN].isin(names[:MOST_CURVES])
    return rows[is_drawn], max(len(names) - MOST_CURVES, 0) + (num_undrawn if len(names) >= MOST_CURVES else 0)


@lru_cache(maxsize=32)
def _request_curves(request: int, title: str, state: tuple[float, int, int]) -> pd.DataFrame:
    """Return the curves of a request's first trained points, cached until its `state` changes."""
    trained = list(islice(_trained_results(request), MOST_CURVES))
    names = [title] if len(trained) == 1 else [f"{title}, point {number}" for number in range(1, len(trained) + 1)]
    curves = full_runs.curves(
        {name: (result.training, result.events, tables.power_pace(result)) for name, result in zip(names, trained, strict=True)}
    )
    return curves.rename(columns={"system": RUN})


def _trained_results(request: int) -> Iterator[Result]:
    """Yield the results of a request that have a training curve."""
    return (result for result in history.results(runs.STORE, request) if result.training)


def finding(frame: pd.DataFrame, field: str) -> str:
    """Return between which values the runs' last losses or AUCs lie, and which run is best."""
    known = frame[frame[field].notna()]
    last = known.sort_values("elapsed").groupby(RUN, sort=False)[field].last().astype(float)
    title, best = ("AUC", "highest") if field == "auc" else ("Training loss", "lowest")
    if last.empty:
        return f"{title} is not known"
    low, high = figure(float(last.min())), figure(float(last.max()))
    if low == high:
        return f"{title} ends at {low} in {count(len(last), 'run')}"
    return f"{title} ends between {low} and {high}, {best} in {last.idxmax() if field == 'auc' else last.idxmin()}"
