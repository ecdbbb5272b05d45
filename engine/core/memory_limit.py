"""What this computer's own memory can hold: a run that needs more is refused before the system ends it, or its neighbours."""

import os
from contextlib import suppress
from pathlib import Path

from ..errors import NoRoom
from ..units import GiB

# Of control groups, version 2 and 1, as a container sees its own.
CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
REMEDY = "lower data.batch_size, run.batches or run.memory_budget_GiB, or run fewer at once with --jobs"
TOO_LARGE = f"It needs more memory than is free; {REMEDY}."


def physical() -> int:
    """Return the bytes of memory in this computer, or in the container that it is, which may have less."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in CONTAINER_LIMITS:
        with suppress(OSError, ValueError):  # there is none, or it says "max"
            whole = min(whole, int(limit.read_text()))
    return whole


def demand(nbytes: float, what: str, remedy: str) -> None:
    """Raise NoRoom if this computer cannot hold so many bytes at once; `what` takes them."""
    if nbytes > physical():
        here = physical() / GiB
        raise NoRoom(f"{what} takes {nbytes / GiB:.3g} GiB of memory, and this computer has {here:.3g} GiB; {remedy}.")
