"""Tables with their CSV files, which are safe to open in spreadsheets."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import pandas as pd
import streamlit as st

from engine.artefact import pack_artefact
from engine.results import csv_table
from engine.results.citations import bibtex
from engine.results.perfetto import chrome_trace
from engine.results.result import Result
from engine.results.short_table import short_csv_text
from engine.scenario.keys import Fidelity
from engine.scenario.scenario import Scenario
from pages.ui import tables
from pages.ui.page_link import host

MOST_ROWS = 30
AT_ONCE = 50
SHORT = "The knobs that differ from their defaults, headline results with units, and a link for each row."
EVERY_COLUMN = "CSV with every knob, result and constant."


def csv(results: Sequence[Result], run_kind: Fidelity, name: str, label: str = "Download CSV") -> None:
    """Draw the buttons that save results as CSV, a row for each result: in short, and with every column.

    The short file has the knobs that matter, headline results and a link; the other one all knobs, results, key and constants in
    use. A file of many rows is written when the visitor asks for it, since thousands of rows take seconds.
    """
    all_results = tuple(results)
    short: Any = partial(short_csv_text, all_results, host())
    whole: Any = partial(csv_table.csv_text, all_results, run_kind)
    kinds: tuple[tuple[Any, str, str, Literal["secondary", "tertiary"]], ...]
    kinds = ((short, "", label, "secondary"), (whole, "-all", "every column", "tertiary"))
    with st.container(horizontal=True, vertical_alignment="center", width="content"):
        for text, ending, words, kind in kinds:
            st.download_button(
                words,
                text if len(all_results) > AT_ONCE else text(),
                f"{name}{ending}.csv",
                "text/csv",
                on_click="ignore",
                key=f"csv {name}{ending}",
                type=kind,
                help=EVERY_COLUMN if ending else SHORT,
            )


def run_zip(result: Result, run_kind: Fidelity) -> None:
    """Draw the button that saves one run as a zip: results, curve, events, books, link and a README."""
    st.download_button(
        "Download this run",
        partial(pack_artefact, result, run_kind),
        f"emberpool-{result.scenario.system}.zip",
        "application/zip",
        on_click="ignore",
        key=f"zip emberpool-{result.scenario.system}",
        help="A zip with results, curve, events, books, link, and a README that says how to compute the run again.",
    )


def citations(scenario: Scenario) -> None:
    """Draw the button that saves the citations of a scenario's results."""
    tip = "Cites Emberpool and the sources of the system, the model, the data and each constant in use."
    text = bibtex(scenario)
    st.download_button("Download the citations as BibTeX", text, "emberpool.bib", "text/plain", on_click="ignore", help=tip)


def trace(result: Result) -> None:
    """Draw the button that saves a timeline, and the link to Perfetto.

    Perfetto opens the file on the reader's own computer.
    """
    left_column, right_column = st.columns((2, 3), vertical_alignment="center")
    name = f"emberpool-{result.scenario.system}-trace.json"
    left_column.download_button(
        "Download the timeline for Perfetto", chrome_trace(result), name, "application/json", on_click="ignore"
    )
    right_column.caption(
        "Open the file in [Perfetto](https://ui.perfetto.dev) with *Open trace file*; the file stays on your computer."
    )


def frame_text(frame: pd.DataFrame) -> str:
    """Return a table as CSV with all digits; text cannot act as a formula in spreadsheets."""
    cells = frame.astype(object).where(frame.notna(), None)
    return csv_table.rows_text(list(frame.columns), cells.itertuples(index=False))


def rows(frame: pd.DataFrame, name: str, label: str, titles: Mapping[str, str] = MappingProxyType({})) -> None:
    """Draw the button that saves a table as CSV; if `titles` are given, only their columns."""
    frame = frame[[*titles]].rename(columns=titles) if titles else frame
    st.download_button(label, frame_text(frame), f"{name}.csv", "text/csv", on_click="ignore", key=f"csv {name}")


def show(
    frame: pd.DataFrame,
    formats: Mapping[str, str] = MappingProxyType({}),
    pinned: str = "",
    labels: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Draw a table to read and sort; a missing value is an empty cell.

    formats: printf formats by column. pinned: the column that stays visible while one scrolls to the side.
    labels: short titles of narrow columns.
    """
    columns: dict[str, Any] = {name: st.column_config.NumberColumn(format=form) for name, form in formats.items()}
    columns |= {name: st.column_config.Column(short_title, width="small") for name, short_title in labels.items()}
    columns |= {pinned: st.column_config.TextColumn(pinned=True)} if pinned else {}
    height: Literal["content", "auto"] = "content" if len(frame) <= MOST_ROWS else "auto"
    table = tables.with_system_titles(frame)
    st.dataframe(table, hide_index=True, width="stretch", height=height, column_config=columns, placeholder="")
