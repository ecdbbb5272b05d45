"""One's own tables, unlike each other: a list that is pasted, uploaded or written, and the press that asks about it."""

from functools import partial

import streamlit as st

from engine.scenario.presets import DEFAULT, preset
from engine.scenario.scenario import Scenario
from pages.embedding_tables import table_editor
from pages.own_data import leading
from pages.own_data.leading import Question

OPEN = "own tables"


def draw(asked: Question, own: Scenario | None) -> None:
    """Draw the editor of tables; it begins with those of one's `own` model, where this can be read."""
    label = "Your tables are unlike? Paste a TorchRec list or rows of a spreadsheet, or write them one by one"
    unfolded = st.expander(label, key=OPEN, on_change="rerun")
    if unfolded.open:
        with unfolded:
            base = own or preset(DEFAULT).scenario
            table_editor.draw("start", base, "Ask about these tables", partial(leading.put, asked, DEFAULT))
