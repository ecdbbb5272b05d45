"""Limits of this machine, or of its container's control group: cores, memory, name."""

import os
from contextlib import suppress
from pathlib import Path
from platform import machine, processor

GROUP = Path("/sys/fs/cgroup")


def cores() -> int:
    """Return the number of cores that this process may use, by affinity and cgroup quota."""
    num_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = (GROUP / "cpu.max").read_text(encoding="ascii").split()
        if quota != "max":
            num_cores = min(num_cores, max(1, int(quota) // int(period)))
    return num_cores


def memory_bytes() -> float:
    """Return the bytes of memory that this process may use."""
    total_bytes = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError):
        total_bytes = min(total_bytes, float((GROUP / "memory.max").read_text(encoding="ascii")))
    return total_bytes


def free_bytes() -> float:
    """Return the bytes of memory that are free for use."""
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        available_bytes = 1024.0 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
        with suppress(OSError, ValueError):
            used_bytes = float((GROUP / "memory.current").read_text(encoding="ascii"))
            available_bytes = min(available_bytes, memory_bytes() - used_bytes)
        return available_bytes
    return memory_bytes() / 2


def cpu_name() -> str:
    """Return the processor's name."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line for line in lines if line.startswith("model name")).partition(":")[2].strip()
    return processor() or machine()


def cache_bytes() -> float:
    """Return the bytes of the processor's largest cache; 32 MiB where unknown."""
    largest_cache = 0.0
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        with suppress(OSError, ValueError):
            text = path.read_text(encoding="ascii").strip()
            largest_cache = max(largest_cache, float(text.rstrip("KMG")) * {"K": 2**10, "M": 2**20, "G": 2**30}.get(text[-1], 1))
    return largest_cache or 32.0 * 2**20
