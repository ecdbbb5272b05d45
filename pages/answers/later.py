"""What takes longer than a page may: found in processes beside the pages, kept, and left undone once nobody waits.

An `answer` comes while its page stands there already; for what a page is made of it waits, `found`, and no other visitor does.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor, wait
from functools import lru_cache
from threading import Lock, get_ident
from time import monotonic, sleep
from typing import Any

import streamlit as st
from loky import ProcessPoolExecutor
from streamlit.runtime.scriptrunner import get_script_run_ctx

from engine.errors import CannotRun
from engine.service.pool import WORKERS
from engine.service.worker import polite
from pages.ui import session

MOST, REFRESH_SECONDS, IDLE_SECONDS = 256, 0.2, 600
STILL_SECONDS = 0.3  # in which the page is drawn and painted, and a visitor may move on
FOUND, LEFT = 64, "left"
# These outlive visitors' threads: a process ends with the thread that began it, and each of these threads has one of its own.
_ONE = ThreadPoolExecutor(1, "later")
_LONG = ThreadPoolExecutor(1, "long")  # what takes seconds, so that short answers need not wait
_PAGES = ThreadPoolExecutor(2, "pages")  # so that visitors need not wait for each other
_beside: dict[int, ProcessPoolExecutor] = {}  # by thread
_kept: OrderedDict[Hashable, Future[Any]] = OrderedDict()
_wanted: dict[str, Hashable] = {}
_lock = Lock()


class NobodyWaits(Exception):
    """The visitor who asked has gone on to another question."""


def answer(kind: str, find: Callable[..., Any], *given: Hashable, long: bool = False) -> Future[Any]:
    """Return the future of `find(*given)`, begun soon unless it is known; a session waits for one answer of a kind at a time.

    A `long` one takes seconds.
    """
    visitor = get_script_run_ctx()
    place, whole = f"{kind} {visitor.session_id if visitor else ''}", (kind, find, given)
    with _lock:
        _wanted[place] = whole
        while len(_wanted) > MOST:
            del _wanted[next(iter(_wanted))]
        found = _kept.get(whole)
        if found is None or (found.done() and isinstance(found.exception(), NobodyWaits)):
            found = _kept[whole] = (_LONG if long else _ONE).submit(_find, monotonic() + STILL_SECONDS, whole, find, given)
        _kept.move_to_end(whole)
        while len(_kept) > MOST:
            _kept.popitem(last=False)
    return found


def redraw_after(*groups: tuple[Future[Any], ...]) -> None:
    """Draw the page anew whenever all answers of a group are there; without a timer once none is open."""
    still = [group for group in groups if not _all_done(group)]

    def look() -> None:
        if any(map(_all_done, still)):
            session.redraw()

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


@lru_cache(maxsize=FOUND)
def found(find: Callable[..., Any], *given: Hashable) -> Any:
    """Return what is `watched`, once."""
    return watched(find, *given)


def watched(find: Callable[..., Any], *given: Hashable, meanwhile: Callable[[], None] = lambda: None) -> Any:
    """Return `find(*given)`, found in another process while this visitor's page waits, and does something `meanwhile`.

    It is let go where the visitor leaves.
    """
    future = _PAGES.submit(elsewhere, find, *given)
    try:
        while not wait([future], REFRESH_SECONDS).done:
            meanwhile()
            st.session_state.get(LEFT)  # whoever looks there is stopped by Streamlit once the visitor has left, or moved a knob
        return future.result()
    except BrokenExecutor as error:
        raise CannotRun(str(error)) from error
    finally:
        future.cancel()


def elsewhere(find: Callable[..., Any], *given: Hashable) -> Any:
    """Return `find(*given)`, found in this thread's own process; where that one has died, a fresh one tries once more."""
    thread = get_ident()
    for _ in range(2):
        if thread not in _beside:
            how = {"timeout": IDLE_SECONDS, "initializer": polite, "initargs": (os.getpid(),), **WORKERS}
            _beside[thread] = ProcessPoolExecutor(1, **how)
        try:
            return _beside[thread].submit(find, *given).result()
        except BrokenExecutor:
            _beside.pop(thread, None)
    raise BrokenExecutor("The process that looks for this ended twice; change a knob, or reload the page.")
