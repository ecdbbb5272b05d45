"""The visitor's own parts on every page: changed files, faults, and parts of a link to save."""

from tomllib import loads

import pandas as pd
import streamlit as st

from engine.core import catalog
from engine.core.part_files.known import DIGEST_SEPARATOR, OwnPart
from engine.errors import BadFile
from engine.version import PROGRAM
from pages.gate import access
from pages.ui import downloads, session
from pages.ui.plain import escape_markdown

COLUMNS = ("value", "low", "high", "unit", "confidence", "source")
FORMATS = {"value": "%.6g", "low": "%.6g", "high": "%.6g"}


def look_at_folder() -> None:
    """Read the folder of the visitor's own parts; call before the link is opened.

    The link may name some of these parts.
    """
    catalog.look_again()


def renew_parts() -> None:
    """Read changed part files, and tell which have changed or cannot be used.

    Call before anything else is drawn.
    """
    for name in session.renew_parts():
        st.toast(escape_markdown(f"The file of the part {name} has changed; all numbers now use the new file."))
    for refusal in catalog.own_folder().refusals:
        st.warning(escape_markdown(_refusal_text(refusal)))
    if access.is_trusted():
        for sentence in catalog.own_folder().doubts:
            st.warning(escape_markdown(sentence))


def _refusal_text(refusal: BadFile) -> str:
    """Return a refusal; without the token it tells neither content nor place."""
    if access.is_trusted():
        return str(refusal)
    return f"A file in the folder of parts cannot be used and is left out; `{PROGRAM} list devices --check FILE` says why."


def draw() -> None:
    """Draw the parts that a link contains: title, numbers, and a button that saves the file."""
    for part in session.brought_parts():
        content = loads(part.text)
        with st.expander(escape_markdown(f"A part of the sender's: {part.kind} {part.name}, {content['title']}")):
            st.caption(escape_markdown(content["summary"]))
            tables = {key: table for key, table in content.items() if isinstance(table, dict)}
            rows = [{"constant": key, **{name: table.get(name) for name in COLUMNS}} for key, table in tables.items()]
            downloads.show(pd.DataFrame(rows), FORMATS, pinned="constant")
            st.download_button(
                f"Save {part.name}.toml",
                file_text(part),
                f"{part.name}.toml",
                "application/toml",
                on_click="ignore",
                key=f"part {part.kind} {part.reference}",
                help=f"Put the file into your folder of parts as {part.kind}/{part.name}.toml, and start with PARTS=FOLDER.",
            )


def file_text(part: OwnPart) -> str:
    """Return the text of a part's file; other parts that it uses are given by name."""
    text = part.text
    for used_part in part.uses:
        text = text.replace(
            f'{used_part.kind} = "{used_part.name}{DIGEST_SEPARATOR}{used_part.digest}"',
            f'{used_part.kind} = "{used_part.name}"',
            1,
        )
    return text
