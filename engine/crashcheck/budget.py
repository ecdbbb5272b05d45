"""Limits of time and operations: what is broken may loop, and whoever tries it must report that instead of joining it."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

MOST_OPERATIONS = 20_000  # a recovery or a run of the explorer's size takes some hundred


class NoEnd(BaseException):
    """A run of the protocol does not end; not an Exception, so that no handler inside it takes it for its own."""


BREAKS = (Exception, NoEnd, SystemExit)  # whatever a broken medium does; an interrupt is the user's


class OperationLimit:
    """Passes every operation on to the medium until there have been too many."""

    def __init__(self, media: Any, most: int = MOST_OPERATIONS) -> None:
        self._media, self._left = media, most

    def __getattr__(self, operation: str) -> Any:
        """Count an operation, which is looked up each time."""
        self._left -= 1
        if self._left < 0:
            raise NoEnd("it does not end; it was stopped after too many operations of the medium.")
        return getattr(self._media, operation)


def _can_alarm() -> bool:
    return threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")


def _stop(number: int, frame: FrameType | None) -> None:
    raise NoEnd(f"it does not end; it was stopped after {signal.getitimer(signal.ITIMER_REAL)[1]:g} s.")


def restart_clock() -> None:
    """Begin to be patient anew: one run of the protocol has ended, and another begins."""
    if _can_alarm() and signal.getsignal(signal.SIGALRM) is _stop:
        seconds = signal.getitimer(signal.ITIMER_REAL)[1]
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise NoEnd in the block after so many seconds without `restart_clock`, where the platform can: in the main thread."""
    if not _can_alarm():
        yield
        return
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
