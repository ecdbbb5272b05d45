"""Timing of operators: interleaved repeats, the median of each, its spread, and whether the machine was busy."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import NamedTuple

from ..core.figures import percent

Kernel = Callable[[], object]
LEAST = 1e-3  # seconds that a repeat takes: a call that is shorter is repeated within it
WIDE = 0.25  # of the median: a spread beyond which a figure is said to be uncertain
BUSY = 0.10  # of the cores' time that other work had


class Timing(NamedTuple):
    """Seconds of a call: the median of repeats, and how far its middle half reaches, as a share of it."""

    seconds: float
    spread: float
    repeats: int


def measured(kernels: Mapping[str, Kernel], rounds: int) -> dict[str, list[float]]:
    """Time kernels in turn, so many rounds, each at least LEAST a round; return the seconds of a call in each round."""
    calls = {name: _calls(kernel) for name, kernel in kernels.items()}
    times: dict[str, list[float]] = {name: [] for name in kernels}
    for _ in range(rounds):
        for name, kernel in kernels.items():
            begun = perf_counter()
            for _ in range(calls[name]):
                kernel()
            times[name].append((perf_counter() - begun) / calls[name])
    return times


def timing(seconds: list[float]) -> Timing:
    """Return the timing of some repeats."""
    middle = median(seconds)
    low, _, high = quantiles(seconds, n=4) if len(seconds) > 1 else (middle,) * 3
    return Timing(middle, (high - low) / middle if middle else 0.0, len(seconds))


def _calls(kernel: Kernel) -> int:
    """Return how many calls take LEAST, after one that warms up."""
    kernel()
    begun = perf_counter()
    kernel()
    once = perf_counter() - begun
    return max(1, min(10_000, round(LEAST / max(once, 1e-7))))


class Cpu(NamedTuple):
    """Seconds of all cores since the start: in all, idle, and taken by other machines on the same hardware."""

    all: float
    idle: float
    stolen: float


def cpu_times() -> Cpu | None:
    """Return what the cores did so far; None where the system does not say."""
    with suppress(OSError, ValueError, IndexError):
        found = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]]
        tick = os.sysconf("SC_CLK_TCK")
        return Cpu(sum(found) / tick, (found[3] + found[4]) / tick, found[7] / tick)
    return None


def busy_notes(before: Cpu | None, after: Cpu | None, own_seconds: float, timings: Mapping[str, Timing]) -> Iterator[str]:
    """Yield sentences on what disturbed a measurement, given the seconds of all cores that it used itself."""
    if before and after and (total := after.all - before.all) > 0:
        other = (total - (after.idle - before.idle) - (after.stolen - before.stolen) - own_seconds) / total
        if other > BUSY:
            yield f"Other work had {percent(other)} of the cores: the machine was busy, measure again when it is quiet."
        if (stolen := (after.stolen - before.stolen) / total) > BUSY / 2:
            yield f"The hypervisor took {percent(stolen)} of the cores away: rates are those of a shared machine."
    wide = [name for name, one in timings.items() if one.spread > WIDE]
    if wide:
        yield f"{len(wide)} of {len(timings)} figures spread by more than {percent(WIDE)}: {', '.join(wide[:4])}."
