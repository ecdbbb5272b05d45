"""Timing of operators: interleaved repeats, medians, spreads, and other load on the machine."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import NamedTuple

from ..core.arithmetic import total
from ..core.figures import count, percent

Kernel = Callable[[], object]
MIN_SECONDS = 1e-3  # least seconds of a repeat: shorter calls are repeated within it
MAX_SPREAD = 0.25  # share of the median: a larger spread makes a figure uncertain
MAX_OTHER_SHARE = 0.10  # share of the cores' time for other work


class Timing(NamedTuple):
    """The timing of one call.

    seconds: the median of repeats. spread: their interquartile range as a share of it. repeats: their number.
    """

    seconds: float
    spread: float
    repeats: int


def time_kernels(kernels: Mapping[str, Kernel], rounds: int) -> dict[str, list[float]]:
    """Time kernels in turn for some rounds; return a call's seconds by kernel and round.

    A round of a kernel lasts at least LEAST seconds.
    """
    num_calls = {name: _calls_a_round(kernel) for name, kernel in kernels.items()}
    times: dict[str, list[float]] = {name: [] for name in kernels}
    for _ in range(rounds):
        for name, kernel in kernels.items():
            start_time = perf_counter()
            for _ in range(num_calls[name]):
                kernel()
            times[name].append((perf_counter() - start_time) / num_calls[name])
    return times


def timing_of(seconds: list[float]) -> Timing:
    """Return the timing of a call from the seconds of its repeats."""
    middle = median(seconds)
    low, _, high = quantiles(seconds, n=4) if len(seconds) > 1 else (middle,) * 3
    return Timing(middle, (high - low) / middle if middle else 0.0, len(seconds))


def _calls_a_round(kernel: Kernel) -> int:
    """Return how many calls take LEAST, after a warm-up call."""
    kernel()
    start_time = perf_counter()
    kernel()
    call_seconds = perf_counter() - start_time
    return max(1, min(10_000, round(MIN_SECONDS / max(call_seconds, 1e-7))))


class CpuTimes(NamedTuple):
    """Seconds of all cores since boot.

    total: all seconds. idle: idle seconds. stolen: seconds that the hypervisor gave to others.
    """

    total: float
    idle: float
    stolen: float


def cpu_times() -> CpuTimes | None:
    """Return the seconds of all cores since boot; None where the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        ticks = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]]
        tick = os.sysconf("SC_CLK_TCK")
        return CpuTimes(total(ticks) / tick, (ticks[3] + ticks[4]) / tick, ticks[7] / tick)
    return None


def busy_notes(
    start_times: CpuTimes | None, end_times: CpuTimes | None, own_seconds: float, timings: Mapping[str, Timing]
) -> Iterator[str]:
    """Yield notes on other load during a measurement, and on figures with a large spread.

    own_seconds: core seconds that the measurement itself used.
    """
    if start_times and end_times and (total := end_times.total - start_times.total) > 0:
        other_share = (
            total - (end_times.idle - start_times.idle) - (end_times.stolen - start_times.stolen) - own_seconds
        ) / total
        if other_share > MAX_OTHER_SHARE:
            yield f"Other programs used {percent(other_share)} of the cores: measure again when the machine is idle."
        if (stolen := (end_times.stolen - start_times.stolen) / total) > MAX_OTHER_SHARE / 2:
            yield f"The hypervisor took away {percent(stolen)} of the cores' time: the rates are those of a shared machine."
    uncertain_names = [name for name, operator_timing in timings.items() if operator_timing.spread > MAX_SPREAD]
    if uncertain_names:
        names = ", ".join(uncertain_names[:4])
        yield f"{len(uncertain_names)} of {count(len(timings), 'figure')} spread by more than {percent(MAX_SPREAD)}: {names}."
