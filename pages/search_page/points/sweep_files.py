"""Downloads of a sweep: CSV, Parquet, the HTML report, and the chart's picture."""

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
from engine.scenario.keys import Fidelity
from engine.scenario.scenario import Scenario
from engine.store import result_rows
from pages.answers import runs
from pages.graphics import pictures
from pages.search_page.points import report, sweep_filters, sweep_table
from pages.search_page.points.report import Report
from pages.search_page.points.sweep_figures import Figure
from pages.search_page.points.sweep_table import POINT
from pages.search_page.points.sweep_views import View
from pages.ui.numbers import duration
from pages.ui.page_link import host

SECONDS_A_POINT = 6e-4  # to write every knob, result and constant of a point, on one free core
LONG_SECONDS = 5.0  # seconds: longer waits are announced


def draw(view: View, mode: Fidelity, link: str, figure: Figure | None) -> None:
    """Draw the download buttons; a file is written when its button is pressed."""
    name = f"emberpool-sweep-{mode}"
    with st.container(horizontal=True):
        _button("Download CSV", partial(csv, view, mode), f"{name}.csv", "text/csv")
        _button("Parquet", partial(parquet, view, mode, link), f"{name}.parquet", "application/vnd.apache.parquet")
        _button("Report", partial(_report, view, mode, link), f"{name}.html", "text/html")
        if figure is not None and len(figure.marks):
            _button("Chart as SVG", partial(pictures.svg, figure.spec, figure.marks), f"{name}.svg", "image/svg+xml")
            _button("Chart as PNG", partial(pictures.png, figure.spec, figure.marks), f"{name}.png", "image/png")
    wait = SECONDS_A_POINT * len(view.table)
    wait_words = f", which takes about {duration(wait)} to write" if wait > LONG_SECONDS else ""
    st.caption(
        f"The CSV file has every knob, result and constant of all finished points{wait_words}; the Parquet file has the axes and "
        "the results. The report is one HTML file without scripts, for any browser."
    )


def _button(label: str, make_file: Callable[[], str | bytes], name: str, kind: str) -> None:
    st.download_button(label, make_file, name, kind, on_click="ignore", key=f"file {name}")


def csv(view: View, mode: Fidelity) -> str:
    """Return the finished points as CSV.

    Columns and order are those of `python -m engine sweep --csv`.
    """
    accepted_places = view.sweep.is_possible
    finished = np.isin(np.cumsum(accepted_places) - 1, view.table[POINT].to_numpy())
    places = np.flatnonzero(finished | ~accepted_places).tolist()
    rows = sweep_tables.rows(view.sweep, mode, partial(_outcomes, mode=mode), places, lambda place: {})
    return csv_table.csv_of(row for row, _ in rows)


def _outcomes(scenarios: Iterable[Scenario], mode: Fidelity) -> Iterator[Result | None]:
    return (result for _, result in result_rows.stored_results(runs.STORE, scenarios, mode))


def parquet_frame(view: View) -> pd.DataFrame:
    """Return all finished points; columns are dotted knobs and results, points count from 1."""
    return view.table.assign(**{POINT: view.table[POINT] + 1, "model version": version.MODEL})


def parquet(view: View, mode: Fidelity, link: str) -> bytes:
    """Return all finished points as Parquet, with the link that reproduces them as metadata."""
    import pyarrow
    from pyarrow import parquet as arrow

    arrow_table = pyarrow.Table.from_pandas(parquet_frame(view), preserve_index=False)
    metadata = {"emberpool.link": link, "emberpool.how": mode, "emberpool.model_version": version.MODEL}
    buffer = io.BytesIO()
    arrow.write_table(arrow_table.replace_schema_metadata({**(arrow_table.schema.metadata or {}), **metadata}), buffer)
    return buffer.getvalue()


def _report(view: View, mode: Fidelity, link: str) -> str:
    date = datetime.now(UTC).date().isoformat()
    filters = tuple(map(sweep_table.filter_text, sweep_filters.active_filters()))
    return report.report_html(Report(view.sweep, mode, view.rows, view.metric, host() + link, date, filters))
