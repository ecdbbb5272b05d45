"""Limits of this process: memory, threads of linear algebra, and standard streams."""

import os
import sys
from contextlib import AbstractContextManager, suppress
from functools import cache, lru_cache
from io import TextIOWrapper
from pathlib import Path

from threadpoolctl import ThreadpoolController

from ..errors import NoRoom
from ..units import GiB
from .figures import figure

# Of control groups, version 2 and 1, as a container sees its own.
CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
REMEDY = "lower data.batch_size, run.batches or run.memory_budget_GiB, or run fewer at once with --jobs"
TOO_LARGE = f"It needs more memory than is free; {REMEDY}."


def physical_memory() -> int:
    """Return the bytes of memory of this computer, or the memory limit of its container."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in CONTAINER_LIMITS:
        with suppress(OSError, ValueError):  # no such file, or the limit is "max"
            installed = min(installed, int(limit.read_text(encoding="ascii")))
    return installed


def require_memory(nbytes: float, subject: str, remedy: str) -> None:
    """Raise NoRoom if `nbytes` at once do not fit the memory of this computer.

    `subject` says what needs the memory, `remedy` what the user can do; both are parts of the message.
    """
    if nbytes > physical_memory():
        installed_gib = physical_memory() / GiB
        raise NoRoom(
            f"{subject} takes {figure(nbytes / GiB, 'GiB')} of memory, and this computer has {figure(installed_gib, 'GiB')}; "
            f"{remedy}."
        )


def single_thread() -> AbstractContextManager[object]:
    """Limit every BLAS and OpenMP pool to one thread during the block."""
    limited: AbstractContextManager[object] = _thread_pools(len(sys.modules)).limit(limits=1)
    return limited


@lru_cache(maxsize=1)
def _thread_pools(num_modules: int) -> ThreadpoolController:
    """Return the thread pools of the libraries of so many imported modules; each import may bring a further pool."""
    return ThreadpoolController()


class ClosedStream(TextIOWrapper):
    """A stand-in for a closed standard stream: text written to it is dropped."""

    def __init__(self) -> None:
        super().__init__(open(_nowhere(), "wb", closefd=False), encoding="utf-8")  # noqa: SIM115 (it stays open)


@cache
def _nowhere() -> int:
    return os.open(os.devnull, os.O_WRONLY)


def open_streams() -> None:
    """Open closed standard streams on the null device.

    Worker processes flush these streams when they start. If a stream stayed closed, the next file to be opened would get its
    descriptor, and printed text would go into that file.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, descriptor)  # inheritable, also where it is the same
            if nowhere != descriptor:
                os.close(nowhere)
            os.set_inheritable(descriptor, True)
    sys.stdout, sys.stderr = sys.stdout or ClosedStream(), sys.stderr or ClosedStream()
