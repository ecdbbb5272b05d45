"""Limits of time and operations: a broken medium may loop, and the explorer must report that instead of joining it."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ..persistence.media import Media, Octets

MOST_OPERATIONS = 20_000  # a recovery or a run of the explorer's size takes some hundred


class NoEnd(BaseException):
    """A run of the protocol does not end; not an Exception, so that no handler inside it takes it for its own."""


BREAKS = (Exception, NoEnd, SystemExit)  # whatever a broken medium does; an interrupt is the user's


class OperationLimit:
    """Passes everything on until there have been too many operations."""

    def __init__(self, media: Media, most: int = MOST_OPERATIONS) -> None:
        self._media, self._left = media, most

    def load(self, address: int, nbytes: int) -> bytes:
        """Load."""
        return self._pull().load(address, nbytes)

    def store(self, address: int, data: Octets) -> None:
        """Store."""
        self._pull().store(address, data)

    def flush(self, address: int, nbytes: int) -> None:
        """Flush."""
        self._pull().flush(address, nbytes)

    def fence(self) -> None:
        """Fence."""
        self._pull().fence()

    def device_write(self, address: int, data: Octets) -> None:
        """Write from the device."""
        self._pull().device_write(address, data)

    def poisoned(self, address: int, nbytes: int) -> bool:
        """Say whether a line is lost."""
        return self._pull().poisoned(address, nbytes)

    def _pull(self) -> Media:
        self._left -= 1
        if self._left < 0:
            raise NoEnd("it does not end; it was stopped after too many operations of the medium.")
        return self._media


def restart_clock() -> None:
    """Begin to be patient anew: one run of the protocol has ended, and another begins."""
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
        seconds = signal.getitimer(signal.ITIMER_REAL)[1]
        if seconds and signal.getsignal(signal.SIGALRM) in _ALARMS:
            signal.setitimer(signal.ITIMER_REAL, seconds, seconds)


_ALARMS: list[object] = []


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise Stuck in the block after so many seconds without `afresh`, where the platform can: in the main thread."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise NoEnd(f"it does not end; it was stopped after {seconds:g} s.")

    before = signal.signal(signal.SIGALRM, stop)
    _ALARMS.append(stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        _ALARMS.remove(stop)
