"""The bill of Decide's machine, with a column for the visitor's own prices."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from engine.analysis.verdict.decide import SystemRow
from engine.analysis.verdict.report.bill import part_name
from engine.core import catalog
from engine.core.constants import Constant
from engine.core.figures import cents, figure
from engine.errors import BadKnob
from engine.hardware.money.bill import BillItem
from engine.hardware.money.piece_quotes import piece_quote, with_piece_quote
from engine.hardware.money.quality import UNSOURCED
from engine.hardware.money.quotes import QUOTED
from engine.insight.running_costs import price_unit
from pages.ui import downloads, session
from pages.ui.plain import escape_markdown

QUOTES = "machine.quotes"
PIECE_PRICE, PAID, YOUR_PRICE = "USD each", "USD", "Your price [USD]"
SHOWN_ROW, TABLE, REFUSAL = "bill of", "bill drawn", "bill refused"
HELP = (
    "Type the price that you were quoted for one piece. It replaces the catalogue's price in every machine that has the part. "
    "An empty cell restores the catalogue's price."
)
WAITING = "All machines are being compared again at your prices; this is the bill of the answer before."


def has_bill(row: SystemRow | None) -> bool:
    """Return whether there is a bill to draw: of the answer's machine, or of the answer before."""
    return row is not None or st.session_state.get(SHOWN_ROW) is not None


def draw(row: SystemRow | None) -> None:
    """Draw the bill of the answer's machine; without an answer so far, that of the answer before."""
    is_current = row is not None
    row = st.session_state[SHOWN_ROW] = row or st.session_state.get(SHOWN_ROW)
    if row is None or row.scenario is None:
        return
    lines = bill_lines(row)
    frame = bill_frame(lines, session.scenario().machine.quotes)
    key = _table_key(frame)
    columns: dict[str, Any] = {name: st.column_config.NumberColumn(format="%,.2f") for name in (PIECE_PRICE, PAID)}
    columns |= {"Part": st.column_config.TextColumn(width=300), "Of year": st.column_config.NumberColumn(format="%d")}
    columns[YOUR_PRICE] = st.column_config.NumberColumn(help=HELP)
    with st.container(key="bill"):
        st.data_editor(
            frame,
            key=key,
            hide_index=True,
            num_rows="fixed",
            placeholder="",
            disabled=[name for name in frame if name != YOUR_PRICE],
            column_config=columns,
            on_change=_take_prices,
            args=(key, lines),
            alt="The parts of the machine and their prices; the column Your price can be edited",
        )
        if refusal := st.session_state.get(REFUSAL):
            st.caption(f":red[{escape_markdown(refusal)}]")
        st.caption(escape_markdown(sum_sentence(row) if is_current else WAITING))
        downloads.rows(frame, "emberpool-bill", "Download the bill as CSV")


def forget() -> None:
    """Show no earlier bill any more."""
    st.session_state.pop(SHOWN_ROW, None)


def bill_lines(row: SystemRow) -> tuple[BillItem, ...]:
    """Return the lines of a row's bill."""
    return tuple(line for line in row.bill if line.count)


def bill_frame(lines: Sequence[BillItem], quotes: str) -> pd.DataFrame:
    """Return the table of a bill; "USD each" is the price in force, "Your price" the quote of a piece.

    quotes: the quotes as `machine.quotes` lists them.
    """
    return pd.DataFrame(
        {
            "Part": [part_title(line) for line in lines],
            "Count": [line.count for line in lines],
            "Owned": [line.owned for line in lines],
            PIECE_PRICE: pd.Series([line.each for line in lines], dtype=float),
            YOUR_PRICE: pd.Series([piece_quote(quotes, line) for line in lines], dtype=float),
            PAID: pd.Series([line.usd for line in lines], dtype=float),
            "Low to high [USD each]": [_range_text(line) for line in lines],
            "Of year": pd.Series([(line.price.year if line.price else 0) or None for line in lines], dtype=float),
            "Source": [source_of(line.price) for line in lines],
        }
    )


def part_title(line: BillItem) -> str:
    """Return a part's size, its title in the catalogue, and the name that a quote uses."""
    try:
        title = str(catalog.part_content(line.kind, line.part)["title"])
    except KeyError:  # a part without a file, such as remote storage
        return line.part
    return " ".join(filter(None, (line.size, title, f"({part_name(line)})")))


def source_of(price: Constant | None) -> str:
    """Return the source of a price, and whether it has none, is the visitor's own, or is of a used part."""
    if price is None:
        return "no published price"
    if price.source == QUOTED:
        return QUOTED
    unsourced = "without a source: " if price.confidence == UNSOURCED else ""
    return f"{'used; ' * price.used}{unsourced}{price.source}"


def _range_text(line: BillItem) -> str:
    if line.price is None or line.price.low == line.price.high:
        return ""
    return f"{figure(line.units * line.price.low)} to {figure(line.units * line.price.high)}"


def sum_sentence(row: SystemRow) -> str:
    """Return a sentence on the sum of a row's bill, to the cent."""
    unpriced = [line.part for line in row.bill if line.usd is None]
    if row.capital is None or row.scenario is None:
        return f"The bill has no sum: {', '.join(unpriced)} has no published price. Type yours."
    owned = " Parts that you own cost nothing." if any(line.owned for line in row.bill) else ""
    return f"The sum is {cents(row.capital)} {price_unit(row.scenario)}, the price in the answer.{owned}"


def edited_quotes(quotes: str, lines: Sequence[BillItem], edits: Mapping[Any, Mapping[str, Any]]) -> str:
    """Return quotes after a visitor's edits of a bill; raises BadKnob for a price that is none.

    edits: the edited cells by row, as Streamlit's table has them.
    """
    for place, cells in edits.items():
        if YOUR_PRICE in cells:
            usd = cells[YOUR_PRICE]
            quotes = with_piece_quote(quotes, lines[int(place)], None if usd is None else float(usd))
    return quotes


def _take_prices(key: str, lines: Sequence[BillItem]) -> None:
    """Set the quotes to the edited prices, or say why they are refused; in a callback."""
    edits = (st.session_state.get(key) or {}).get("edited_rows", {})
    st.session_state.pop(REFUSAL, None)
    try:
        session.put_knob(QUOTES, edited_quotes(session.scenario().machine.quotes, lines, edits))
    except BadKnob as error:
        st.session_state[REFUSAL] = str(error)
        _, turn = st.session_state[TABLE]
        st.session_state[TABLE] = None, turn


def _table_key(frame: pd.DataFrame) -> str:
    """Return the key of the table: a changed bill, or one after a refused price, begins without edits."""
    last_frame, turn = st.session_state.get(TABLE, (None, 0))
    if last_frame is None or not frame.equals(last_frame):
        turn += 1
        st.session_state[TABLE] = frame, turn
    return f"bill {turn}"
