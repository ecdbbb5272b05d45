"""A table without a description: its first rows, guesses for its columns, the accepted mapping."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from engine.core.figures import count
from engine.errors import BadFile
from engine.insight.fitting.description import ColumnDescription, FileDescription, describe_first_block, mapping_of, try_mapping
from engine.workload.readers import mapping
from engine.workload.readers.dialects import TEXT, Dialect
from engine.workload.readers.digest_check import digest_check
from engine.workload.readers.mapping_text import has_label
from engine.workload.readers.records import LITERAL, MULTILINE, QUOTED
from pages.answers import data_file, later
from pages.answers.data_file import DataFile
from pages.data_page import uploads
from pages.gate import access
from pages.ui.plain import escape_markdown

COLUMN, MEANING, RULE_COLUMN, VALUES = "Column", "Means", "How", "First values"
MEANINGS = {
    "label": "label",
    "id": "id",
    "list": "list of ids",
    "user": "user of a history",
    "event": "event of a history",
    "number": "number",
    "time": "time",
    "text": "left out",
    "constant": "left out",
}
ROLES = {meaning: role for role, meaning in MEANINGS.items() if role != "constant"}
EVENT_ROLES = ("list", "event")  # whose cells may have several ids
TIP = (
    "For a label: the condition of a click, such as >= 4 or == 'buy'; empty for 0 and 1. For a list: the mark between its ids. "
    "For a time: its format, such as %d/%m/%Y, if a day could be read as a month."
)
QUOTE_MEANINGS = {
    QUOTED: "surround a cell that ends in the same line",
    LITERAL: "are ordinary characters",
    MULTILINE: "surround a cell that may have several lines",
}
ACCEPTED, BARE_DIGESTS = "mappings of uploads", "uploads without their mappings"  # texts, and bare digests, by digest
FAULT = "mapping fault"


def first_look(path: str, digest: str) -> FileDescription:
    """Return a description of the first rows of the file with this digest; raises BadFile."""
    with digest_check(Path(path), digest):
        return describe_first_block(Path(path))


def draw(file: DataFile, accepted: Callable[[], None]) -> None:
    """Draw a table's first rows, the guess for each column, and a button to accept the guesses.

    `accepted` is called once the guesses are accepted. Raises BadFile.
    """
    with data_file.refusals(file):
        description = later.cached_result(first_look, str(file.path), file.digest)
    _draw_fault()
    st.markdown(
        f"**{escape_markdown(description.name)}** is a table whose columns have no description. These are its first rows:"
    )
    names = [column.name for column in description.columns]
    st.dataframe(pd.DataFrame(description.rows, columns=names), key="first rows", hide_index=True)
    st.markdown("This is a guess of the meaning of its columns. Correct the guess, then accept it.")
    for note in description.notes:
        st.caption(escape_markdown(note))
    columns = _draw_guess(description, file.digest)
    text = mapping_of(columns, _draw_dialect(description, file.digest))
    fault = _mapping_fault(file, columns, text)
    if fault:
        st.warning(escape_markdown(fault))
    elif not has_label(text):
        st.caption("No column is the label (0 or 1): lookups can be counted and fitted, but no run can train on this file.")
    with st.container(horizontal=True, vertical_alignment="center"):
        if _may_write(file):
            label, refused = "Accept, and read the file", bool(fault)
            st.button(label, key="accept guess", type="primary", on_click=_accept, args=(file, text, accepted), disabled=refused)
            st.caption(_place_sentence(file), width="content")
        else:
            st.caption(
                f"{access.TOKEN_HINT} Without it, save the lines below as {escape_markdown(description.name)}.toml "
                "beside the file."
            )
    with st.expander("The mapping", expanded=not _may_write(file)):
        st.code(text, language="toml")


def _mapping_fault(file: DataFile, columns: Sequence[ColumnDescription], text: str) -> str:
    """Return why a mapping cannot be used, "" where the first rows can be read."""
    meanings = [column.guess for column in columns]
    if not {"id", "list", "event"} & set(meanings):
        return "No column has ids, which the embedding tables need; choose id or list of ids for at least one column."
    for meaning in ("label", "time", "user"):
        if meanings.count(meaning) > 1:
            return (
                f"{count(meanings.count(meaning), 'column has', 'columns have')} the meaning "
                f"{MEANINGS[meaning]}; choose only one column."
            )
    marks = sorted({column.separator for column in columns if column.guess in EVENT_ROLES and column.separator})
    if len(marks) > 1:
        return (
            f"The lists have different marks between ids, {' and '.join(map(repr, marks))}, but a mapping has one mark; "
            "leave a column out."
        )
    try:
        later.cached_result(_try_mapping, str(file.path), file.digest, text)
    except BadFile as error:
        return str(error)
    return ""


def _try_mapping(path: str, digest: str, text: str) -> bool:
    """Read the first rows of the file of this digest by a mapping; raises BadFile."""
    try_mapping(path, text)
    return True


def _draw_guess(description: FileDescription, digest: str) -> list[ColumnDescription]:
    """Draw the guess of each column, and return it with the visitor's changes."""
    table = pd.DataFrame(
        {
            COLUMN: [column.name for column in description.columns],
            MEANING: [MEANINGS[column.guess] for column in description.columns],
            RULE_COLUMN: [column.rule or column.separator for column in description.columns],
            VALUES: [", ".join(column.examples) for column in description.columns],
        }
    )
    config: Mapping[str, Any] = {
        COLUMN: st.column_config.TextColumn(disabled=True),
        MEANING: st.column_config.SelectboxColumn(options=list(ROLES), required=True),
        RULE_COLUMN: st.column_config.TextColumn(help=TIP),
        VALUES: st.column_config.TextColumn(disabled=True),
    }
    edited = st.data_editor(table, key=f"guess {digest}", hide_index=True, column_config=config, num_rows="fixed")
    return [
        _as_edited(column, ROLES[meaning], rule or "")
        for column, meaning, rule in zip(description.columns, edited[MEANING], edited[RULE_COLUMN], strict=True)
    ]


