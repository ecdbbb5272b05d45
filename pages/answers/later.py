"""Slow questions, answered by worker processes; answers are cached.

A page that can be drawn without the answer takes a future from `answer`, which is cancelled once its visitor has asked another
question. A part of a page is drawn by `draw_when_known`, and the rest of the page at once. A page that needs the answer first
calls `cached_result`, which waits. The work of these two goes on when visitors leave.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, get_ident
from time import monotonic, sleep
from typing import Any

import streamlit as st
from loky import ProcessPoolExecutor
from streamlit.runtime.scriptrunner import get_script_run_ctx

from engine.core.catalog import own_folder
from engine.core.part_files.use import follow_folder
from engine.errors import CannotRun
from engine.service.pool import WORKERS
from engine.service.worker import lower_priority
from pages.answers import turns
from pages.ui import session

MAX_ANSWERS, REFRESH_SECONDS, IDLE_SECONDS = 256, 0.5, 600
SETTLE_SECONDS = 0.3  # seconds before work begins: the page is drawn, and a visitor may move on
CACHED_RESULTS = 256
QUICK_SECONDS = 0.2  # an answer that comes within this time is waited for: to draw the page twice would take longer
PATIENCE_SECONDS = 20.0  # a question that nobody has waited for in this time is not begun
# These outlive visitors' threads: a process ends with the thread that began it, and each of these threads has one of its own.
_SHORT_POOL = ThreadPoolExecutor(1, "later")
_LONG_POOL = ThreadPoolExecutor(1, "long")  # for answers of seconds, so that short ones need not wait
_PAGE_POOL = ThreadPoolExecutor(2, "pages")  # so that visitors need not wait for each other
_workers: dict[int, ProcessPoolExecutor] = {}  # by thread
_futures: OrderedDict[Hashable, Future[Any]] = OrderedDict()
_questions: dict[str, Hashable] = {}
_shared_answers: "OrderedDict[Hashable, SharedAnswer]" = OrderedDict()
_lock = Lock()


class NobodyWaits(Exception):
    """Raised for a question that no visitor waits for any more."""


@dataclass
class SharedAnswer:
    """The answer for all visitors with the same question.

    future: the answer. waited: when a visitor last waited for it, in monotonic seconds.
    """

    waited: float = field(default_factory=monotonic)
    future: Future[Any] = field(default_factory=Future)

    @property
    def has_failed(self) -> bool:
        """Whether the computation ended with an error."""
        return self.future.done() and self.future.exception() is not None

    @property
    def is_given_up(self) -> bool:
        """Whether it was not begun, since all visitors had left."""
        return self.has_failed and isinstance(self.future.exception(), NobodyWaits)

    @property
    def is_known(self) -> bool:
        """Whether the answer or its error is known."""
        return self.future.done() and not self.is_given_up

    def compute(self, find: Callable[..., Any], *arguments: Hashable) -> Any:
        """Return the answer from a worker process; raises NobodyWaits if all visitors have left long ago."""
        if monotonic() - self.waited > PATIENCE_SECONDS:
            raise NobodyWaits
        return run_in_worker(find, *arguments)


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


def draw_when_known(
    words: str, draw: Callable[[Any], None], find: Callable[..., Any], *arguments: Hashable, quick_seconds: float = QUICK_SECONDS
) -> bool:
    """Call `draw` with `find(*arguments)`, computed by a worker process, once for all visitors; return whether it is known.

    Until it is known a caption says `words` ("" for none) in its place, and the page is drawn again when it is. An answer that
    failed raises its EmberpoolError, and is tried again when next asked for. quick_seconds: the time for which it is waited for.
    """
    shared_answer = shared(find, *arguments)
    with st.container():  # what is below keeps its place
        _is_done_within(quick_seconds, shared_answer.future)
        if is_known := shared_answer.is_known:
            draw(_result_once(shared_answer))
        else:
            if words:
                st.caption(f"{words} ...")
            _redraw_when_known(find, arguments)
    return is_known


def _redraw_when_known(find: Callable[..., Any], arguments: tuple[Hashable, ...]) -> None:
    def look() -> None:
        if shared(find, *arguments).is_known:  # asked again, so that the question counts as waited for
            session.redraw()

    st.fragment(look, run_every=REFRESH_SECONDS)()


def _result_once(shared_answer: SharedAnswer) -> Any:
    """Return a known answer; forget it if it failed, so that it is tried again."""
    try:
        return shared_answer.future.result()
    except BrokenExecutor as error:
        raise CannotRun(str(error)) from error
    finally:
        if shared_answer.future.exception():
            with _lock:
                for question_key in [key for key, known in _shared_answers.items() if known is shared_answer]:
                    del _shared_answers[question_key]


def cached_result(find: Callable[..., Any], *arguments: Hashable, meanwhile: Callable[[], None] = lambda: None) -> Any:
    """Return `find(*arguments)` computed by a worker process, once for all visitors; wait for it.

    While the page waits, `meanwhile` is called again and again. If the visitor leaves, the work goes on and its answer is cached.
    """
    while True:
        shared_answer = _shared_answer(find, arguments, retry=True)

        def look(shared_answer: SharedAnswer = shared_answer) -> None:
            shared_answer.waited = monotonic()
            meanwhile()

        with suppress(NobodyWaits):  # given up just before this visitor came: asked again
            return _wait_for(shared_answer.future, look)


def shared(find: Callable[..., Any], *arguments: Hashable) -> SharedAnswer:
    """Return the answer that all visitors share, computed or being computed."""
    return _shared_answer(find, arguments)


def _shared_answer(find: Callable[..., Any], arguments: tuple[Hashable, ...], retry: bool = False) -> SharedAnswer:
    """Return a question's answer, computed or being computed; `retry`: whether a failed one is tried again."""
    question_key = (find, arguments, own_folder())
    with _lock:
        shared_answer = _shared_answers.get(question_key)
        if shared_answer is None or shared_answer.is_given_up or (retry and shared_answer.has_failed):
            shared_answer = _shared_answers[question_key] = SharedAnswer()
            shared_answer.future = _PAGE_POOL.submit(shared_answer.compute, find, *arguments)
        shared_answer.waited = monotonic()
        _shared_answers.move_to_end(question_key)
        while len(_shared_answers) > CACHED_RESULTS:
            _shared_answers.popitem(last=False)
    return shared_answer


def worker_result(find: Callable[..., Any], *arguments: Hashable, meanwhile: Callable[[], None] = lambda: None) -> Any:
    """Return `find(*arguments)` computed by a worker process for this visitor alone; wait for it.

    While the page waits, `meanwhile` is called again and again. If the visitor leaves the page, the question is cancelled.
    """
    future = _PAGE_POOL.submit(run_in_worker, find, *arguments)
    try:
        return _wait_for(future, meanwhile)
    finally:
        future.cancel()


def _is_done_within(seconds: float, future: Future[Any]) -> bool:
    """Return whether a future is done in time; other visitors' pages are drawn meanwhile."""
    if not future.done():
        with turns.leave_turn():
            wait([future], seconds)
    return future.done()


def _wait_for(future: Future[Any], meanwhile: Callable[[], None]) -> Any:
    try:
        while not _is_done_within(REFRESH_SECONDS, future):
            meanwhile()
            turns.look_whether_left()
        return future.result()
    except BrokenExecutor as error:
        raise CannotRun(str(error)) from error


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
