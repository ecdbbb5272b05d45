"""The navigation between places, and the guard for a first deep link."""

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
STYLE = Path(__file__).parent / "style.css"


def pages() -> list[StreamlitPage]:
    """Return the pages of the navigation; the hidden first one answers the bare address."""
    hidden = partial(st.Page, visibility="hidden")
    bare = hidden(_start, title="Emberpool", url_path="emberpool", default=True)
    places = [st.Page(script(name), title=name.capitalize(), url_path=name) for name in PLACES]
    old_name = [hidden(script(name), title=new_name.capitalize(), url_path=name) for name, new_name in NEW_PLACES.items()]
    return [bare, *places, *old_name]


def _start() -> None:
    st.switch_page(script("start"))


def lead_to_new_place(old_address: str) -> None:
    """Lead from an old address to its page's new place, with its section open."""
    if section := OPEN_SECTIONS.get(old_address):
        st.session_state[section] = True
    st.switch_page(script(NEW_PLACES[old_address]))


def mark_framed() -> None:
    """Note that app.py has drawn the frame of this run."""
    st.session_state[FRAMED] = True


def guard() -> None:
    """Run app.py instead if Streamlit started a page file by itself.

    Streamlit does so for the first deep link.
    """
    if not st.session_state.pop(FRAMED, False):
        st.navigation(pages())
        st.rerun()


def focus_page() -> None:
    """Put the keyboard at the start of a page after a lead there."""
    if st.session_state.pop(session.FOCUS_PAGE, False):
        st.html(FOCUS, unsafe_allow_javascript=True)


@st.cache_resource(show_spinner=False)
def freeze_loaded(place: str) -> None:
    """Freeze the objects that a place has loaded, once.

    Streamlit collects garbage after every run, of a timer too.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    single_thread()  # a page's sums are short, and one visitor's threads would wait for another's
    gc.collect()
    gc.freeze()
