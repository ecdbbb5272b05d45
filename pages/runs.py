"""The page Runs: all past requests."""

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

MAX_LISTED = 100
REFRESH_SECONDS = 2.0

frame.guard()
history_runs.find_runs()
part = history_runs.to_link()
address.share("runs", history_runs.SHARE_NOTE)
usage = quota.usage(runs.STORE)
num_requests = usage.requests
if not num_requests:
    advice = "Train a system on Design, or run points on Search: each run then appears here with its results."
    with answer.draw("There are no runs yet", [advice]):
        for page in ("design", "search"):
            st.page_link(script(page), label=page.capitalize())
    history_runs.draw_missing()
    st.stop()
answer.show(history_tables.answer(history.past_requests(runs.STORE, "", MAX_LISTED), num_requests), [fullness(usage)])
history_runs.draw_missing()
hint = "words of a title; a state: done, running, failed or pinned; numbers: #7 #12"
words = st.text_input("Find a run", placeholder=hint, key=history_runs.WORDS, max_chars=MOST_WORDS)


def draw() -> None:
    """Draw the requests and those chosen; another choice changes the page's link."""
    if history_runs.to_link() != part:
        st.rerun()
    entries = history.past_requests(runs.STORE, words, MAX_LISTED)
    if not entries and not words:
        st.rerun()  # the last one has just been deleted
    if not entries:
        st.info(f"None of {count(num_requests, 'run')} has all these words; use fewer words.")
        return
    if len(entries) == MAX_LISTED < num_requests:
        st.caption(f"The table has the newest {MAX_LISTED} of {count(num_requests, 'run')}; write words to find older runs.")
    is_single = len(entries) == 1 or history.request_numbers(words)
    chosen_runs = history_panel.draw_requests(entries) or (entries if is_single else [])
    if (link_runs := history_runs.runs_for_link(chosen_runs)) != st.session_state.get(history_runs.SAID_RUNS_KEY, ()):
        st.session_state[history_runs.SAID_RUNS_KEY] = link_runs
        st.rerun()
    history_panel.draw(chosen_runs)


live = any(run.state in LIVE for run in history.past_requests(runs.STORE, "", MAX_LISTED))
st.fragment(draw, run_every=REFRESH_SECONDS if live else None)()
