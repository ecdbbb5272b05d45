"""Limits of one run of the protocol, or of one recovery.

A broken protocol may loop, and the judge must stop it.
Operations of the medium are counted. A run or recovery with too many operations counts as endless, on every computer alike. A
run or recovery that takes too much processor time, or waits, has no verdict: a busy computer never makes a sound protocol a
broken one.
"""

import signal
import threading
from collections.abc import Callable
from functools import wraps
from time import thread_time
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from ..core.figures import exact
from ..persistence.media import Media

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
MIN_OPERATIONS, OPERATIONS_PER_BYTE = 20_000, 3  # ten times the need, even of a wrapper that works word by word
PROCESSOR_SECONDS = 20.0  # a run or recovery takes milliseconds, and some seconds at scale
TICK_SECONDS = 0.25  # between two readings of the processor time
WAITING_TICKS, WAITING_SECONDS = 240, 0.001  # this many ticks in a row with less processor time each count as waiting
ENDLESS = "it does not end"


class NoEnd(BaseException):
    """Raised when a run of the protocol does not end.

    NoEnd is no Exception, so that no handler inside the run catches it.
    """


class NoVerdict(BaseException):
    """No verdict on a run or recovery, because its processor time is used up."""


BREAKS = (Exception, NoEnd, SystemExit)  # failures of a broken medium; a user's interrupt and a lack of time are none


class OperationBudget:
    """The remaining number of operations of a run or recovery."""

    def __init__(self, limit: int) -> None:
        self.remaining = limit

    def spend(self) -> None:
        """Count an operation; raises NoEnd."""
        self.remaining -= 1
        if self.remaining < 0:
            raise NoEnd(f"{ENDLESS}; it was stopped after too many operations on the medium.")


class CountedMedia:
    """A medium that counts each operation and passes it on."""

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
    """Return an upper limit of the operations of a run or recovery on `nbytes` bytes."""
    return MIN_OPERATIONS + OPERATIONS_PER_BYTE * nbytes


def with_counted_operations(media: Any, wrap: Callable[[Media], Media] | None, limit: int) -> Media:
    """Return a medium, perhaps wrapped, whose operations are counted on both sides of the wrapper."""
    budget = OperationBudget(limit)
    counted_media: Any = CountedMedia(media, budget)
    return CountedMedia(wrap(counted_media), budget) if wrap else counted_media


def processor_limited(run: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Return the run or recovery with a limit on its time.

    NoVerdict is raised after too much processor time, or after a long wait.
    A timer reads the processor time now and then; only the main thread can be interrupted.
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
            if active and processor_time - start >= PROCESSOR_SECONDS:
                raise NoVerdict(f"after {exact(PROCESSOR_SECONDS)} s of processor time it is not known whether it ends")
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
