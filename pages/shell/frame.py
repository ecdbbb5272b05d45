"""The navigation between pages, and the check that app.py has drawn the frame."""

import gc
import sys
from functools import partial
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from engine.core.process import single_thread
from pages.shell.places import NEW_PLACES, OPEN_SECTIONS, PLACES
from pages.ui import session
from pages.ui.page_link import script

FRAMED = "framed"
# The pressed button is gone with its page, and the keyboard would begin at the top of the window.
FOCUS = """<script>document.querySelector('[data-testid="stMain"]').focus()</script>"""
# Each message of a run waits this long for the script that goes on: at Python's 5 ms, charts came 25 ms later.
SWITCH_SECONDS = 0.0005
COLLECT_SECONDS = 20.0
STYLE = Path(__file__).parent / "style.css"


def pages() -> list[StreamlitPage]:
    """Return the pages of the navigation; the first one is hidden and has the bare address."""
    hidden = partial(st.Page, visibility="hidden")
    bare = hidden(_start, title="Emberpool", url_path="emberpool", default=True)
    places = [st.Page(script(name), title=name.capitalize(), url_path=name) for name in PLACES]
    old_name = [hidden(script(name), title=new_name.capitalize(), url_path=name) for name, new_name in NEW_PLACES.items()]
    return [bare, *places, *old_name]


def _start() -> None:
    st.switch_page(script("start"))


def lead_to_new_place(old_address: str) -> None:
    """Open the new page of an old address, with its section open."""
    if section := OPEN_SECTIONS.get(old_address):
        st.session_state[section] = True
    st.switch_page(script(NEW_PLACES[old_address]))


def mark_framed() -> None:
    """Note that app.py has drawn the frame in this run of the script."""
    st.session_state[FRAMED] = True


def guard() -> None:
    """Start app.py if Streamlit has started a page's file without it.

    Streamlit does so if the first visitor of a new server opens a page's own address.
    """
    if not st.session_state.pop(FRAMED, False):
        st.navigation(pages())
        st.rerun()


def focus_page() -> None:
    """Set the keyboard focus to the start of a page that was opened by a callback."""
    if st.session_state.pop(session.FOCUS_PAGE, False):
        st.html(FOCUS, unsafe_allow_javascript=True)


@st.cache_resource(show_spinner=False)
def freeze_loaded(place: str) -> None:
    """Exclude the objects that a page has loaded from garbage collection, once for each page."""
    sys.setswitchinterval(SWITCH_SECONDS)
    single_thread()  # a page's sums are short, and one visitor's threads would wait for another's
    gc.collect()
    gc.freeze()


@st.cache_resource(ttl=COLLECT_SECONDS, show_spinner=False)
def collect_garbage() -> None:
    """Collect garbage if that was not done lately: after every run, also after runs by a timer, it took most of the time."""
    gc.collect()
