"""Slow questions of pages, run in worker processes, cached, and cancelled once the visitor has moved on.

A page that is already drawn takes an `answer` as a future. A page that needs it first waits for a `cached_result`, alone.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor, wait
from functools import lru_cache
from pathlib import Path
from threading import Lock, get_ident
from time import monotonic, sleep
from typing import Any

import streamlit as st
from loky import ProcessPoolExecutor
from streamlit.runtime.scriptrunner import get_script_run_ctx

from engine.core.catalog import own_folder
from engine.core.part_files.folder import PartsFolder
from engine.core.part_files.use import follow
from engine.errors import CannotRun
from engine.service.pool import WORKERS
from engine.service.worker import polite
from pages.ui import session

MOST, REFRESH_SECONDS, IDLE_SECONDS = 256, 0.2, 600
STILL_SECONDS = 0.3  # in which the page is drawn and painted, and a visitor may move on
CACHED_RESULTS, VISITOR_LEFT = 64, "left"
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
    place, whole = f"{kind} {visitor.session_id if visitor else ''}", (kind, find, given, own_folder())
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
    return run_in_worker(find, *given)


def cached_result(find: Callable[..., Any], *given: Hashable) -> Any:
    """Return a `worker_result`, computed once for the same question."""
    return _cached(own_folder(), find, *given)


@lru_cache(maxsize=CACHED_RESULTS)
def _cached(parts: PartsFolder, find: Callable[..., Any], *given: Hashable) -> Any:
    """Return what is found while the folder of one's own parts, which are choices, is as it is."""
    return worker_result(find, *given)


def worker_result(find: Callable[..., Any], *given: Hashable, meanwhile: Callable[[], None] = lambda: None) -> Any:
    """Return `find(*given)` of a worker process; the visitor's page waits and calls `meanwhile`.

    A visitor who leaves cancels the question.
    """
    future = _PAGES.submit(run_in_worker, find, *given)
    try:
        while not wait([future], REFRESH_SECONDS).done:
            meanwhile()
            st.session_state.get(VISITOR_LEFT)  # Streamlit stops the script here once the visitor has left or moved a knob
        return future.result()
    except BrokenExecutor as error:
        raise CannotRun(str(error)) from error
    finally:
        future.cancel()


def run_in_worker(find: Callable[..., Any], *given: Hashable) -> Any:
    """Return `find(*given)` of this thread's worker process; a fresh one tries once more if it died."""
    thread = get_ident()
    for _ in range(2):
        if thread not in _beside:
            how = {"timeout": IDLE_SECONDS, "initializer": polite, "initargs": (os.getpid(),), **WORKERS}
            _beside[thread] = ProcessPoolExecutor(1, **how)
        try:
            return _beside[thread].submit(_with_parts, own_folder().path, find, *given).result()
        except BrokenExecutor:
            _beside.pop(thread, None)
    raise BrokenExecutor("The process that looks for this ended twice; change a knob, or reload the page.")


def _with_parts(folder: Path | None, find: Callable[..., Any], *given: Hashable) -> Any:
    """In a worker process: return `find(*given)` with the parts of a folder as they are now."""
    follow(folder)
    return find(*given)
