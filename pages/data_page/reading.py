"""Large files are read in another process, while the page shows the progress and a button that cancels."""

from collections.abc import Callable, Hashable
from functools import lru_cache
from time import monotonic
from typing import Any

import streamlit as st

from engine.core.figures import duration
from engine.service import progress_file
from pages.answers import later
from pages.ui.plain import plain

CANCELLED, BAR_AFTER = "cancelled reading", 0.4  # seconds in which most files are read, without a bar
LEAST_SHARE = 0.01  # from this share on the time left is estimated


def with_progress(name: str, read: Callable[..., Any], *arguments: Hashable) -> Any:
    """Return `read(*arguments, watch=...)` for the file `name`, computed once; None where the visitor has cancelled it."""
    key = (read.__qualname__, arguments)
    if st.session_state.get(CANCELLED) == key:
        st.info(f"Reading {plain(name)} was cancelled; nothing of it is kept.")
        st.button("Read it", key="read again", on_click=_cancel, args=(None,))
        return None
    return _result(name, read, *arguments)


@lru_cache(maxsize=later.CACHED_RESULTS)
def _result(name: str, read: Callable[..., Any], *arguments: Hashable) -> Any:
    start, place = monotonic(), st.empty()
    path, bar = progress_file.create(), None

    def draw() -> None:
        nonlocal bar
        seconds = monotonic() - start
        if seconds < BAR_AFTER:
            return
        share, text = progress_file.progress(path)
        left = f", {duration(seconds * (1 - share) / share)} left" if share > LEAST_SHARE else ""
        label = plain(f"{text or f'reading {name}'}{left}")
        if bar is None:
            with place.container(horizontal=True, vertical_alignment="center"):
                bar = st.progress(share, label)
                st.button("Cancel", key="cancel reading", on_click=_cancel, args=((read.__qualname__, arguments),))
        else:
            bar.progress(share, label)

    try:
        return later.worker_result(progress_file.run, path, read, *arguments, meanwhile=draw)
    finally:
        progress_file.remove(path)
        place.empty()


def _cancel(key: Hashable) -> None:
    st.session_state[CANCELLED] = key
