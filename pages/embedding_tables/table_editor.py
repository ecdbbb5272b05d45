"""The editor of a model's tables: a grid to edit, to paste into, and to upload to.

The edited tables are applied all at once, when a button is pressed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from engine.embedding_tables import table_list, table_sizes
from engine.embedding_tables.table_list import COLUMNS, TABLE, TABLES, TITLES, ListRow
from engine.errors import BadInput
from engine.scenario.scenario import KNOBS, PER_TABLE, Scenario, per_table, with_values
from pages.embedding_tables import pasted_tables
from pages.embedding_tables.pasted_tables import PastedTables
from pages.gate import upload_limits
from pages.ui import session
from pages.ui.plain import escape_markdown

NAMES = "names of tables"
MOST_VISIBLE = 12  # rows; the grid scrolls beyond them
ROW_PIXELS = 35
PASTE_HELP = (
    "Paste a list of EmbeddingBagConfig as TorchRec prints it or as JSON, or rows of a spreadsheet or a CSV file. The first "
    f"line of rows names the columns: {', '.join(TITLES)}. Only Rows is required."
)
EXAMPLE = "Table,Rows,Dim,Lookups\nusers,5000000,128,1\nitems,200000,64,20"
TableSettings = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Draft:
    """Tables in the grid that are not applied yet.

    frame: the grid's rows before edits.
    turn: the number of the grid; a new grid has a new number.
    table_settings: table settings of the model that the tables belong to.
    is_brought: whether the tables were pasted or uploaded.
    extra_knobs: further knobs of pasted tables, which the grid does not show.
    notes: notes on pasted tables.
    """

    frame: pd.DataFrame
    turn: int
    table_settings: TableSettings
    is_brought: bool = False
    extra_knobs: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class EditedTables:
    """The result of the edited grid.

    scenario: the scenario with these tables, None if refused.
    names: the tables' names.
    notes: notes on the tables.
    refusal: the sentence that refuses the tables, or "".
    """

    scenario: Scenario | None
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    refusal: str = ""


def draw(page: str, base: Scenario, press: str, apply: Callable[[Scenario], None]) -> None:
    """Draw the editor of a scenario's tables as a fragment of a page.

    When the button `press` is pressed, `apply` is called with the changed scenario in a callback, and the whole page is drawn
    again.
    """
    st.fragment(_draw)(page, base, press, apply)


def _draw(page: str, base: Scenario, press: str, apply: Callable[[Scenario], None]) -> None:
    _draw_sources(page, base)
    if fault := st.session_state.get(_fault_key(page)):
        st.error(escape_markdown(fault, most=1000))
    draft = _draft(page, base)
    _draw_grid(page, draft)
    edited = _edited(page, base)
    if edited.scenario is None:
        st.caption(f":red[{escape_markdown(edited.refusal, most=1000)}]")
    else:
        st.markdown(f"**{escape_markdown(table_sizes.sizes_sentence(edited.scenario))}**")
        for note in (*draft.notes, *edited.notes):
            st.caption(escape_markdown(note, most=1000))
    text = table_list.text_of(edited.scenario.model, edited.names) if edited.scenario else ""
    is_refused = edited.scenario is None
    idle, take = is_refused or (edited.scenario == base and page != "start"), (page, draft.turn, base, apply)
    with st.container(horizontal=True, vertical_alignment="center", key=f"tables-actions-{page}"):
        st.button(press, key=f"apply tables {page}", type="primary", disabled=idle, on_click=_apply, args=take)
        st.button("Restore the model's tables", key=f"reset tables {page}", on_click=_reset, args=(page,))
        save = f"csv tables {page}"
        st.download_button("Download as CSV", text, "tables.csv", "text/csv", on_click="ignore", key=save, disabled=is_refused)


def _draw_sources(page: str, base: Scenario) -> None:
    """Draw the ways to bring tables: a field to paste into, and an upload."""
    left_column, right_column = st.columns((3, 2))
    left_column.text_area(
        "Paste a TorchRec table list, or rows of a spreadsheet",
        key=_paste_key(page),
        height=100,
        placeholder=EXAMPLE,
        help=PASTE_HELP,
        on_change=_take_paste,
        args=(page, base),
    )
    upload_limits.take_uploads()
    right_column.file_uploader(
        "Upload a CSV file of tables",
        type=["csv", "tsv", "txt", "json"],
        max_upload_size=pasted_tables.MOST_MB,
        key=_upload_key(page),
        on_change=_take_upload,
        args=(page, base),
    )


def _draw_grid(page: str, draft: Draft) -> None:
    """Draw the grid; its cells are texts, parsed by the same rules as files."""
    columns: dict[str, Any] = {
        title: st.column_config.TextColumn(
            title, help=KNOBS[path].help, default=_commonest_cell(draft.frame, title), alignment=_alignment(path)
        )
        for title, path in COLUMNS.items()
        if title in draft.frame
    }
    columns[TABLE] = st.column_config.TextColumn(TABLE, default="", help="An optional name. Links do not keep it.")
    columns["_index"] = st.column_config.Column("Row", width="small", disabled=True)
    st.data_editor(
        draft.frame,
        key=_grid_key(page, draft),
        num_rows="dynamic",
        hide_index=False,
        height=ROW_PIXELS * (min(len(draft.frame), MOST_VISIBLE) + 2) + 3,
        column_config=columns,
        alt="Embedding tables, one table a row; rows can be added, deleted and pasted",
    )


def _alignment(path: str) -> Any:
    return "left" if KNOBS[path].kind == "choice" else "right"


def _commonest_cell(frame: pd.DataFrame, title: str) -> str:
    """Return the commonest cell of a column, with which a new row begins."""
    return str(frame[title].mode().iloc[0]) if len(frame) else ""


def _edited(page: str, base: Scenario) -> EditedTables:
    """Return the scenario that the grid's rows make of `base`."""
    draft = _draft(page, base)
    edits: Mapping[str, Any] = st.session_state.get(_grid_key(page, draft)) or {}
    try:
        parsed_list = table_list.table_list(edited_rows(draft.frame, edits), draft.frame.columns)
        changes, notes = table_list.replaced_tables(base, {**draft.extra_knobs, **parsed_list.changes})
        return EditedTables(with_values(base, changes), parsed_list.names, notes)
    except BadInput as error:
        return EditedTables(None, refusal=str(error))


