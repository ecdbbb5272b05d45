"""Projector mode: large type and nothing beside the page, for a lecture hall."""

import streamlit as st

ON = "projector"
STYLE = """<style>
html { font-size: 21px; }
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"] { display: none; }
</style>"""


def apply() -> None:
    """Set the page's type as the visitor chose."""
    if st.session_state.get(ON):
        st.html(STYLE)


def draw() -> None:
    """Draw the switch."""
    st.session_state[ON] = bool(st.session_state.get(ON))
    st.toggle("Projector", key=ON, help="Large type, and no drawer beside the page.")
