"""Slow questions, answered by worker processes; answers are cached.

A question is cancelled once its visitor has asked another one.
A page that can be drawn without the answer takes a future from `answer`. A page that needs the answer first calls
`cached_result`, which waits.
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
from engine.core.part_files.use import follow_folder
from engine.errors import CannotRun
from engine.service.pool import WORKERS
from engine.service.worker import lower_priority
from pages.ui import session

MAX_ANSWERS, REFRESH_SECONDS, IDLE_SECONDS = 256, 0.2, 600
SETTLE_SECONDS = 0.3  # seconds before work begins: the page is drawn, and a visitor may move on
CACHED_RESULTS, VISITOR_LEFT = 64, "left"
# These outlive visitors' threads: a process ends with the thread that began it, and each of these threads has one of its own.
_SHORT_POOL = ThreadPoolExecutor(1, "later")
_LONG_POOL = ThreadPoolExecutor(1, "long")  # for answers of seconds, so that short ones need not wait
_PAGE_POOL = ThreadPoolExecutor(2, "pages")  # so that visitors need not wait for each other
_workers: dict[int, ProcessPoolExecutor] = {}  # by thread
_futures: OrderedDict[Hashable, Future[Any]] = OrderedDict()
_questions: dict[str, Hashable] = {}
_lock = Lock()


class NobodyWaits(Exception):
    """Raised for a question whose visitor has asked another one since."""


def answer(kind: str, find: Callable[..., Any], *arguments: Hashable, long: bool = False) -> Future[Any]:
    """Return the future of `find(*arguments)`; a worker starts it soon unless it is cached.

    kind: the kind of question; a session waits for one answer of a kind at a time. long: whether the answer takes seconds.
    """
    visitor = get_script_run_ctx()
    place, question_key = f"{kind} {visitor.session_id if visitor else ''}", (kind, find, arguments, own_folder())
    with _lock:
        _questions[place] = question_key
        while len(_questions) > MAX_ANSWERS:
            del _questions[next(iter(_questions))]
        future = _futures.get(question_key)
        if future is None or (future.done() and isinstance(future.exception(), NobodyWaits)):
            future = _futures[question_key] = (_LONG_POOL if long else _SHORT_POOL).submit(
                _answer_question, monotonic() + SETTLE_SECONDS, question_key, find, arguments
            )
        _futures.move_to_end(question_key)
        while len(_futures) > MAX_ANSWERS:
            _futures.popitem(last=False)
    return future


def redraw_after(*groups: tuple[Future[Any], ...]) -> None:
    """Draw the page again once all answers of one of the groups are known.

    Without a group whose answers are still missing there is no timer.
    """
    open_groups = [group for group in groups if not _all_done(group)]

    def look() -> None:
        if any(map(_all_done, open_groups)):
            session.redraw()

    if open_groups:
        st.fragment(look, run_every=REFRESH_SECONDS)()


def _all_done(group: tuple[Future[Any], ...]) -> bool:
    return all(future.done() for future in group)


def _answer_question(start_time: float, question_key: Hashable, find: Callable[..., Any], arguments: tuple[Hashable, ...]) -> Any:
    sleep(max(0.0, start_time - monotonic()))
    with _lock:
        waited_for = question_key in _questions.values()
    if not waited_for:
        raise NobodyWaits
    return run_in_worker(find, *arguments)


def cached_result(find: Callable[..., Any], *arguments: Hashable) -> Any:
    """Return `find(*arguments)` computed by a worker process, once for each question."""
    return _cached_answer(own_folder(), find, *arguments)


@lru_cache(maxsize=CACHED_RESULTS)
def _cached_answer(parts: PartsFolder, find: Callable[..., Any], *arguments: Hashable) -> Any:
    """Return an answer, cached while the folder of one's own parts is unchanged."""
    return worker_result(find, *arguments)


def worker_result(find: Callable[..., Any], *arguments: Hashable, meanwhile: Callable[[], None] = lambda: None) -> Any:
    """Return `find(*arguments)` computed by a worker process; wait for it.

    While the page waits, `meanwhile` is called again and again. If the visitor leaves the page, the question is cancelled.
    """
    future = _PAGE_POOL.submit(run_in_worker, find, *arguments)
    try:
        while not wait([future], REFRESH_SECONDS).done:
            meanwhile()
            st.session_state.get(VISITOR_LEFT)  # Streamlit stops the script here once the visitor has left or moved a knob
        return future.result()
    except BrokenExecutor as error:
        raise CannotRun(str(error)) from error
    finally:
        future.cancel()


def run_in_worker(find: Callable[..., Any], *arguments: Hashable) -> Any:
    """Return `find(*arguments)` of this thread's worker process; retry once if it died."""
    thread = get_ident()
    for _ in range(2):
        if thread not in _workers:
            pool_options = {"timeout": IDLE_SECONDS, "initializer": lower_priority, "initargs": (os.getpid(),), **WORKERS}
            _workers[thread] = ProcessPoolExecutor(1, **pool_options)
        try:
            return _workers[thread].submit(_with_parts, own_folder().path, find, *arguments).result()
        except BrokenExecutor:
            _workers.pop(thread, None)
    raise BrokenExecutor("The process that computes this answer has stopped twice; reload the page, or change a knob.")


def _with_parts(folder: Path | None, find: Callable[..., Any], *arguments: Hashable) -> Any:
    """In a worker process: return `find(*arguments)` with a folder's parts as they are now."""
    follow_folder(folder)
    return find(*arguments)
