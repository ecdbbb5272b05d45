"""The bill of Decide: does it sum to the price, and is a typed price a quote in knob, link, chip, undo and verdict?"""

from dataclasses import replace
from io import StringIO
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from engine.analysis.verdict.decide import Verdict, verdicts
from engine.core.constants import Constant
from engine.core.part_files.lists import read_entries
from engine.errors import BadKnob
from engine.hardware.money.bill import BillItem
from engine.scenario.scenario import with_values
from pages.answers import later
from pages.decide_page import bill_panel, questions
from pages.decide_page.bill_panel import PAID, PIECE_PRICE, YOUR_PRICE
from pages.ui import downloads
from tests import apps
from tests.analysis.verdict.test_decide import FEW, model, question
from tests.apps import text

OWNED = {"machine.owned_parts": "dram/ddr5-4800:4;host/amx-2023:1", "faults.power_loss_mtbf_hours": 24.0}
QUERY = {"preset": "tiny", "parts": FEW, "software": "lean"}


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    return next(verdicts(question(with_values(model(), OWNED)), ("all-hbm", "cpu-gpu", "cxl")))


def test_each_bill_sums_to_its_row_s_price_to_the_cent(verdict: Verdict) -> None:
    rows = [row for row in verdict.rows if row.capital is not None]
    assert len(rows) == 3 and any(item.owned for row in rows for item in row.bill)
    for row in rows:
        frame = bill_panel.bill_frame(bill_panel.bill_lines(row), "")
        assert row.capital and round(((frame["Count"] - frame["Owned"]) * frame[PIECE_PRICE]).sum(), 2) == round(row.capital, 2)
        assert round(frame[PAID].sum(), 2) == round(row.capital, 2)
        assert f"The sum is {row.capital:,.2f} USD (2026), the price in the answer." in bill_panel.sum_sentence(row)
        saved = pd.read_csv(StringIO(downloads.frame_text(frame)))
        assert list(saved["Part"]) == list(frame["Part"]) and saved[PAID].sum() == pytest.approx(row.capital, rel=1e-12)


def test_a_line_names_part_range_year_and_where_its_price_is_from(verdict: Verdict) -> None:
    row = next(row for row in verdict.rows if row.system == "all-hbm")
    items = bill_panel.bill_lines(row)
    dram = next(place for place, item in enumerate(items) if item.kind == "dram")
    frame = bill_panel.bill_frame(items, f"dram/ddr5-4800:{900 / items[dram].units!r};gpu/h200:1")
    line = frame.iloc[dram]
    assert line["Part"] == f"{items[dram].size} DDR5-4800 (dram/ddr5-4800)"
    assert line[YOUR_PRICE] == 900 and frame[YOUR_PRICE].notna().sum() == 1
    price = items[dram].price
    assert price and line["Of year"] == price.year and " to " in line["Low to high [USD each]"]
    for item, source in zip(items, frame["Source"], strict=True):
        assert item.price and source.startswith("without a source: ") == (item.price.confidence == "unsourced")
        assert source.endswith(item.price.source)
    quoted = Constant("p", 5, "USD", 5, 5, "stated", "your quote", year=2026)
    assert bill_panel.source_of(quoted) == "your quote" and bill_panel.source_of(None) == "no published price"
    used = replace(quoted, source="resellers", confidence="unsourced", used=True)
    assert bill_panel.source_of(used) == "used; without a source: resellers"
    assert bill_panel.part_title(BillItem("store", "remote storage", 1, None)) == "remote storage"


def test_edits_join_other_quotes_and_an_empty_cell_removes_one(verdict: Verdict) -> None:
    items = bill_panel.bill_lines(next(row for row in verdict.rows if row.system == "all-hbm"))
    gpu = next(place for place, item in enumerate(items) if item.kind == "gpu")
    quotes = bill_panel.edited_quotes("gpu/h200:31000", items, {str(gpu): {YOUR_PRICE: 20000}})
    assert quotes == "gpu/h200:31000;gpu/h100-pcie:20000"
    assert bill_panel.edited_quotes(quotes, items, {gpu: {YOUR_PRICE: None}}) == "gpu/h200:31000"
    assert bill_panel.edited_quotes(quotes, items, {gpu: {}}) == quotes
    with pytest.raises(BadKnob, match=r"-5\.0 USD is not a price of h100-pcie; write USD from 0 to"):
        bill_panel.edited_quotes(quotes, items, {gpu: {YOUR_PRICE: -5}})


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """Return Decide with an answer; its bill is edited by a button, since AppTest cannot edit tables."""

    def editor(frame: pd.DataFrame, key: str, on_change: Any, args: Any, **_: Any) -> None:
        if YOUR_PRICE in frame:  # not what is owned
            st.session_state["table"] = key, frame
            st.button("edit", key="edit bill", on_click=on_change, args=args)

    monkeypatch.setattr(bill_panel.st, "data_editor", editor)
    monkeypatch.setattr(later, "_futures", type(later._futures)())
    monkeypatch.setattr(questions, "first_verdict", lambda question: next(verdicts(question, ("all-hbm", "cxl"))))
    monkeypatch.setattr(questions, "whole_verdict", lambda question: next(verdicts(question, ("all-hbm", "cxl"))))
    monkeypatch.setattr(questions, "popularity_cases_of", lambda verdict: ())
    return answered(apps.opened("decide", QUERY))


