"""The visitor's own presets on Start, and which files of their folder cannot be used."""

from collections.abc import Iterator

import streamlit as st

from engine.scenario.own_presets import NAME
from engine.scenario.presets import own_folder
from engine.version import PROGRAM
from pages.gate import access
from pages.own_data.leading import Question
from pages.start_page import questions
from pages.ui.plain import escape_markdown


def draw(question: Question) -> None:
    """Draw the presets under their own heading, if the explorer was started with a folder of them.

    question: the question that a click on a preset asks.
    """
    folder = own_folder()
    if not folder.path:
        return
    st.markdown("**Your presets**")
    for sentence in _refusals():
        st.warning(escape_markdown(sentence))
    if not folder.presets and not folder.refused:
        st.caption("The folder of presets has no file yet; *Save as preset*, beside Share, makes one.")
    with st.container(horizontal=True, key="own-presets"):
        for name, own_preset in folder.presets.items():
            st.button(
                escape_markdown(own_preset.title),
                key=f"own {name}",
                on_click=questions.ask,
                args=(question, name),
                help=escape_markdown(own_preset.story) or None,
            )


def _refusals() -> Iterator[str]:
    """Yield a sentence for each file that cannot be used; without the token it tells neither content nor place."""
    for file_name, refusal in own_folder().refused.items():
        if access.is_trusted():
            yield str(refusal)
        else:
            has_valid_name = NAME.fullmatch(file_name.removesuffix(".toml"))
            subject = f"{file_name}, a file in the folder of presets," if has_valid_name else "A file in the folder of presets"
            yield f"{subject} cannot be used and is left out; `{PROGRAM} list presets --presets-dir DIR` says why."
