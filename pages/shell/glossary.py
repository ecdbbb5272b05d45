"""The glossary: keys of the keyboard, the bar's fields, and all technical words."""

import streamlit as st

from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS
from pages.shell import projector
from pages.ui import session
from pages.ui.plain import escape_markdown
from pages.ui.words import line, sections


def draw() -> None:
    """Draw the glossary: keys of the keyboard, the bar's fields, and all technical words."""
    with st.popover("Glossary"):  # without help=: its tooltip swallows the click of a mouse
        st.markdown(
            "**Keys** Tab goes to the next field, arrow keys move a slider, Enter sets a typed value, Space presses a button. "
            "The number beside a slider accepts any exact value."
        )
        projector.draw()
        st.markdown(_bar_text())
        for heading, words in sections().items():
            with st.expander(heading):
                st.markdown("\n\n".join(line(word, meaning) for word, meaning in words.items()))


def _bar_text() -> str:
    """Return the meanings of the fields on top, and the model's description."""
    bar_words = (
        ("Model and machine", preset(session.base()).story),
        ("Training system", KNOBS["system"].help),
        ("Baseline", "the system that every number is compared with; it has its own memory, link and policies."),
        ("Target", "how much slower than the baseline a machine may be; Design chooses memory and link for this."),
    )
    return "\n\n".join(f"**{name}** {escape_markdown(text)}" for name, text in bar_words)
