"""The pages, and the guard that gives a deep link to a cold server its frame."""

import streamlit as st
from streamlit.navigation.page import StreamlitPage

FRAMED = "framed"


def start() -> None:
    """Lead the bare address to the first question."""
    st.switch_page("pages/explore.py")


def pages() -> list[StreamlitPage]:
    """Return the pages of the navigation; the hidden first one answers the bare address."""
    return [
        st.Page(start, title="Emberpool", default=True, visibility="hidden"),
        st.Page("pages/explore.py", title="Explore", url_path="explore"),
        st.Page("pages/compare.py", title="Compare", url_path="compare"),
        st.Page("pages/why.py", title="Why", url_path="why"),
        st.Page("pages/faults.py", title="Faults", url_path="faults"),
        st.Page("pages/sweep.py", title="Sweep", url_path="sweep"),
        st.Page("pages/workload.py", title="Workload", url_path="workload"),
        st.Page("pages/reproduce.py", title="Reproduce", url_path="reproduce"),
        st.Page("pages/history.py", title="History", url_path="history"),
    ]


def mark() -> None:
    """Note that app.py has drawn the frame of this run."""
    st.session_state[FRAMED] = True


def guard() -> None:
    """Run app.py instead if Streamlit started a page file by itself, as it does for the first deep link."""
    if not st.session_state.pop(FRAMED, False):
        st.navigation(pages())
        st.rerun()
