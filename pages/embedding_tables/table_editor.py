"""The editor of a model's tables: a grid to change, paste into and upload to; nothing is applied until one press takes it all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import streamlit as st

from engine.embedding_tables import table_list, table_sizes
from engine.embedding_tables.table_list import COLUMNS, TABLE, TABLES, TITLES, WrittenRow
from engine.errors import BadInput
from engine.scenario.scenario import KNOBS, PER_TABLE, Scenario, per_table, with_values
from pages.embedding_tables import pasted_tables
from pages.embedding_tables.pasted_tables import PastedTables
from pages.ui import session
from pages.ui.plain import plain

NAMES = "names of tables"
MOST_VISIBLE = 12  # rows; of more the grid scrolls
ROW_PIXELS = 35
PASTE_HELP = (
    "A list of EmbeddingBagConfig as TorchRec prints it or as JSON, or rows copied from a spreadsheet or a CSV file. Their first "
    f"line names the columns: {', '.join(TITLES)}. All but Rows can be left out."
)
EXAMPLE = "Table,Rows,Dim,Lookups\nusers,5000000,128,1\nitems,200000,64,20"
Own = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Draft:
    """Tables that are not applied yet: the grid's rows as it began, which turn of the grid, and the model that they are of.

    `brought` says that they were pasted or uploaded, with `more` knobs than the grid shows and `notes` on them.
    """

    frame: pd.DataFrame
    turn: int
    own: Own
    brought: bool = False
    more: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class EditedTables:
    """The scenario that the grid makes, with the tables' names and notes on what follows; or the sentence that refuses it."""

    scenario: Scenario | None
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    refusal: str = ""


def draw(here: str, base: Scenario, press: str, apply: Callable[[Scenario], None]) -> None:
    """Draw the editor of a scenario's tables on the page `here`, in a part of the page that is drawn again alone.

    `apply` takes the changed scenario, in a callback, when `press` is pressed; all of the page is drawn anew then.
    """
    st.fragment(_draw)(here, base, press, apply)


def _draw(here: str, base: Scenario, press: str, apply: Callable[[Scenario], None]) -> None:
    _draw_sources(here, base)
    if fault := st.session_state.get(_fault(here)):
        st.error(plain(fault, most=1000))
    draft = _draft(here, base)
    _draw_grid(here, draft)
    edited = _edited(here, base)
    if edited.scenario is None:
        st.caption(f":red[{plain(edited.refusal, most=1000)}]")
    else:
        st.markdown(f"**{plain(table_sizes.sentence(edited.scenario))}**")
        for note in (*draft.notes, *edited.notes):
            st.caption(plain(note, most=1000))
    text = table_list.text_of(edited.scenario.model, edited.names) if edited.scenario else ""
    bad = edited.scenario is None
    idle, take = bad or (edited.scenario == base and here != "start"), (here, draft.turn, base, apply)
    with st.container(horizontal=True, vertical_alignment="center", key=f"tables-actions-{here}"):
        st.button(press, key=f"apply tables {here}", type="primary", disabled=idle, on_click=_apply, args=take)
        st.button("Back to the model's tables", key=f"reset tables {here}", on_click=_reset, args=(here,))
        save = f"csv tables {here}"
        st.download_button("Download as CSV", text, "tables.csv", "text/csv", on_click="ignore", key=save, disabled=bad)


def _draw_sources(here: str, base: Scenario) -> None:
    """Draw the ways to bring tables: a field to paste into, and an upload."""
    left, right = st.columns((3, 2))
    left.text_area(
        "Paste a TorchRec table list, or rows of a spreadsheet",
        key=_paste(here),
        height=100,
        placeholder=EXAMPLE,
        help=PASTE_HELP,
        on_change=_take_paste,
        args=(here, base),
    )
    right.file_uploader(
        "Upload a CSV file of tables",
        type=["csv", "tsv", "txt", "json"],
        key=_upload(here),
        on_change=_take_upload,
        args=(here, base),
    )


def _draw_grid(here: str, draft: Draft) -> None:
    """Draw the grid; its cells are texts, which are read by the same rules as files."""
    columns: dict[str, Any] = {
        title: st.column_config.TextColumn(
            title, help=KNOBS[path].help, default=_usual(draft.frame, title), alignment=_alignment(path)
        )
        for title, path in COLUMNS.items()
        if title in draft.frame
    }
    columns[TABLE] = st.column_config.TextColumn(TABLE, default="", help="A name, or nothing. Links do not carry it.")
    columns["_index"] = st.column_config.Column("Row", width="small", disabled=True)
    st.data_editor(
        draft.frame,
        key=_grid(here, draft),
        num_rows="dynamic",
        hide_index=False,
        height=ROW_PIXELS * (min(len(draft.frame), MOST_VISIBLE) + 2) + 3,
        column_config=columns,
        alt="Embedding tables, a row each; rows can be added, deleted and pasted",
    )


def _alignment(path: str) -> Any:
    return "left" if KNOBS[path].kind == "choice" else "right"


def _usual(frame: pd.DataFrame, title: str) -> str:
    """Return the commonest cell of a column, with which a new row begins."""
    return str(frame[title].mode().iloc[0]) if len(frame) else ""


