"""Tables with their CSV files, which are safe to open in spreadsheets."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import pandas as pd
import streamlit as st

from engine.results import csv_table
from engine.results.citations import bibtex
from engine.results.perfetto import chrome_trace
from engine.results.result import Result
from engine.scenario.keys import Fidelity
from engine.scenario.scenario import Scenario
from pages.ui import tables

MOST_ROWS = 30
AT_ONCE = 50


def csv(results: Sequence[Result], run_kind: Fidelity, name: str, label: str = "Download CSV") -> None:
    """Draw the button that saves results as CSV, a row for each result.

    A row has knobs, results, key, model version, constants in use, and outcome. A file of many rows is written when the visitor
    asks for it, since thousands of rows take seconds; a short file is written at once.
    """
    all_results = tuple(results)
    csv_text: Any = partial(csv_table.csv_text, all_results, run_kind)
    st.download_button(
        label,
        csv_text if len(all_results) > AT_ONCE else csv_text(),
        f"{name}.csv",
        "text/csv",
        on_click="ignore",
        key=f"csv {name}",
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
    """Draw a table to read and sort.

    formats: printf formats by column. pinned: the column that stays visible while one scrolls to the side.
    labels: short titles of narrow columns.
    """
    columns: dict[str, Any] = {name: st.column_config.NumberColumn(format=form) for name, form in formats.items()}
    columns |= {name: st.column_config.Column(short_title, width="small") for name, short_title in labels.items()}
    columns |= {pinned: st.column_config.TextColumn(pinned=True)} if pinned else {}
    height: Literal["content", "auto"] = "content" if len(frame) <= MOST_ROWS else "auto"
    st.dataframe(tables.with_system_titles(frame), hide_index=True, width="stretch", height=height, column_config=columns)
