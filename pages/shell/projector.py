"""Projector mode for lecture halls: large type, charts included, and fewer widgets."""

import streamlit as st

PROJECTOR_KEY = "projector"
STYLE = """<style>
html { font-size: 21px; }
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"] { display: none; }
[data-testid="stMain"] [data-testid="stTooltipIcon"], [class*="st-key-strip-"] [data-testid="stPopover"],
.st-key-first-screen [data-testid="stElementContainer"]:has([data-testid="stCaptionContainer"]),
.st-key-first-screen [data-testid="stLayoutWrapper"]:has(> .st-key-summary) { display: none; }
.st-key-recommended p { line-height: 1.4; }
[data-testid="stVegaLiteChart"] svg { overflow: visible; }
[data-testid="stVegaLiteChart"] :is(.role-axis-label, .role-axis-title, .role-mark) text { font-size: 15px; }
</style>"""


def apply() -> None:
    """Set the size of the page's type by the visitor's choice."""
    if st.session_state.get(PROJECTOR_KEY):
        st.html(STYLE)


def draw() -> None:
    """Draw the switch of projector mode."""
    st.session_state[PROJECTOR_KEY] = bool(st.session_state.get(PROJECTOR_KEY))
    st.toggle("Projector", key=PROJECTOR_KEY, help="Shows large letters and hides the sidebar.")