def _draw_dialect(description: FileDescription, digest: str) -> Dialect:
    """Return the table's dialect, in a text with the visitor's choice of quotation marks."""
    assert description.dialect is not None
    if description.dialect.format != TEXT:
        return description.dialect
    quotes = st.selectbox(
        "Quotation marks",
        list(QUOTE_MEANINGS),
        index=list(QUOTE_MEANINGS).index(description.dialect.quotes),
        format_func=QUOTE_MEANINGS.__getitem__,
        key=f"marks {digest}",
        help="The meaning of a quotation mark at the start of a cell in this file.",
    )
    return replace(description.dialect, quotes=quotes)


def _as_edited(column: ColumnDescription, role: str, rule: str) -> ColumnDescription:
    """Return a column with the meaning that the visitor gave it."""
    separator = rule if role in EVENT_ROLES else ""
    return replace(column, guess=role, separator=separator, rule=rule if role in ("label", "time") else "")


def _may_write(file: DataFile) -> bool:
    """Whether this visitor may describe a file: an own upload, or with the token."""
    return file.origin == data_file.UPLOADED or access.is_trusted()


def _place_sentence(file: DataFile) -> str:
    if file.origin == data_file.UPLOADED:
        return "The server stores the mapping with your upload."
    return f"The mapping goes to {escape_markdown(file.path.name)}.toml beside the file, or to this server if that fails."


def _accept(file: DataFile, text: str, accepted: Callable[[], None]) -> None:
    """Keep a mapping, and say that it was accepted; only in a callback."""
    if file.origin == data_file.UPLOADED:
        st.session_state[ACCEPTED] = {**st.session_state.get(ACCEPTED, {}), file.digest: text}
        accepted()
        return
    try:
        if data_file.register(file.path, file.origin).digest != file.digest:
            raise BadFile(f"{file.path.name} has changed since its rows were shown; check the rows again.")
        mapping.save(file.path, text)
    except BadFile as error:
        st.session_state[FAULT] = str(error)
        return
    accepted()


def draw_accepted(file: DataFile) -> None:
    """Draw a note and an undo button if the file's guesses were accepted in this session."""
    _draw_fault()
    mapping_file = mapping.place(file.path)
    saved = mapping_file is not None and mapping.is_saved(mapping_file) and access.is_trusted()
    if (file.origin == data_file.UPLOADED and file.digest in st.session_state.get(BARE_DIGESTS, {})) or saved:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("The columns have the meaning that was accepted here.", width="content")
            st.button("Choose the columns again", key="take back", type="tertiary", on_click=_take_back, args=(file,))


def _draw_fault() -> None:
    if fault := st.session_state.pop(FAULT, ""):
        st.error(escape_markdown(fault))


def _take_back(file: DataFile) -> None:
    """Forget an accepted mapping; only in a callback."""
    if file.origin == data_file.UPLOADED:
        bare = st.session_state.get(BARE_DIGESTS, {}).get(file.digest)
        accepted = st.session_state.get(ACCEPTED, {})
        st.session_state[ACCEPTED] = {key: text for key, text in accepted.items() if key != bare}
        return
    try:
        mapping.remove_mapping(file.path)
    except BadFile as error:
        st.session_state[FAULT] = str(error)


def with_mapping(bare: DataFile) -> DataFile:
    """Return an upload together with the mapping that was accepted for it, if any; raises BadFile."""
    text = st.session_state.get(ACCEPTED, {}).get(bare.digest)
    if text is None:
        return bare
    data_files = [file for file in uploads.uploaded_files(bare) if not file[0].endswith(".toml")]  # its mapping was empty
    file = uploads.keep_upload([*data_files, (f"{bare.path.name}.toml", text.encode())])
    st.session_state[BARE_DIGESTS] = {**st.session_state.get(BARE_DIGESTS, {}), file.digest: bare.digest}
    return file
