"""The visitor's own tables: a list to paste, upload or write, and a button to ask a question."""

from functools import partial

import streamlit as st

from engine.scenario.presets import DEFAULT, preset
from engine.scenario.scenario import Scenario
from pages.embedding_tables import table_editor
from pages.own_data import leading
from pages.own_data.leading import Question

OPEN = "own tables"


def draw(question: Question, own_scenario: Scenario | None) -> None:
    """Draw the editor of tables; it starts with the tables of `own_scenario` if given."""
    label = "Different tables? Paste a TorchRec list or rows of a spreadsheet, or write the tables one by one"
    unfolded = st.expander(label, key=OPEN, on_change="rerun")
    if unfolded.open:
        with unfolded:
            base = own_scenario or preset(DEFAULT).scenario
            table_editor.draw("start", base, "Ask about these tables", partial(leading.put_question, question, DEFAULT))
