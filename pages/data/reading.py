"""Large files are read beside the page, which shows how far that is, and can be cancelled."""

from collections.abc import Callable, Hashable
from functools import lru_cache
from time import monotonic
from typing import Any

import streamlit as st

from engine.service import followed
from pages.common.numbers import duration
from pages.common.plain import plain
from pages.design import later

CANCELLED, SOON = "cancelled reading", 0.4  # seconds in which most files are read, without a bar
LEAST = 0.01  # from this share on a time left is worth a word


def found(name: str, find: Callable[..., Any], *given: Hashable) -> Any:
    """Return `find(*given, watch=...)` for the file `name`, once; the page ends here where the visitor has cancelled it."""
    key = (find.__qualname__, given)
    if st.session_state.get(CANCELLED) == key:
        st.info(f"Reading {plain(name)} was cancelled; nothing of it is kept.")
        st.button("Read it", key="read again", on_click=_cancel, args=(None,))
        st.stop()
    return _found(name, find, *given)


@lru_cache(maxsize=later.FOUND)
def _found(name: str, find: Callable[..., Any], *given: Hashable) -> Any:
    begun, place = monotonic(), st.empty()
    path, bar = followed.opened(), None

    def draw() -> None:
        nonlocal bar
        gone = monotonic() - begun
        if gone < SOON:
            return
        share, text = followed.progress(path)
        left = f", {duration(gone * (1 - share) / share)} left" if share > LEAST else ""
        said = plain(f"{text or f'reading {name}'}{left}")
        if bar is None:
            with place.container(horizontal=True, vertical_alignment="center"):
                bar = st.progress(share, said)
                st.button("Cancel", key="cancel reading", on_click=_cancel, args=((find.__qualname__, given),))
        else:
            bar.progress(share, said)

    try:
        return later.watched(followed.followed, path, find, *given, meanwhile=draw)
    finally:
        followed.closed(path)
        place.empty()


def _cancel(key: Hashable) -> None:
    st.session_state[CANCELLED] = key
