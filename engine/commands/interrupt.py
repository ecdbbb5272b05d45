"""Ctrl-C while a kernel computes: Python would notice it only when the kernel has returned."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_once() -> Iterator[None]:
    """Let Ctrl-C end the process by the system's hand during the block, in which nothing is written that could be half done."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # ignored, or somebody else's
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
