"""A sweep to take away: CSV, Parquet, a report to read anywhere, and the chart in sight as a picture."""

import io
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from engine import version
from engine.commands import sweep_tables
from engine.results import csv_table
from engine.results.result import Result
from engine.scenario.keys import How
from engine.scenario.scenario import Scenario
from engine.store import kept
from pages.answers import runs
from pages.graphics import pictures
from pages.search_page.points import report, sweep_filters, sweep_table
from pages.search_page.points.report import Report
from pages.search_page.points.sweep_figures import Figure
from pages.search_page.points.sweep_table import POINT
from pages.search_page.points.sweep_views import View
from pages.ui.numbers import duration
from pages.ui.page_link import host

SECONDS_A_POINT = 6e-4  # of writing every knob, result and constant, on one free core
LONG = 5.0  # seconds of waiting that are said beforehand


def draw(view: View, how: How, link: str, figure: Figure | None) -> None:
    """Draw the buttons; each file is made when it is asked for."""
    name = f"emberpool-sweep-{how}"
    with st.container(horizontal=True):
        _button("Download CSV", partial(csv, view, how), f"{name}.csv", "text/csv")
        _button("Parquet", partial(parquet, view, how, link), f"{name}.parquet", "application/vnd.apache.parquet")
        _button("Report", partial(_report, view, how, link), f"{name}.html", "text/html")
        if figure is not None and len(figure.marks):
            _button("Chart as SVG", partial(pictures.svg, figure.spec, figure.marks), f"{name}.svg", "image/svg+xml")
            _button("Chart as PNG", partial(pictures.png, figure.spec, figure.marks), f"{name}.png", "image/png")
    wait = SECONDS_A_POINT * len(view.table)
    said = f", which takes about {duration(wait)} to write" if wait > LONG else ""
    st.caption(
        f"CSV holds every knob, result and constant of all finished points{said}; Parquet the axes and the results. "
        "The report is one file without scripts that opens anywhere."
    )


def _button(label: str, data: Callable[[], str | bytes], name: str, kind: str) -> None:
    st.download_button(label, data, name, kind, on_click="ignore", key=f"file {name}")


def csv(view: View, how: How) -> str:
    """Write what `python -m engine sweep --csv` writes of what is finished: every knob, result and constant, in its order."""
    fine = view.sweep.fine
    finished = np.isin(np.cumsum(fine) - 1, view.table[POINT].to_numpy())
    places = np.flatnonzero(finished | ~fine).tolist()
    rows = sweep_tables.rows(view.sweep, how, partial(_outcomes, how=how), places, lambda place: {})
    return csv_table.csv_of(row for row, _ in rows)


def _outcomes(scenarios: Iterable[Scenario], how: How) -> Iterator[Result | None]:
    return (result for _, result in kept.outcomes(runs.STORE, scenarios, how))


def flat(view: View) -> pd.DataFrame:
    """Return all finished points under dotted knobs and results, points counted from 1."""
    return view.table.assign(**{POINT: view.table[POINT] + 1, "model version": version.MODEL})


def parquet(view: View, how: How, link: str) -> bytes:
    """Write all finished points as Parquet, with the link that reproduces them beside the columns."""
    import pyarrow
    from pyarrow import parquet as arrow

    held = pyarrow.Table.from_pandas(flat(view), preserve_index=False)
    said = {"emberpool.link": link, "emberpool.how": how, "emberpool.model_version": version.MODEL}
    out = io.BytesIO()
    arrow.write_table(held.replace_schema_metadata({**(held.schema.metadata or {}), **said}), out)
    return out.getvalue()


def _report(view: View, how: How, link: str) -> str:
    date = datetime.now(UTC).date().isoformat()
    filters = tuple(map(sweep_table.said, sweep_filters.held()))
    return report.html(Report(view.sweep, how, view.rows, view.metric, host() + link, date, filters))
