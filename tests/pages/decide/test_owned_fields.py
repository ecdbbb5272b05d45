"""I own, on Start and Decide: does the table set the knob, come back from a link, and go along with the question?"""

from typing import Any

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from engine.hardware.money.owned import OwnedParts
from pages.decide_page import owned_fields
from pages.decide_page.owned_fields import COUNT, TITLE
from pages.start_page import questions
from tests import apps
from tests.apps import text
from tests.cases import each

SERVER, PARTS = "Server with 8 × NVIDIA A100 80 GB", "chassis/gpu-8-sxm:2;gpu/a100-80:16;host/server:2"
DDR, GPU = "DDR5-5600, module of 64 GB", "NVIDIA A100 80 GB"


@each(
    ("edits", "rows"),
    [
        ({}, [(GPU, 4), (DDR, None)]),
        ({"edited_rows": {0: {COUNT: 2}, "1": {COUNT: 16}}}, [(GPU, 2), (DDR, 16)]),
        ({"edited_rows": {0: {TITLE: SERVER, COUNT: None}}, "deleted_rows": [1]}, [(SERVER, None)]),
        (
            {"added_rows": [{}, {COUNT: 3}, {TITLE: SERVER}, {TITLE: SERVER, COUNT: 1}]},
            [(GPU, 4), (DDR, None), (SERVER, None), (SERVER, 1)],
        ),
    ],
)
def test_a_row_counts_once_it_has_a_title(edits, rows):
    assert owned_fields.edited_rows((OwnedParts(GPU, 4), OwnedParts(DDR)), edits) == rows


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the table as drawn last; a button edits it, since AppTest cannot."""
    drawn: dict[str, Any] = {}

    def editor(frame: pd.DataFrame, key: str, on_change: Any, args: Any, column_config: Any, **_: Any) -> None:
        drawn.update(frame=frame, key=key, options=column_config[TITLE]["type_config"]["options"])
        st.button("edit", key="edit owned", on_click=on_change, args=args)

    monkeypatch.setattr(owned_fields.st, "data_editor", editor)
    return drawn


def edit(app: AppTest, tables: dict[str, Any], **edits: Any) -> AppTest:
    """Edit the table as a visitor does."""
    app.session_state[tables["key"]] = edits
    return app.button(key="edit owned").click().run()


def rows(tables: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return the drawn rows: count and title."""
    return [tuple(row) for row in tables["frame"].astype(object).where(tables["frame"].notna(), None).itertuples(index=False)]


def test_a_link_s_parts_show_as_servers_and_edits_set_the_knob_and_undo_takes_them_back(tables):
    app = apps.opened("decide", {"preset": "tiny", "machine.owned_parts": f"{PARTS};ddr5-5600"})
    assert not app.exception and rows(tables) == [(2, SERVER), (None, DDR)] and {SERVER, DDR, GPU} <= {*tables["options"]}
    linked = app.session_state["scenario"].machine.owned_parts
    edit(app, tables, edited_rows={0: {COUNT: 1}}, added_rows=[{TITLE: GPU, COUNT: 4}])
    owned = "chassis/gpu-8-sxm:1;dram/ddr5-5600;gpu/a100-80:12;host/server:1"
    assert app.session_state["scenario"].machine.owned_parts == owned
    assert app.query_params["machine.owned_parts"] in (owned, [owned]) and app.button(key="chip machine.owned_parts")
    app.button(key="undo").click().run()
    assert app.session_state["scenario"].machine.owned_parts == linked and rows(tables) == [(2, SERVER), (None, DDR)]


def test_a_table_keeps_its_edits_while_they_are_the_scenario_s_and_begins_anew_after_that(tables):
    app = apps.opened("decide", {"preset": "tiny"})
    assert rows(tables) == []
    edit(app, tables, added_rows=[{TITLE: GPU, COUNT: 4}])
    drawn = tables["key"]
    assert app.session_state["scenario"].machine.owned_parts == "gpu/a100-80:4" and rows(tables) == []
    edit(app, tables, added_rows=[{TITLE: GPU, COUNT: 4}, {COUNT: 1}])
    assert tables["key"] == drawn, "a row without a title is not lost"
    app.button(key="chip machine.owned_parts").click().run()
    assert app.session_state["scenario"].machine.owned_parts == "" and tables["key"] != drawn and rows(tables) == []
    edit(app, tables, added_rows=[{TITLE: GPU, COUNT: 4}])
    del app.session_state[tables["key"]]  # as Streamlit does with a table that a run does not draw
    app.run()
    assert rows(tables) == [(4, GPU)]


def test_a_count_that_is_none_is_refused_beside_the_table(tables):
    app = apps.opened("decide", {"preset": "tiny"})
    edit(app, tables, added_rows=[{TITLE: GPU, COUNT: 2.5}])
    assert "the number 2.5; write a whole number from 1" in text(app.caption)
    assert app.session_state["scenario"].machine.owned_parts == ""
    edit(app, tables, added_rows=[{TITLE: GPU, COUNT: 2}])
    assert "whole number" not in text(app.caption) and app.session_state["scenario"].machine.owned_parts == "gpu/a100-80:2"


def test_what_is_owned_on_start_goes_along_to_decide(tables):
    app = apps.opened("start", **{questions.OWN_POPOVER: True})
    edit(app, tables, added_rows=[{TITLE: SERVER, COUNT: 2}])
    app.button(key="card dlrm-kaggle").click().run()
    assert not app.exception and app.session_state["scenario"].machine.owned_parts == PARTS
    assert app.session_state["scenario"].model.name == "dlrm-kaggle" and rows(tables) == [(2, SERVER)]
    elsewhere = apps.opened("start", **{questions.OWN_POPOVER: True})
    tables.clear()
    elsewhere.radio(key="question").set_value(1).run()
    assert not tables