def answered(app: AppTest) -> AppTest:
    """Return the page once its answer is known."""
    apps.ANSWERS.found()
    return app.run()


def table(app: AppTest) -> pd.DataFrame:
    """Return the bill that the page shows."""
    return app.session_state["table"][1]


def type_price(app: AppTest, kind: str, usd: float | None) -> AppTest:
    """Type a price into the bill's line of a kind of part."""
    key, frame = app.session_state["table"]
    (place,) = [number for number, part in enumerate(frame["Part"]) if f"({kind}/" in part]
    app.session_state[key] = {"edited_rows": {place: {YOUR_PRICE: usd}}}
    return app.button(key="edit bill").click().run()


def price(app: AppTest) -> float:
    """Return the price in the sentence below the bill."""
    (line,) = [one.value for one in app.caption if one.value.startswith("The sum is")]
    return float(line.split()[3].replace(",", ""))


def test_a_typed_price_is_a_quote_everywhere_and_undo_takes_it_back(app: AppTest) -> None:
    before = price(app)
    (each,) = table(app)[PIECE_PRICE][table(app)["Part"].str.contains("(gpu/", regex=False)]
    type_price(app, "gpu", each + 1000.25)
    assert not app.exception and bill_panel.WAITING in text(app.caption), "the bill stays while all is compared again"
    answered(app)
    quotes = app.session_state["scenario"].machine.quotes
    assert quotes == f"gpu/h100-pcie:{each + 1000.25!r}" and app.query_params["machine.quotes"] in (quotes, [quotes])
    assert app.button(key="chip machine.quotes")
    (line,) = table(app).index[table(app)["Part"].str.contains("(gpu/", regex=False)]
    assert table(app)[YOUR_PRICE][line] == table(app)[PIECE_PRICE][line] == each + 1000.25
    assert table(app)["Source"][line] == "your quote"
    assert price(app) == pytest.approx(before + 1000.25 * table(app)["Count"][line])
    type_price(app, "dram", 900.0)
    answered(app)
    assert {entry.kind for entry in read_entries(app.session_state["scenario"].machine.quotes)} == {"gpu", "dram"}
    assert 900.0 in set(table(app)[YOUR_PRICE])
    app.button(key="undo").click().run()
    answered(app)
    assert app.session_state["scenario"].machine.quotes == "", "successive moves of one knob are one step"
    assert table(app)[YOUR_PRICE].isna().all()
    type_price(app, "gpu", 5.0)
    answered(app)
    assert app.session_state["scenario"].machine.quotes == "gpu/h100-pcie:5"
    type_price(app, "gpu", None)
    answered(app)
    assert app.session_state["scenario"].machine.quotes == "" and price(app) == before
    assert "machine.quotes" not in app.query_params and table(app)[YOUR_PRICE].isna().all()


def test_a_bad_price_is_refused_in_a_sentence_and_changes_nothing(app: AppTest) -> None:
    key, _ = app.session_state["table"]
    type_price(app, "gpu", -3.0)
    assert "-3.0 USD is not a price of h100-pcie" in text(app.caption) and app.session_state["scenario"].machine.quotes == ""
    assert app.session_state["table"][0] != key, "the cell is empty again"
    type_price(app, "gpu", 3.0)
    assert "is not a price" not in text(app.caption) and app.session_state["scenario"].machine.quotes == "gpu/h100-pcie:3"


def test_a_refused_question_shows_no_bill_of_another(app: AppTest) -> None:
    app.text_input(key="decide budget").set_value("none at all").run()
    assert "No verdict" in text(app.header) and not [one for one in app.button if one.key == "edit bill"]
