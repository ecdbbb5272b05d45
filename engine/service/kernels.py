"""Kernels that a process of their own compiles before they are asked for, and how far it is.

One process does so at a time, and workers wait for it instead of compiling the same. A stamp says that all are there.
"""

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version as installed
from pathlib import Path

from .. import version

FOLDER = Path(__file__).parent.parent / "__pycache__"
READY = "ready"


def compiled() -> bool:
    """Return whether all kernels of this code have been compiled here; not sure of it where the stamp cannot be kept."""
    with suppress(OSError):
        return _stamp().read_text(encoding="utf-8") == _made_for()
    return False


def _stamp() -> Path:
    return FOLDER / f"kernels.{sys.implementation.cache_tag}"


def _made_for() -> str:
    return f"{version.CODE} {installed('numba')} {os.environ.get('NUMBA_CACHE_DIR', '')}"


class Compiling(threading.Thread):
    """A command that compiles, begun now: `done` kernels of `total` that are known of, and `ready` for the first page."""

    def __init__(self, command: Sequence[str]) -> None:
        super().__init__(daemon=True)
        self.command, self.done, self.total, self.ready = command, 0, 0, threading.Event()
        self.start()

    def run(self) -> None:
        """Follow the process to its end; whatever ends it, nobody waits longer."""
        try:
            with subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8") as process:
                for line in process.stdout or ():
                    if line.strip() == READY:
                        self.ready.set()
                    elif line.strip():
                        self.done, self.total = map(int, line.split())
        except OSError:  # no memory for another process: the page compiles by itself
            return
        finally:
            self.ready.set()


def await_compiled() -> None:
    """Wait while another process compiles."""
    with _alone(fcntl.LOCK_SH):
        return


@contextmanager
def _alone(how: int) -> Iterator[None]:
    """Hold the lock of whoever compiles; none where the checkout cannot be written to."""
    try:
        FOLDER.mkdir(exist_ok=True)
        lock = os.open(FOLDER / "kernels.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        yield
        return
    try:
        fcntl.flock(lock, how)
        yield
    finally:
        os.close(lock)


def compile_all(uses: Iterator[None], say: Callable[[str], None]) -> None:
    """Compile what is missing, and say how far that is: kernels done and known of, and READY after the first of the uses."""
    with _alone(fcntl.LOCK_EX):
        if compiled():
            return
        from ..core.jit import report_compilation  # late: workers that wait stay small

        report_compilation(lambda done, known: say(f"{done} {known}"))
        next(uses)
        say(READY)
        for _ in uses:
            pass
        with suppress(OSError):
            _stamp().write_text(_made_for(), encoding="utf-8")
