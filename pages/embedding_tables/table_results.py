"""Results by table: bytes, memory, cache hits, and share of the embedding time."""

import pandas as pd
import streamlit as st

from engine.embedding_tables import table_rows
from engine.embedding_tables.table_list import TABLE, USUAL
from engine.results.result import Result
from pages.embedding_tables import table_editor
from pages.ui import downloads
from pages.ui.plain import escape_markdown

FORMATS = {
    "Rows": "localized",
    "Size [GB]": "%.4g",
    "Hit rate [%]": "%.1f",
    "Lookups a batch": "%.0f",
    "Unique rows a batch": "%.0f",
    "Embedding time [ms]": "%.4g",
}


def draw(result: Result) -> None:
    """Draw the finding, the slowest tables, and the CSV file of all tables."""
    rows = table_rows.table_rows(result, table_editor.names(result.scenario))
    if not rows:
        st.caption("This machine cannot run, so no table has a result; change the knob that the answer on top names.")
        return
    st.markdown(f"**{escape_markdown(table_rows.times_finding(rows))}**")
    frame = readable_rows(pd.DataFrame(rows))
    downloads.show(frame, FORMATS, pinned=TABLE)
    st.caption(escape_markdown(table_rows.times_note(result), most=1000))
    downloads.rows(frame, "emberpool-tables", "Download the tables as CSV")


def readable_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of all tables, slowest first, without empty columns."""
    ordered = frame.sort_values("Embedding time [ms]", ascending=False, kind="stable")
    empty = [name for name in ordered.columns if ordered[name].isna().all() or (ordered[name] == "").all()]
    constant_columns = [title for title, usual in USUAL.items() if (ordered[title] == usual).all()]
    return ordered.drop(columns=[*empty, *constant_columns])
