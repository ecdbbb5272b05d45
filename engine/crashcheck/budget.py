"""Limits of one run of the log protocol, or of one recovery.

A broken protocol may loop, and the checker must stop it. The operations on the medium are counted: a run with too many operations
counts as endless, on every computer alike. A run that takes too much processor time, or that waits, has no verdict. So a slow
computer never makes a correct protocol appear broken.
"""

import signal
import sysconfig
import threading
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from time import thread_time
from traceback import walk_tb
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from ..core.figures import exact
from ..persistence.media import Media

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
MIN_OPERATIONS, OPERATIONS_PER_BYTE = 20_000, 3  # ten times the need, even of a wrapper that works word by word
OPERATIONS_PER_CHECK = 32  # between two readings of the processor time without a timer
PROCESSOR_SECONDS = 20.0  # a run or recovery takes milliseconds, and some seconds at scale
TICK_SECONDS = 0.25  # between two readings of the processor time
WAITING_TICKS, WAITING_SECONDS = 240, 0.001  # this many ticks in a row with less processor time each count as waiting
ENDLESS = "it does not end"


class NoEnd(BaseException):
    """Raised when a run of the log protocol does not end.

    The class is not derived from Exception, so that no handler inside the run catches it.
    """


class NoVerdict(BaseException):
    """Raised when a run or recovery has used up its processor time, or waits.

    There is then no verdict on the state.
    """


BREAKS = (Exception, NoEnd, SystemExit)  # failures of a broken medium; a user's interrupt and a lack of time are none

CHECKER = Path(__file__).parent
LIBRARIES = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


class MalformedAnswer(Exception):
    """Raised if the log protocol answers senselessly, as with a slot outside the medium."""


def failure_sentence(error: BaseException) -> str:
    """Return the sentence of invariant I1 about an exception out of the log protocol.

    Raises the exception again if it is the checker's own.
    """
    if is_own(error):
        raise error
    return f"I1: the check ended in {type(error).__name__}: {error}"


def is_own(error: BaseException) -> bool:
    """Return whether an exception is the checker's own: its innermost frame is of this package.

    Frames of libraries do not count, nor those of counted media, which pass on what the protocol asks for.
    """
    files = [Path(frame.f_code.co_filename) for frame, _ in walk_tb(error.__traceback__)]
    callers = [file for file in files if file != Path(__file__) and not _is_of_library(file)]
    return not isinstance(error, MalformedAnswer) and bool(callers) and callers[-1].is_relative_to(CHECKER)


def _is_of_library(file: Path) -> bool:
    """Return whether a file is of Python or of a package, and not of the engine, which may be installed beside them."""
    return not file.is_relative_to(CHECKER.parent) and (str(file)[:1] == "<" or any(map(file.is_relative_to, LIBRARIES)))


class OperationBudget:
    """The operations and the processor time that a run or recovery may still take."""

    def __init__(self, limit: int) -> None:
        self.remaining, self._start = limit, thread_time()

    def spend(self) -> None:
        """Subtract one operation.

        Raises NoEnd if none is left, and NoVerdict if the thread has used up its processor time.
        """
        self.remaining -= 1
        if self.remaining < 0:
            raise NoEnd(f"{ENDLESS}; it was stopped after too many operations on the medium.")
        if self.remaining % OPERATIONS_PER_CHECK == 0:
            check_processor_time(self._start)


def check_processor_time(start: float) -> None:
    """Raise NoVerdict if this thread has used up its processor time.

    `start` is the `thread_time` at which it began [s].
    """
    if thread_time() - start >= PROCESSOR_SECONDS:
        raise NoVerdict(f"after {exact(PROCESSOR_SECONDS)} s of processor time it is not known whether it ends")


class CountedMedia:
    """A medium that subtracts each operation from a budget, and then carries it out."""

    def __init__(self, media: Any, budget: OperationBudget) -> None:
        self._media, self._budget = media, budget

    def __getattr__(self, name: str) -> Any:
        """Return an operation that counts each of its calls; a plain attribute counts at once."""
        attribute = getattr(self._media, name)
        if not callable(attribute):
            self._budget.spend()
            return attribute

        def operation(*arguments: Any) -> Any:
            self._budget.spend()
            return attribute(*arguments)

        return operation


def max_operations(nbytes: int) -> int:
    """Return the most operations of a run or recovery on a medium of `nbytes` bytes."""
    return MIN_OPERATIONS + OPERATIONS_PER_BYTE * nbytes


def with_counted_operations(media: Any, wrap: Callable[[Media], Media] | None, limit: int) -> Media:
    """Return the medium with counted operations, and wrapped by `wrap` if given.

    Operations are counted before and after the wrapper. `limit` is the number of operations allowed.
    """
    budget = OperationBudget(limit)
    counted_media: Any = CountedMedia(media, budget)
    return CountedMedia(wrap(counted_media), budget) if wrap else counted_media


def processor_limited(run: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Return the function `run` with a limit on its time.

    NoVerdict is raised after too much processor time, or after a long wait. A timer checks both regularly, but only in the main
    thread. In other threads every 32nd operation on the medium checks the processor time.
    """

    @wraps(run)
    def limited(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
            return run(*args, **kwargs)
        last_time = start = thread_time()
        idle, active = 0, False

        def look(number: int, frame: FrameType | None) -> None:
            nonlocal last_time, idle
            processor_time = thread_time()
            idle, last_time = (
                (idle + 1 if processor_time - last_time < WAITING_SECONDS else 0),
                processor_time,
            )  # a stopped process gets one tick, not many
            if active:
                check_processor_time(start)
            if active and idle >= WAITING_TICKS:
                raise NoVerdict("it waits for something, and takes no processor time")

        handler = signal.signal(signal.SIGALRM, look)
        timer = signal.setitimer(signal.ITIMER_REAL, TICK_SECONDS, TICK_SECONDS)
        try:
            active = True
            return run(*args, **kwargs)
        finally:
            active = False  # a tick from here on must not prevent that the timer is restored
            signal.setitimer(signal.ITIMER_REAL, *timer)
            signal.signal(signal.SIGALRM, handler)

    return limited
