"""The visitor's own presets: their folder, changed files, and the button that saves one."""

import streamlit as st

from engine.errors import BadInput
from engine.scenario import presets
from engine.scenario.preset_text import preset_text
from pages.shell.bar import share_slot
from pages.ui import session
from pages.ui.plain import escape_markdown

NAME_FIELD, SENTENCE_FIELD, SAVE = "own preset name", "own preset sentence", "own preset file"
ICON = ":material/bookmark_add:"  # stands alone in a narrow window
SEEN = "own preset seen"  # name and scenario of the session's own preset when it was last drawn


def look_at_folder() -> None:
    """Read the folder of the visitor's own presets; call before the link is opened, which may name one."""
    presets.look_again()


def renew_preset() -> None:
    """Tell if the file of the session's preset has changed.

    An unchanged scenario becomes that of the file; a changed one stays. Call before the bar is drawn.
    """
    name = session.base()
    scenario = presets.preset(name).scenario
    seen_name, seen_scenario = st.session_state.get(SEEN, (name, scenario))
    if seen_name == name and seen_scenario != scenario:
        if session.scenario() == seen_scenario:
            session.hold_scenario(scenario)
            st.toast(escape_markdown(f"The file of the preset {name} has changed; the page shows the new file."))
        else:
            st.toast(escape_markdown(f"The file of the preset {name} has changed; your scenario stays as it was."))
    st.session_state[SEEN] = (name, scenario)


def draw_origin() -> None:
    """Draw from which own preset the opened link was made, if its file is not here."""
    if name := session.origin():
        st.caption(
            escape_markdown(f"Made from the preset {name} of its author; all its values are in this link."), width="content"
        )


def draw_save() -> None:
    """Draw the popover beside Share that saves the scenario as an own preset's file."""
    with share_slot(), st.container(key="preset-slot", width="content"), st.popover("Save as preset", icon=ICON):
        name = st.text_input("Name", key=NAME_FIELD, placeholder="my-model", help="Letters, digits and hyphens.").strip()
        sentence = st.text_input("One sentence on it", key=SENTENCE_FIELD).strip()
        text = ""
        if name or sentence:
            try:
                text = preset_text(session.scenario(), session.base(), name, sentence)
            except BadInput as error:
                st.caption(f":red[{escape_markdown(str(error))}]")
        st.download_button(
            "Download the preset",
            text,
            f"{name or 'preset'}.toml",
            "application/toml",
            on_click="ignore",
            key=SAVE,
            disabled=not text,
        )
        st.caption("Put the file into a folder of presets, and start with `make run PRESETS=DIR` or add `--presets-dir DIR`.")
