"""A sweep to take away: CSV, Parquet, a report to read anywhere, and the chart in sight as a picture."""

import io
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import pandas as pd
import streamlit as st

from engine import kept, table, version
from engine.keys import How
from pages.parts import address, downloads, pictures, report, runs, sweep_filters, sweep_table
from pages.parts.report import Report
from pages.parts.sweep_figures import Figure
from pages.parts.sweep_table import POINT
from pages.parts.sweep_views import View

MOST_WHOLE = 5000  # points whose every knob and constant are written at the press of a button


def draw(view: View, how: How, link: str, figure: Figure | None) -> None:
    """Draw the buttons; each file is made when it is asked for."""
    name = f"emberpool-sweep-{how}"
    whole = len(view.table) <= MOST_WHOLE
    with st.container(horizontal=True):
        _button(
            "Download CSV",
            partial(_csv, view, how) if whole else partial(downloads.frame_text, flat(view)),
            f"{name}.csv",
            "text/csv",
        )
        _button("Parquet", partial(parquet, view, how, link), f"{name}.parquet", "application/vnd.apache.parquet")
        _button("Report", partial(_report, view, how, link), f"{name}.html", "text/html")
        if figure is not None and len(figure.marks):
            _button("Chart as SVG", partial(pictures.svg, figure.spec, figure.marks), f"{name}.svg", "image/svg+xml")
            _button("Chart as PNG", partial(pictures.png, figure.spec, figure.marks), f"{name}.png", "image/png")
    rows = (
        "all finished points"
        if whole
        else "the axes and results of all finished points; every knob: python -m engine sweep --csv"
    )
    st.caption(f"CSV and Parquet hold {rows}. The report is one file without scripts that opens anywhere.")


def _button(label: str, data: Callable[[], str | bytes], name: str, kind: str) -> None:
    st.download_button(label, data, name, kind, on_click="ignore", key=f"file {name}")


def _csv(view: View, how: How) -> str:
    """Write what `python -m engine sweep --csv` writes: every knob, result and constant, in the order of the sweep."""
    found = kept.outcomes(runs.STORE, (view.sweep[int(at)] for at in view.table[POINT]), how)
    return table.csv_text((result for _, result in found if result), how)


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
    return report.html(Report(view.sweep, how, view.rows, view.metric, address.host() + link, date, filters))