def _edited(here: str, base: Scenario) -> EditedTables:
    """Return what the grid's rows make of a scenario."""
    draft = _draft(here, base)
    edits: Mapping[str, Any] = st.session_state.get(_grid(here, draft)) or {}
    try:
        listed = table_list.table_list(edited_rows(draft.frame, edits), draft.frame.columns)
        changes, notes = table_list.fitted(base, {**draft.more, **listed.changes})
        return EditedTables(with_values(base, changes), listed.names, notes)
    except BadInput as error:
        return EditedTables(None, refusal=str(error))


def edited_rows(frame: pd.DataFrame, edits: Mapping[str, Any]) -> list[WrittenRow]:
    """Return a grid's rows with what a visitor has changed, added and deleted, each by the number that the grid shows."""
    rows = frame.to_dict("records")
    for place, cells in edits.get("edited_rows", {}).items():
        rows[int(place)].update(cells)
    gone = {*map(int, edits.get("deleted_rows", ()))}
    kept = [WrittenRow(f"Row {place + 1}", row) for place, row in enumerate(rows) if place not in gone]
    return [*kept, *(WrittenRow(f"Added row {nth}", cells) for nth, cells in enumerate(edits.get("added_rows", ()), 1))]


def _apply(here: str, turn: int, base: Scenario, apply: Callable[[Scenario], None]) -> None:
    """Take over the scenario of the grid, and draw all of the page; in a callback.

    Streamlit calls it once more if the run that follows is interrupted: a press on what was drawn in a turn counts once. A paste
    that ends with the press has changed the grid by now.
    """
    if turn == st.session_state.get(_pressed(here)):
        return
    edited = _edited(here, base)
    if edited.scenario:
        st.session_state[_pressed(here)] = turn
        _reset(here)
        st.session_state[NAMES] = edited.names, _own(edited.scenario)
        apply(edited.scenario)
        session.redraw()


def names(scenario: Scenario) -> tuple[str, ...]:
    """Return the names of a scenario's tables, () unless they are those that were applied last."""
    applied, own = st.session_state.get(NAMES, ((), None))
    return applied if own == _own(scenario) else ()


def _own(scenario: Scenario) -> Own:
    return tuple(per_table(scenario.model, name) for name in PER_TABLE)


def _draft(here: str, base: Scenario) -> Draft:
    """Return the tables in the grid: what was brought, or else those of the model as it is now."""
    held: Draft | None = st.session_state.get(_drafted(here))
    own = _own(base)
    if held is None or (held.own != own and not held.brought):
        turn = st.session_state.get(_turn(here), 0)
        held = st.session_state[_drafted(here)] = Draft(_frame(base, names(base)), turn, own)
    return held


def _frame(scenario: Scenario, called: tuple[str, ...]) -> pd.DataFrame:
    """Return a model's tables as the grid holds them: a row each, counted from 1, all cells texts."""
    rows = scenario.model.num_tables
    columns = {title: list(map(str, column)) for title, column in table_list.columns_of(scenario.model).items()}
    return pd.DataFrame({TABLE: list(called or ("",) * rows), **columns}, index=pd.RangeIndex(1, rows + 1))


def _reset(here: str) -> None:
    """Let the grid begin anew with the model's tables; only in a callback or before it is drawn."""
    st.session_state.pop(_drafted(here), None)
    st.session_state.pop(_fault(here), None)
    st.session_state[_turn(here)] = st.session_state.get(_turn(here), 0) + 1


def _take_paste(here: str, base: Scenario) -> None:
    if text := str(st.session_state.get(_paste(here)) or "").strip():
        _take(here, base, text, "")


def _take_upload(here: str, base: Scenario) -> None:
    if file := st.session_state.get(_upload(here)):
        _take(here, base, file.getvalue(), file.name)


def _take(here: str, base: Scenario, content: str | bytes, name: str) -> None:
    """Put brought tables into the grid, or say why they cannot be."""
    _reset(here)
    try:
        text = content if isinstance(content, str) else pasted_tables.file_text(content, name)
        pasted = pasted_tables.tables_of(text, name)
        model = _made(base, pasted)
    except BadInput as error:
        st.session_state[_fault(here)] = str(error)
        return
    more = {path: value for path, value in pasted.changes.items() if path not in (TABLES, *COLUMNS.values())}
    turn = st.session_state[_turn(here)]
    st.session_state[_drafted(here)] = Draft(_frame(model, pasted.names), turn, _own(base), True, more, pasted.notes)


def _made(base: Scenario, pasted: PastedTables) -> Scenario:
    return with_values(base, table_list.fitted(base, pasted.changes)[0])


def _paste(here: str) -> str:
    return f"tables pasted {here}"


def _upload(here: str) -> str:
    return f"tables uploaded {here}"


def _grid(here: str, draft: Draft) -> str:
    return f"tables {here} {draft.turn}"


def _drafted(here: str) -> str:
    return f"tables drafted {here}"


def _pressed(here: str) -> str:
    return f"pressed tables {here}"


def _turn(here: str) -> str:
    return f"tables turn {here}"


def _fault(here: str) -> str:
    return f"tables fault {here}"
