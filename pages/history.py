"""What did I run?"""

import streamlit as st

from engine import history, quota
from pages.parts import frame, history_panel, runs
from pages.parts.history_tables import LIVE, fullness

MOST = 100
REFRESH_SECONDS = 2.0

frame.guard()
st.header("What did I run?", anchor=False)
known = history.count(runs.STORE)
if not known:
    st.info(
        "Nothing yet. Train on Explore, compare full runs on Compare or run points on Sweep: each of them then stands here "
        "with its results, to be reopened, compared and exported, until you delete it."
    )
    with st.container(horizontal=True):
        for page in ("explore", "compare", "sweep"):
            st.page_link(f"pages/{page}.py", label=page.capitalize())
    st.stop()
st.caption(fullness(quota.usage(runs.STORE)), help="python -m engine serve --quota-GiB sets how much it may use.")
words = st.text_input("Find a run", placeholder="words of a title; done, running, failed or pinned; #7 #12", key="history words")


def draw() -> None:
    """Draw the requests and what was chosen of them."""
    entries = history.entries(runs.STORE, words, MOST)
    if not entries and not words:
        st.rerun()  # the last one has just been deleted
    if not entries:
        st.info(f"None of {known:,} requests has all these words; use fewer.")
        return
    if len(entries) == MOST < known:
        st.caption(f"The newest {MOST} of {known:,}; write words to find older ones.")
    named = len(entries) == 1 or history.numbered(words)
    history_panel.draw(history_panel.listing(entries) or (entries if named else []))


live = any(entry.state in LIVE for entry in history.entries(runs.STORE, "", MOST))
st.fragment(draw, run_every=REFRESH_SECONDS if live else None)()
