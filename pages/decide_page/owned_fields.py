"""The table of parts and servers that the visitor owns, on Start and on Decide; both set `machine.owned_parts`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from engine.core.figures import exact
from engine.core.part_files.lists import OWNED
from engine.errors import BadKnob
from engine.hardware.money.owned import OwnedParts, owned_parts_text, owned_rows, owned_titles
from engine.scenario.knobs import parse
from engine.scenario.scenario import KNOBS
from pages.ui import session
from pages.ui.plain import escape_markdown

OWNED_PARTS = "machine.owned_parts"
COUNT, TITLE = "Count", "Part or server"
REFUSAL = "owned refused"
HELP = (
    "Owned parts cost only their electricity. Beyond these counts, parts are bought. A server has its GPUs, its chassis and a "
    "host with two sockets."
)
Draft = tuple[str, tuple[OwnedParts, ...], int]  # the list that the table's cells mean, its rows before edits, its number


def draw(page: str, refusal: str = "") -> None:
    """Draw the table on a page; `refusal` is the sentence that refuses the list of a link."""
    st.markdown("**I own**", help=HELP)
    _, rows, turn = _draft(page)
    key = _table_key(page, turn)
    titles = list(dict.fromkeys((*owned_titles(), *(row.title for row in rows))))
    with st.container(key="owned"):
        st.data_editor(
            owned_frame(rows),
            key=key,
            hide_index=True,
            num_rows="dynamic",
            placeholder="",
            column_config={
                COUNT: st.column_config.NumberColumn(width=80, step=1),
                TITLE: st.column_config.SelectboxColumn(width=340, options=titles, required=True),
            },
            on_change=_take_rows,
            args=(page, turn, rows),
            alt="Parts and servers that are owned; rows can be added, edited and deleted",
        )
        st.caption("Press the last, empty row to add one. Without a count, as many are owned as are needed.")
    if sentence := refusal or st.session_state.get(REFUSAL, ""):
        st.caption(f":red[{escape_markdown(sentence)}]")


def draw_owned() -> None:
    """Draw what is owned as small print; nothing where nothing is."""
    if rows := owned_rows(session.scenario().machine.owned_parts):
        names = (row.title if row.number is None else f"{exact(row.number)} × {row.title}" for row in rows)
        st.caption(escape_markdown(f"You own {', '.join(names)}."))


def owned_frame(rows: Sequence[OwnedParts]) -> pd.DataFrame:
    """Return the table of owned parts: count and title of each."""
    return pd.DataFrame(
        {COUNT: pd.Series([row.number for row in rows], dtype=float), TITLE: pd.Series([row.title for row in rows], dtype=str)}
    )


def edited_rows(rows: Sequence[OwnedParts], edits: Mapping[str, Any]) -> list[OwnedParts]:
    """Return the rows after a visitor's edits, additions and deletions, without rows that have no title yet."""
    cells: list[dict[str, Any]] = [{COUNT: row.number, TITLE: row.title} for row in rows]
    for place, changes in edits.get("edited_rows", {}).items():
        cells[int(place)].update(changes)
    deleted_rows = {*map(int, edits.get("deleted_rows", ()))}
    kept_rows = [row for place, row in enumerate(cells) if place not in deleted_rows]
    return [*_complete_rows((*kept_rows, *edits.get("added_rows", ())))]


def _complete_rows(cells: Iterable[Mapping[str, Any]]) -> Iterable[OwnedParts]:
    for row in cells:
        if title := row.get(TITLE):
            count = row.get(COUNT)
            yield OwnedParts(str(title), None if count is None else float(count))


def _draft(page: str) -> Draft:
    """Return what a page's table holds: the scenario's owned parts, unless its edited cells mean the same already.

    A table that was not drawn in the last run has lost its edits.
    """
    text = session.scenario().machine.owned_parts
    draft: Draft = st.session_state.get(_draft_key(page), ("", (), 0))
    if draft[0] != text or _table_key(page, draft[2]) not in st.session_state:
        st.session_state.pop(REFUSAL, None)
        draft = st.session_state[_draft_key(page)] = text, owned_rows(text), draft[2] + 1
    return draft


def _take_rows(page: str, turn: int, rows: tuple[OwnedParts, ...]) -> None:
    """Set the owned parts to the edited rows, or say why they are refused; in a callback."""
    edits = st.session_state.get(_table_key(page, turn)) or {}
    st.session_state.pop(REFUSAL, None)
    try:
        text = parse(KNOBS[OWNED_PARTS], owned_parts_text(edited_rows(rows, edits)))
        session.put_knob(OWNED_PARTS, text)
    except BadKnob as error:
        st.session_state[REFUSAL] = str(error)
    else:
        st.session_state[_draft_key(page)] = OWNED.in_force(text), rows, turn


def _draft_key(page: str) -> str:
    return f"owned drafted {page}"


def _table_key(page: str, turn: int) -> str:
    return f"owned {page} {turn}"
