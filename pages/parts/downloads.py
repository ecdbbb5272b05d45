"""Tables with their CSV file beside them; the file is written by the engine, safe to open in a spreadsheet."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from engine import table
from engine.keys import How
from engine.result import Result

MOST_ROWS = 30


def csv(results: Sequence[Result], how: How, name: str, label: str = "Download CSV") -> None:
    """Draw the button that saves results, one row each: knobs, results, key, model version, outcome."""
    st.download_button(label, table.csv_text(results, how), f"{name}.csv", "text/csv", on_click="ignore", key=f"csv {name}")


def show(frame: pd.DataFrame) -> None:
    """Draw a table to read and sort."""
    st.dataframe(frame, hide_index=True, width="stretch", height="content" if len(frame) <= MOST_ROWS else "auto")
