"""Large files are read in another process, with a progress bar and a cancel button."""

from collections.abc import Callable, Hashable
from functools import lru_cache
from time import monotonic
from typing import Any

import streamlit as st

from engine.core.figures import duration
from engine.service import progress_file
from pages.answers import later
from pages.ui.plain import escape_markdown

CANCELLED, BAR_AFTER = "cancelled reading", 0.4  # seconds in which most files are read, without a bar
LEAST_SHARE = 0.01  # from this share on the time left is estimated


def with_progress(name: str, read_file: Callable[..., Any], *arguments: Hashable) -> Any:
    """Return `read_file(*arguments, watch=...)` for the file `name`, computed once.

    Return None if the visitor cancels.
    """
    key = (read_file.__qualname__, arguments)
    if st.session_state.get(CANCELLED) == key:
        st.info(f"Reading {escape_markdown(name)} was cancelled; nothing was kept.")
        st.button("Read the file", key="read again", on_click=_set_cancelled, args=(None,))
        return None
    return _file_result(name, read_file, *arguments)


@lru_cache(maxsize=later.CACHED_RESULTS)
def _file_result(name: str, read_file: Callable[..., Any], *arguments: Hashable) -> Any:
    start, place = monotonic(), st.empty()
    path, bar = progress_file.create(), None

    def draw() -> None:
        nonlocal bar
        seconds = monotonic() - start
        if seconds < BAR_AFTER:
            return
        share, text = progress_file.progress(path)
        time_left = f", {duration(seconds * (1 - share) / share)} left" if share > LEAST_SHARE else ""
        label = escape_markdown(f"{text or f'reading {name}'}{time_left}")
        if bar is None:
            with place.container(horizontal=True, vertical_alignment="center"):
                bar = st.progress(share, label)
                st.button("Cancel", key="cancel reading", on_click=_set_cancelled, args=((read_file.__qualname__, arguments),))
        else:
            bar.progress(share, label)

    try:
        return later.worker_result(progress_file.run_watched, path, read_file, *arguments, meanwhile=draw)
    finally:
        progress_file.remove(path)
        place.empty()


def _set_cancelled(key: Hashable) -> None:
    st.session_state[CANCELLED] = key
