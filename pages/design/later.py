"""Answers that take longer than a page may: found in a thread beside the pages, kept, and left undone once nobody waits."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

MOST, REFRESH_SECONDS = 256, 0.4
_ONE = ThreadPoolExecutor(1, "later")
_kept: OrderedDict[Hashable, Future[Any]] = OrderedDict()
_wanted: dict[str, Hashable] = {}
_lock = Lock()


class NobodyWaits(Exception):
    """The visitor who asked has gone on to another question."""


def answer(kind: str, key: Hashable, find: Callable[[], Any]) -> Future[Any]:
    """Return the future of `find()`, begun now unless it is known; a session waits for one key of a kind at a time."""
    visitor = get_script_run_ctx()
    place, whole = f"{kind} {visitor.session_id if visitor else ''}", (kind, key)
    with _lock:
        _wanted[place] = whole
        while len(_wanted) > MOST:
            del _wanted[next(iter(_wanted))]
        found = _kept.get(whole)
        if found is None or (found.done() and isinstance(found.exception(), NobodyWaits)):
            found = _kept[whole] = _ONE.submit(_find, whole, find)
        _kept.move_to_end(whole)
        while len(_kept) > MOST:
            _kept.popitem(last=False)
    return found


def redraw_after(*found: Future[Any]) -> None:
    """Draw the page anew once all answers are there; nothing where they are, so that no timer runs on."""

    def look() -> None:
        if all(one.done() for one in found):
            st.rerun()

    if not all(one.done() for one in found):
        st.fragment(look, run_every=REFRESH_SECONDS)()


def _find(whole: Hashable, find: Callable[[], Any]) -> Any:
    with _lock:
        waited_for = whole in _wanted.values()
    if not waited_for:
        raise NobodyWaits
    return find()
