"""Watts of this host's processors, idle and busy, from Linux's energy counters (RAPL)."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import NamedTuple

from ..core.arithmetic import total
from ..core.figures import figure
from .fitted import MeasuredFigure

COUNTERS = Path("/sys/class/powercap")
IDLE_SECONDS, ACTIVE_SECONDS, QUICK_SECONDS = 2.0, 3.0, 0.5
SLICES = 4  # slices of those seconds, each with its own watts
MICROJOULES = 1e6  # microjoules in a joule
MARGIN = 0.02  # share of a figure that is added to the slices' spread, each way
UNREADABLE = "Power is not measured: this system has no readable energy counters; the watts are those of the nearest part."


class EnergyCounter(NamedTuple):
    """A processor's counter of microjoules.

    path: the counter's file. limit: the reading after which the counter starts again at 0.
    """

    path: Path
    limit: int

    def reading(self) -> int:
        """Return the microjoules so far; raises OSError where this user may not read the counter."""
        return int(self.path.read_text(encoding="ascii"))


class MeasuredPower(NamedTuple):
    """Watts of a host by key, and a note where the counters cannot be read."""

    figures: dict[str, MeasuredFigure]
    notes: tuple[str, ...]


def energy_counters() -> list[EnergyCounter]:
    """Return a counter for each processor; an empty list where a counter cannot be read."""
    counters = []
    try:
        for folder in sorted(COUNTERS.glob("intel-rapl:*")):  # AMD's counters too
            if (folder / "name").read_text(encoding="ascii").startswith("package-"):
                limit = int((folder / "max_energy_range_uj").read_text(encoding="ascii"))
                counters.append(EnergyCounter(folder / "energy_uj", limit))
                counters[-1].reading()
    except (OSError, ValueError):
        return []
    return counters


def measure_power(load: Callable[[], object], quick: bool = False) -> MeasuredPower:
    """Measure watts of all processors, idle and while `load` keeps all cores busy.

    A note says why where that is impossible.
    """
    counters = energy_counters()
    if not counters:
        return MeasuredPower({}, (UNREADABLE,))
    load()  # a warm-up, before the idle seconds begin
    idle_seconds, active_seconds = (QUICK_SECONDS,) * 2 if quick else (IDLE_SECONDS, ACTIVE_SECONDS)
    with suppress(OSError, ValueError):
        idle = [_mean_watts(counters, lambda: sleep(idle_seconds / SLICES)) for _ in range(SLICES)]
        active = [_mean_watts(counters, lambda: _repeat_load(load, active_seconds / SLICES)) for _ in range(SLICES)]
        if min(idle) > 0:
            return MeasuredPower(_figures(idle, active, idle_seconds, active_seconds), ())
    return MeasuredPower({}, (UNREADABLE,))


def _mean_watts(counters: list[EnergyCounter], work: Callable[[], None]) -> float:
    """Return the mean watts of all processors while a function works."""
    start_readings, start_time = [counter.reading() for counter in counters], perf_counter()
    work()
    end_readings, seconds = [counter.reading() for counter in counters], perf_counter() - start_time
    energies = (
        end_reading - start_reading + (counter.limit if end_reading < start_reading else 0)
        for counter, end_reading, start_reading in zip(counters, end_readings, start_readings, strict=True)
    )
    return total(max(0, energy) for energy in energies) / MICROJOULES / seconds


def _repeat_load(load: Callable[[], object], seconds: float) -> None:
    """Repeat a load for so many seconds."""
    start_time = perf_counter()
    while perf_counter() - start_time < seconds:
        load()


def _figures(idle: list[float], active: list[float], idle_seconds: float, active_seconds: float) -> dict[str, MeasuredFigure]:
    """Return the medians of slices; active watts are never below idle ones."""
    notes = (
        f"all processors over {figure(idle_seconds, 's')} of sleep, with the system's own background work",
        f"all processors over {figure(active_seconds, 's')} of matrix products on all cores; a longer load may be throttled",
    )
    lowest = median(idle)
    slices = {"idle-power": idle, "active-power": [max(lowest, watts) for watts in active]}
    return {
        key: MeasuredFigure(median(watts), min(watts) * (1 - MARGIN), max(watts) * (1 + MARGIN), note)
        for (key, watts), note in zip(slices.items(), notes, strict=True)
    }
