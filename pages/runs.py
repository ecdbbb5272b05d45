"""What did I run?"""

import streamlit as st

from engine.core.figures import count
from engine.service import history
from engine.store import quota
from engine.sweep.questions import MOST_WORDS
from pages.answers import runs
from pages.runs_page import history_panel, history_runs, history_tables
from pages.runs_page.history_tables import LIVE, fullness
from pages.shell import address, frame
from pages.ui import answer
from pages.ui.page_link import script

MOST = 100
REFRESH_SECONDS = 2.0

frame.guard()
history_runs.find()
part = history_runs.to_link()
address.share("runs", history_runs.SHARED)
usage = quota.usage(runs.STORE)
known = usage.requests
if not known:
    what = "Train one system or several on Design, or run points on Search: each run then stands here with its results."
    with answer.draw("Nothing has been run yet", [what]):
        for page in ("design", "search"):
            st.page_link(script(page), label=page.capitalize())
    history_runs.draw_missing()
    st.stop()
answer.show(history_tables.answer(history.entries(runs.STORE, "", MOST), known), [fullness(usage)])
history_runs.draw_missing()
hint = "words of a title; done, running, failed or pinned; #7 #12"
words = st.text_input("Find a run", placeholder=hint, key=history_runs.WORDS, max_chars=MOST_WORDS)


def draw() -> None:
    """Draw the requests and what was chosen of them; another choice or metric changes the link above, too."""
    if history_runs.to_link() != part:
        st.rerun()
    entries = history.entries(runs.STORE, words, MOST)
    if not entries and not words:
        st.rerun()  # the last one has just been deleted
    if not entries:
        st.info(f"None of {count(known)} requests has all these words; use fewer.")
        return
    if len(entries) == MOST < known:
        st.caption(f"The newest {MOST} of {count(known)}; write words to find older ones.")
    named = len(entries) == 1 or history.numbered(words)
    chosen = history_panel.listing(entries) or (entries if named else [])
    if (said := history_runs.said(chosen)) != st.session_state.get(history_runs.SAID, ()):
        st.session_state[history_runs.SAID] = said
        st.rerun()
    history_panel.draw(chosen)


live = any(entry.state in LIVE for entry in history.entries(runs.STORE, "", MOST))
st.fragment(draw, run_every=REFRESH_SECONDS if live else None)()
