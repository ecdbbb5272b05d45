"""Answers that take longer than a page may: found in a process beside the pages, kept, and left undone once nobody waits."""

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from threading import Lock
from time import monotonic, sleep
from typing import Any

import streamlit as st
from loky import ProcessPoolExecutor
from streamlit.runtime.scriptrunner import get_script_run_ctx

from engine.service.pool import WORKERS
from engine.service.worker import polite
from pages.common import address

MOST, REFRESH_SECONDS, IDLE_SECONDS = 256, 0.2, 600
STILL_SECONDS = 0.25  # in which the page is drawn and painted, and a visitor may move on
_ONE = ThreadPoolExecutor(1, "later")  # it outlives visitors' threads: a process ends with the thread that began it
_beside: ProcessPoolExecutor | None = None
_kept: OrderedDict[Hashable, Future[Any]] = OrderedDict()
_wanted: dict[str, Hashable] = {}
_lock = Lock()


class NobodyWaits(Exception):
    """The visitor who asked has gone on to another question."""


def answer(kind: str, find: Callable[..., Any], *given: Hashable) -> Future[Any]:
    """Return the future of `find(*given)`, begun soon unless it is known; a session waits for one answer of a kind at a time."""
    visitor = get_script_run_ctx()
    place, whole = f"{kind} {visitor.session_id if visitor else ''}", (kind, given)
    with _lock:
        _wanted[place] = whole
        while len(_wanted) > MOST:
            del _wanted[next(iter(_wanted))]
        found = _kept.get(whole)
        if found is None or (found.done() and isinstance(found.exception(), NobodyWaits)):
            found = _kept[whole] = _ONE.submit(_find, monotonic() + STILL_SECONDS, whole, find, given)
        _kept.move_to_end(whole)
        while len(_kept) > MOST:
            _kept.popitem(last=False)
    return found


def redraw_after(*groups: tuple[Future[Any], ...]) -> None:
    """Draw the page anew whenever all answers of a group are there; without a timer once none is open."""
    still = [group for group in groups if not _all_done(group)]

    def look() -> None:
        if any(map(_all_done, still)):
            address.redraw()

    if still:
        st.fragment(look, run_every=REFRESH_SECONDS)()


def _all_done(group: tuple[Future[Any], ...]) -> bool:
    return all(one.done() for one in group)


def _find(when: float, whole: Hashable, find: Callable[..., Any], given: tuple[Hashable, ...]) -> Any:
    sleep(max(0.0, when - monotonic()))
    with _lock:
        waited_for = whole in _wanted.values()
    if not waited_for:
        raise NobodyWaits
    return elsewhere(find, *given)


def elsewhere(find: Callable[..., Any], *given: Hashable) -> Any:
    """Return `find(*given)`, found in another process; where that one has died, a fresh one tries once more."""
    global _beside
    for _ in range(2):
        _beside = _beside or ProcessPoolExecutor(1, timeout=IDLE_SECONDS, initializer=polite, initargs=(os.getpid(),), **WORKERS)
        try:
            return _beside.submit(find, *given).result()
        except BrokenExecutor:
            _beside = None
    raise BrokenExecutor("The process that looks for this ended twice; change a knob, or reload the page.")
