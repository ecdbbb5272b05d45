"""The answer of a page: its finding and its reasons, in a box and as text to copy.

The copied text ends with the page's link.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui import session
from pages.ui.page_link import host
from pages.ui.plain import escape_markdown

KEY, COPY, BOX, DRAWN_KEY = "answer", "copy answer", "answer box", "answer drawn"
MAX_LETTERS = 2000


@contextmanager
def draw(
    finding: str, reasons: Sequence[str] = (), notes: Sequence[str] = (), below: Sequence[str] = (), above: str = ""
) -> Iterator[None]:
    """Draw the box of a page's answer; the page adds its buttons within the block.

    finding: a sentence. reasons: lines below it. notes: lines in small print. below: sentences below the box.
    above: a sentence before the finding.
    A page draws one answer in each of its states: with a finding, running, empty, refused.
    """
    st.session_state[DRAWN_KEY] = True
    with _box():
        if above:
            st.markdown(escape_markdown(above, most=MAX_LETTERS))
        with st.container(horizontal=True, vertical_alignment="top", key="answer-finding"):
            st.header(escape_markdown(finding, most=MAX_LETTERS), anchor=False, width="stretch")
            _draw_copy([above, finding, *reasons, *below])
        if reasons:
            st.markdown(" ".join(escape_markdown(sentence, most=MAX_LETTERS) for sentence in reasons if sentence))
        if notes:
            st.caption(" ".join(escape_markdown(sentence, most=MAX_LETTERS) for sentence in notes if sentence))
        with st.container(horizontal=True, vertical_alignment="center", key="answer-actions"):
            yield


def show(finding: str, reasons: Sequence[str] = (), below: Sequence[str] = (), above: str = "") -> None:
    """Draw an answer without buttons; the sentences `above` the finding and `below` the box are copied, too."""
    with draw(finding, reasons, below=below, above=above):
        pass
    if any(below):
        st.markdown(" ".join(escape_markdown(sentence, most=MAX_LETTERS) for sentence in below if sentence))


def wait(finding: str, note: str) -> DeltaGenerator:
    """Draw in the answer's box what is being computed; return the container to empty later."""
    place = _box().empty()
    with place.container():
        st.header(escape_markdown(f"{finding} ..."), anchor=False)
        st.markdown(escape_markdown(note))
    return place


def reset() -> None:
    """Note that this run has drawn no answer so far."""
    st.session_state.update({BOX: None, DRAWN_KEY: False})


def _box() -> DeltaGenerator:
    """Return the box of this run's answer: Streamlit allows one with its key."""
    box: DeltaGenerator = st.session_state.get(BOX) or st.container(border=True, key=KEY)
    st.session_state[BOX] = box
    return box


def is_drawn() -> bool:
    """Return whether this run of the script has drawn an answer."""
    return bool(st.session_state.get(DRAWN_KEY))


def _draw_copy(sentences: Sequence[str]) -> None:
    """Draw the popover with the answer's text and link, made once it is open."""
    popover = st.popover("Copy", type="tertiary", key=COPY, on_change="rerun")
    if popover.open:
        text = "\n".join(sentence for sentence in sentences if sentence)
        link = host() + str(st.session_state.get(session.PAGE_LINK, ""))
        popover.code(f"{text}\n{link}", language=None, wrap_lines=True)
