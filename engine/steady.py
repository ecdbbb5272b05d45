"""The steady state of a timeline: step time, exposed and busy seconds, and joules, per batch and device."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from engine.device import Device, stored
from engine.energy import pmem_work
from engine.result import STAGES, Row
from engine.timeline import Timeline
from engine.work import Amount, Work, written


@dataclass(frozen=True)
class Steady:
    """Averages over the batches after the first two, in seconds, joules and bytes per batch.

    `exposed` is by task, `busy`, `dynamic` (amounts and power swing) and `static` by device; `written` is what
    is stored into persistent memory, `media_written` what its media stores for that.
    """

    step: float
    exposed: tuple[float, ...]
    busy: Mapping[str, float]
    dynamic: Mapping[str, float]
    static: Mapping[str, float]
    written: float
    media_written: float
    rows: tuple[Row, ...]

    @property
    def energy(self) -> float:
        """Joules of a batch, all powered devices."""
        return sum(self.dynamic.values()) + sum(self.static.values())

    def stage(self, name: str) -> float:
        """Exposed seconds of a stage."""
        return float(sum(row["Exposed [s]"] for row in self.rows if row["Stage"] == name))


def steady(timeline: Timeline, devices: Mapping[str, Device]) -> Steady:
    """Average a timeline over its steady-state window."""
    low, high, batches = timeline.window()
    step = (high - low) / batches
    exposed = tuple(float(x) for x in timeline.exposed())
    average = tuple((_mean(b, batches), _mean(d, batches)) for b, d in zip(timeline.busy, timeline.dynamic, strict=True))
    shares = ran(timeline, batches)
    busy, dynamic = dict.fromkeys(devices, 0.0), dict.fromkeys(devices, 0.0)
    for (task, name), (seconds, joules) in zip(timeline.demands, average, strict=True):
        busy[name] += seconds * shares[task]
        dynamic[name] += (joules + seconds * devices[name].busy_watts) * shares[task]
    static = {name: device.idle_watts * step for name, device in devices.items()}
    rows = _rows(timeline, average, exposed, shares, devices, static)
    user = _written(timeline, shares, batches, written)
    media = _written(timeline, shares, batches, partial(stored, devices["pmem"])) if "pmem" in devices else 0.0
    return Steady(step, exposed, busy, dynamic, static, user, media, rows)


def _mean(values: NDArray[np.float64], batches: int) -> float:
    """Return the mean of the last batches; np.mean says the same, but half of its time is spent on getting ready."""
    last = values[-batches:]
    return float(np.add.reduce(last)) / len(last)


def ran(timeline: Timeline, batches: int) -> tuple[float, ...]:
    """Return the share of batches in which each task ran: 1, but less for a log that spans batches."""
    done = np.mean(~np.isnan(timeline.end[-batches:]), axis=0)
    return tuple(float(x) for x in done)


def _written(timeline: Timeline, shares: tuple[float, ...], batches: int, bytes_of: Callable[[Work], Amount]) -> float:
    return sum(shares[k] * _mean(np.atleast_1d(bytes_of(work)), batches) for k, work in pmem_work(timeline))


def _slowest(timeline: Timeline, task: int, average: tuple[tuple[float, float], ...]) -> str:
    """Return the device that sets a task's pace."""
    mine = [(seconds, name) for (k, name), (seconds, _) in zip(timeline.demands, average, strict=True) if k == task]
    return max(mine, key=lambda item: item[0])[1]


def _rows(
    timeline: Timeline,
    average: tuple[tuple[float, float], ...],
    exposed: tuple[float, ...],
    shares: tuple[float, ...],
    devices: Mapping[str, Device],
    static: Mapping[str, float],
) -> tuple[Row, ...]:
    """Return the breakdown: a task's exposed seconds go to the device that sets its pace, static power to Other."""
    table: dict[tuple[str, str], list[float]] = {}
    for (k, name), (seconds, joules) in zip(timeline.demands, average, strict=True):
        task = timeline.graph.tasks[k]
        cell = table.setdefault((task.stage, name), [0.0, 0.0, 0.0])
        cell[0] += seconds * shares[k]
        cell[2] += (joules + seconds * devices[name].busy_watts) * shares[k]
    for k, task in enumerate(timeline.graph.tasks):
        table[task.stage, _slowest(timeline, k, average)][1] += exposed[k]
    for name, watts in static.items():
        table.setdefault(("Other", name), [0.0, 0.0, 0.0])[2] += watts
    ordered = sorted(table, key=lambda key: (STAGES.index(key[0]), list(devices).index(key[1])))
    return tuple(
        {"Stage": stage, "Device": name, "Busy [s]": cell[0], "Exposed [s]": cell[1], "Energy [J]": cell[2]}
        for stage, name in ordered
        for cell in (table[stage, name],)
    )
