"""Which requests History compares, as its link says them: how each was computed, and the link that reopens it anywhere."""

from collections.abc import Sequence
from urllib.parse import quote

import streamlit as st

from engine.analysis.objective import column
from engine.scenario.keys import How
from engine.service import history
from engine.service.history import Entry
from engine.store import requests
from engine.sweep import links
from engine.sweep.links import Opened
from engine.sweep.questions import Questions
from pages.answers import runs
from pages.ui import session
from pages.ui.page_link import LinkPart, PageLink
from pages.ui.plain import plain

ASKED, MISSING, SAID, WORDS = "runs of the link", "runs that are not here", "runs in the link", "history words"
METRIC, FIRST_METRIC = "history metric", "Step time [ms]"
ROOM = links.MOST_CHARACTERS - 2000  # the rest is for the scenario
HOW: dict[How, str] = {"estimate": "an estimate", "full": "a full run"}
SHARED = "This link opens the history with the chosen requests beside each other; where one was never run, it says how to run it."
Compared = tuple[tuple[How, str], ...]


def from_link(link: Opened) -> None:
    """Take over what a link looks for, compares and shows; before the page is drawn."""
    asked = link.questions
    st.session_state.update({ASKED: links.compared(asked), MISSING: (), SAID: asked.runs, WORDS: asked.find})
    session.ask(METRIC, column(asked.metric) if asked.metric else "")


def to_link() -> LinkPart:
    """Return what the page is asked now; requests by number are this server's alone, `run=` is for all."""
    words = (word for word in st.session_state.get(WORDS, "").split() if not word.startswith("#"))
    metric = session.choice(METRIC)
    shown = metric if metric != FIRST_METRIC else ""
    return LinkPart(questions=Questions(runs=st.session_state.get(SAID, ()), find=" ".join(words), metric=shown))


def find() -> None:
    """Choose the requests that a new link compares among those of this store; before the page is drawn."""
    asked: Compared = st.session_state.pop(ASKED, ())
    if not asked:
        return
    found = {one: requests.by_link(runs.STORE, one[1], one[0]) for one in asked}
    st.session_state[MISSING] = tuple(one for one, request in found.items() if request is None)
    st.session_state[WORDS] = " ".join(f"#{request}" for request in found.values() if request is not None)


def draw_missing() -> None:
    """Say which compared requests this store does not have, each with the way to run it here."""
    missing: Compared = st.session_state.get(MISSING, ())
    if not missing:
        return
    many = len(missing) > 1
    st.warning(
        f"{len(missing)} of the compared requests {'are' if many else 'is'} not in this server's history; open "
        f"{'each' if many else 'it'}, run it, and open the link of this comparison again."
    )
    for number, (how, link) in enumerate(missing, 1):
        page = link.partition("?")[0].strip("/").capitalize()
        st.link_button(f"Open {plain(page)}: {HOW[how]} ({number} of {len(missing)})", links.in_mode(link, how))


def said(chosen: Sequence[Entry]) -> tuple[str, ...]:
    """Return the chosen requests as a link says them; those that no link finds again, or beyond its room, are left out."""
    named: list[str] = []
    for entry in chosen[: links.MOST_RUNS]:
        link = history.link(runs.STORE, entry.request)
        text = f"{entry.how}:{link}"
        if link and text not in named and requests.by_link(runs.STORE, link, entry.how) is not None:
            named.append(text)
    while len(quote("".join(named))) > ROOM:
        named.pop()
    return tuple(named)


LINK = PageLink(to_link, from_link)
