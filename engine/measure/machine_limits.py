"""Limits of this machine as it gives them: cores, memory, the processor's name; of a container what its control group allows."""

import os
from contextlib import suppress
from pathlib import Path
from platform import machine, processor

GROUP = Path("/sys/fs/cgroup")


def cores() -> int:
    """Return the cores that this process may use: of its affinity, and of its control group's quota."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = (GROUP / "cpu.max").read_text(encoding="ascii").split()
        if quota != "max":
            found = min(found, max(1, int(quota) // int(period)))
    return found


def memory_bytes() -> float:
    """Return the bytes of memory that this process may use."""
    whole = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError):
        whole = min(whole, float((GROUP / "memory.max").read_text(encoding="ascii")))
    return whole


def free_bytes() -> float:
    """Return the bytes of memory that are free for use."""
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = 1024.0 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
        with suppress(OSError, ValueError):
            used = float((GROUP / "memory.current").read_text(encoding="ascii"))
            free = min(free, memory_bytes() - used)
        return free
    return memory_bytes() / 2


def cpu_name() -> str:
    """Return the processor's name."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line for line in lines if line.startswith("model name")).partition(":")[2].strip()
    return processor() or machine()


def cache_bytes() -> float:
    """Return the bytes of the last cache that cores share; 32 MiB where the system does not say."""
    found = 0.0
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        with suppress(OSError, ValueError):
            text = path.read_text(encoding="ascii").strip()
            found = max(found, float(text.rstrip("KMG")) * {"K": 2**10, "M": 2**20, "G": 2**30}.get(text[-1], 1))
    return found or 32.0 * 2**20
