"""Compilation of all kernels before they are needed, in a process that reports progress.

A kernel is a function that Numba compiles. Only one process compiles; workers wait for it instead of compiling the same kernels.
A stamp file says that all kernels are compiled.
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


def all_compiled() -> bool:
    """Return whether all kernels of this code are compiled on this computer.

    Return False if the stamp file cannot be read.
    """
    with suppress(OSError):
        return _stamp().read_text(encoding="utf-8") == _stamp_text()
    return False


def _stamp() -> Path:
    return FOLDER / f"kernels.{sys.implementation.cache_tag}"


def _stamp_text() -> str:
    return f"{version.CODE} {installed('numba')} {os.environ.get('NUMBA_CACHE_DIR', '')}"


class CompileProcess(threading.Thread):
    """A thread that runs a compiling command and reads its progress.

    `done` of `total` known kernels are compiled; the event `ready` is set once the first page can be drawn.
    """

    def __init__(self, command: Sequence[str]) -> None:
        super().__init__(daemon=True)
        self.command, self.done, self.total, self.ready = command, 0, 0, threading.Event()
        self.start()

    def run(self) -> None:
        """Read the command's progress until it ends; then set `ready`, also after an error."""
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
    """Wait until no other process compiles kernels."""
    with _compile_lock(fcntl.LOCK_SH):
        return


@contextmanager
def _compile_lock(lock_mode: int) -> Iterator[None]:
    """Hold the lock of the compiling process; no lock where the checkout cannot be written."""
    try:
        FOLDER.mkdir(exist_ok=True)
        lock = os.open(FOLDER / "kernels.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        yield
        return
    try:
        fcntl.flock(lock, lock_mode)
        yield
    finally:
        os.close(lock)


def compile_all(uses: Iterator[None], say: Callable[[str], None]) -> None:
    """Compile the missing kernels, and report the progress by `say`.

    `uses` compiles the kernels when iterated. Each report has the numbers of compiled and of known kernels, or is READY after the
    first item of `uses`.
    """
    with _compile_lock(fcntl.LOCK_EX):
        if all_compiled():
            return
        from ..core.jit import report_compilation  # late: workers that wait stay small

        report_compilation(lambda done_count, total_count: say(f"{done_count} {total_count}"))
        next(uses)
        say(READY)
        for _ in uses:
            pass
        with suppress(OSError):
            _stamp().write_text(_stamp_text(), encoding="utf-8")
