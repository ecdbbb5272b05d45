"""Limits of one run of the protocol, or of one recovery: what is broken may loop, and the judge must not join it.

Operations of the medium are counted. A run or recovery of too many does not end, on every computer alike. What takes too much
time of the processor, or waits for something, has no verdict: a busy computer never makes a sound protocol a broken one.
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
Value = TypeVar("Value")
LEAST_OPERATIONS, OPERATIONS_PER_BYTE = 20_000, 3  # ten times what is needed, even by a wrapper that works word by word
PROCESSOR_SECONDS = 20.0  # a run or recovery takes milliseconds, and some seconds at scale
TICK_SECONDS = 0.25  # between two looks at the processor time
WAITING_TICKS, WAITING_SECONDS = 240, 0.001  # so many ticks in a row, each with less processor time, are waiting
ENDLESS = "it does not end"


class NoEnd(BaseException):
    """A run of the protocol does not end; not an Exception, so that no handler inside it takes it for its own."""


class NoVerdict(BaseException):
    """The processor time is used up, and nothing is known of the run or recovery."""


BREAKS = (Exception, NoEnd, SystemExit)  # whatever a broken medium does; an interrupt is the user's, a lack of time nobody's


class OperationBudget:
    """The number of operations that a run or recovery has left."""

    def __init__(self, most: int) -> None:
        self.left = most

    def spend(self) -> None:
        """Count an operation; raises NoEnd."""
        self.left -= 1
        if self.left < 0:
            raise NoEnd(f"{ENDLESS}; it was stopped after too many operations of the medium.")


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


def most_operations(nbytes: int) -> int:
    """Return the operations that no run or recovery on so many bytes needs."""
    return LEAST_OPERATIONS + OPERATIONS_PER_BYTE * nbytes


def counted(media: Any, wrap: Callable[[Media], Media] | None, most: int) -> Media:
    """Return a medium, perhaps wrapped, whose operations are counted on both sides of the wrapper."""
    budget = OperationBudget(most)
    seen: Any = CountedMedia(media, budget)
    return CountedMedia(wrap(seen), budget) if wrap else seen


def processor_limited(run: Callable[Arguments, Value]) -> Callable[Arguments, Value]:
    """Return a run or recovery that raises NoVerdict once it has used up its processor time, or has used none for long.

    The clock only says when to look; only the main thread can be interrupted.
    """

    @wraps(run)
    def limited(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Value:
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
            return run(*args, **kwargs)
        last = start = thread_time()
        idle, active = 0, False

        def look(number: int, frame: FrameType | None) -> None:
            nonlocal last, idle
            now = thread_time()
            idle, last = (idle + 1 if now - last < WAITING_SECONDS else 0), now  # a stopped process gets one tick, not many
            if active and now - start >= PROCESSOR_SECONDS:
                raise NoVerdict(f"after {exact(PROCESSOR_SECONDS)} s of processor time it is not known whether it ends")
            if active and idle >= WAITING_TICKS:
                raise NoVerdict("it waits for something, and takes no processor time")

        handler = signal.signal(signal.SIGALRM, look)
        timer = signal.setitimer(signal.ITIMER_REAL, TICK_SECONDS, TICK_SECONDS)
        try:
            active = True
            return run(*args, **kwargs)
        finally:
            active = False  # a tick from here on must not keep the clock from its owner
            signal.setitimer(signal.ITIMER_REAL, *timer)
            signal.signal(signal.SIGALRM, handler)

    return limited