def edited_rows(frame: pd.DataFrame, edits: Mapping[str, Any]) -> list[ListRow]:
    """Return a grid's rows after a visitor's edits, additions and deletions.

    Rows are numbered as the grid shows them.
    """
    rows = frame.to_dict("records")
    for place, cells in edits.get("edited_rows", {}).items():
        rows[int(place)].update(cells)
    deleted_rows = {*map(int, edits.get("deleted_rows", ()))}
    kept_rows = [ListRow(f"Row {place + 1}", row) for place, row in enumerate(rows) if place not in deleted_rows]
    return [*kept_rows, *(ListRow(f"Added row {nth}", cells) for nth, cells in enumerate(edits.get("added_rows", ()), 1))]


def _apply(page: str, turn: int, base: Scenario, apply: Callable[[Scenario], None]) -> None:
    """Take over the grid's scenario, and redraw the page; in a callback.

    Streamlit calls it once more if the run that follows is interrupted: a press on what was drawn in a turn counts once. A paste
    that ends with the press has changed the grid by now.
    """
    if turn == st.session_state.get(_pressed_key(page)):
        return
    edited = _edited(page, base)
    if edited.scenario:
        st.session_state[_pressed_key(page)] = turn
        _reset(page)
        st.session_state[NAMES] = edited.names, _table_settings(edited.scenario)
        apply(edited.scenario)
        session.redraw()


def names(scenario: Scenario) -> tuple[str, ...]:
    """Return the names of a scenario's tables.

    () unless its tables are those that the editor applied last.
    """
    applied, applied_settings = st.session_state.get(NAMES, ((), None))
    return applied if applied_settings == _table_settings(scenario) else ()


def _table_settings(scenario: Scenario) -> TableSettings:
    return tuple(per_table(scenario.model, name) for name in PER_TABLE)


def _draft(page: str, base: Scenario) -> Draft:
    """Return the tables in the grid: brought ones, or those of the model now."""
    draft: Draft | None = st.session_state.get(_draft_key(page))
    settings = _table_settings(base)
    if draft is None or (draft.table_settings != settings and not draft.is_brought):
        turn = st.session_state.get(_turn_key(page), 0)
        draft = st.session_state[_draft_key(page)] = Draft(_frame(base, names(base)), turn, settings)
    return draft


def _frame(scenario: Scenario, called: tuple[str, ...]) -> pd.DataFrame:
    """Return a model's tables as the grid holds them: rows from 1, cells as text."""
    rows = scenario.model.num_tables
    columns = {title: list(map(str, column)) for title, column in table_list.columns_of(scenario.model).items()}
    return pd.DataFrame({TABLE: list(called or ("",) * rows), **columns}, index=pd.RangeIndex(1, rows + 1))


def _reset(page: str) -> None:
    """Restart the grid with the model's tables; only in a callback or before drawing."""
    st.session_state.pop(_draft_key(page), None)
    st.session_state.pop(_fault_key(page), None)
    st.session_state[_turn_key(page)] = st.session_state.get(_turn_key(page), 0) + 1


def _take_paste(page: str, base: Scenario) -> None:
    if text := str(st.session_state.get(_paste_key(page)) or "").strip():
        _take_tables(page, base, text, "")


def _take_upload(page: str, base: Scenario) -> None:
    file = st.session_state.get(_upload_key(page))
    if isinstance(file, UploadedFile):  # and not one that was released before
        _take_tables(page, base, file.getvalue(), file.name)
        upload_limits.release([file])


def _take_tables(page: str, base: Scenario, content: str | bytes, name: str) -> None:
    """Put brought tables into the grid, or show why they are refused."""
    _reset(page)
    try:
        text = content if isinstance(content, str) else pasted_tables.file_text(content, name)
        pasted = pasted_tables.tables_of(text, name)
        model = _changed_model(base, pasted)
    except BadInput as error:
        st.session_state[_fault_key(page)] = str(error)
        return
    extra_knobs = {path: setting for path, setting in pasted.changes.items() if path not in (TABLES, *COLUMNS.values())}
    turn = st.session_state[_turn_key(page)]
    st.session_state[_draft_key(page)] = Draft(
        _frame(model, pasted.names), turn, _table_settings(base), True, extra_knobs, pasted.notes
    )


def _changed_model(base: Scenario, pasted: PastedTables) -> Scenario:
    return with_values(base, table_list.replaced_tables(base, pasted.changes)[0])


def _paste_key(page: str) -> str:
    return f"tables pasted {page}"


def _upload_key(page: str) -> str:
    return f"tables uploaded {page}"


def _grid_key(page: str, draft: Draft) -> str:
    return f"tables {page} {draft.turn}"


def _draft_key(page: str) -> str:
    return f"tables drafted {page}"


def _pressed_key(page: str) -> str:
    return f"pressed tables {page}"


def _turn_key(page: str) -> str:
    return f"tables turn {page}"


def _fault_key(page: str) -> str:
    return f"tables fault {page}"
