"""The seven places, the old addresses that lead to them, and the guard that gives a deep link to a cold server its frame."""

import gc
import sys
from functools import partial
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from engine.core.process import single_thread
from pages.design import details

FRAMED, LANDED = "framed", "landed"
PLACES = ("start", "design", "search", "failures", "data", "evidence", "runs")
# Where what stood at an old address stands now; the scenario of a link comes along.
MOVED = {
    "explore": "design",
    "compare": "design",
    "why": "design",
    "sweep": "search",
    "faults": "failures",
    "workload": "data",
    "reproduce": "evidence",
    "history": "runs",
}
# What is open on the place that an old address leads to.
OPENED = {"compare": details.SYSTEMS, "why": details.WHY}
# The pressed button is gone with its page, and the keyboard would begin at the top of the window.
FOCUS = """<script>document.querySelector('[data-testid="stMain"]').focus()</script>"""
# Each message of a run waits this long for the script that goes on: at Python's 5 ms, charts came 25 ms later.
SWITCH_SECONDS = 0.0005
STYLE = Path(__file__).parent.parent / "style.css"


def pages() -> list[StreamlitPage]:
    """Return the pages of the navigation; the hidden first one answers the bare address."""
    lead = partial(st.Page, visibility="hidden")
    bare = lead(_start, title="Emberpool", url_path="emberpool", default=True)
    places = [st.Page(f"pages/{name}.py", title=name.capitalize(), url_path=name) for name in PLACES]
    old = [lead(f"pages/{name}.py", title=new.capitalize(), url_path=name) for name, new in MOVED.items()]
    return [bare, *places, *old]


def _start() -> None:
    st.switch_page("pages/start.py")


def lead(old: str) -> None:
    """Lead from an old address to where its page stands now, with its section open."""
    if section := OPENED.get(old):
        st.session_state[section] = True
    st.switch_page(f"pages/{MOVED[old]}.py")


def mark() -> None:
    """Note that app.py has drawn the frame of this run."""
    st.session_state[FRAMED] = True


def land() -> None:
    """Put the keyboard at the start of a page to which a question has led."""
    if st.session_state.pop(LANDED, False):
        st.html(FOCUS, unsafe_allow_javascript=True)


@st.cache_resource(show_spinner=False)
def spare(place: str) -> None:
    """Set what a place has loaded aside, once: after every run, of a timer too, Streamlit collects among all that is alive."""
    sys.setswitchinterval(SWITCH_SECONDS)
    single_thread()  # from now on: the sums of a page are short, and threads of one visitor's would wait for another's
    gc.collect()
    gc.freeze()


def guard() -> None:
    """Run app.py instead if Streamlit started a page file by itself, as it does for the first deep link."""
    if not st.session_state.pop(FRAMED, False):
        st.navigation(pages())
        st.rerun()
