"""The steady state of a timeline: step time, exposed and busy seconds, and joules, per batch and device."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.arrays import Floats, Row
from ..core.work import written
from ..hardware.device import Device, stored
from .averages import average, empty_averages
from .kernels.template import Averages
from .layout import accounts_of
from .timeline import Timeline

Cell = tuple[str, str, float, float, float]


@dataclass(frozen=True)
class Steady:
    """Averages over the batches after the first two, in seconds, joules and bytes per batch.

    `exposed` is by task, `busy`, `dynamic` (amounts and power swing) and `static` by device; `written` is what
    is stored into persistent memory, `media_written` what its media stores for that. `cells` are the rows of the breakdown:
    stage, device, busy seconds, exposed seconds, joules.
    """

    step: float
    exposed: tuple[float, ...]
    busy: Mapping[str, float]
    dynamic: Mapping[str, float]
    static: Mapping[str, float]
    written: float
    media_written: float
    cells: tuple[Cell, ...]

    @property
    def energy(self) -> float:
        """Joules of a batch, all powered devices."""
        return sum(self.dynamic.values()) + sum(self.static.values())

    @property
    def rows(self) -> tuple[Row, ...]:
        """The breakdown: a task's exposed seconds are at the device that sets its pace, static power is at Other."""
        return tuple(
            {"Stage": stage, "Device": name, "Busy [s]": busy, "Exposed [s]": exposed, "Energy [J]": joules}
            for stage, name, busy, exposed, joules in self.cells
        )

    def stage(self, name: str) -> float:
        """Exposed seconds of a stage."""
        return sum([cell[3] for cell in self.cells if cell[0] == name])


def steady(timeline: Timeline, devices: Mapping[str, Device]) -> Steady:
    """Average a timeline over its steady-state window."""
    low, high, batches = timeline.window()
    shares = ran(timeline, batches)
    accounts, cells = accounts_of(timeline.graph.tasks, tuple(devices))
    mean = np.zeros((4, len(timeline.demands)))
    mean[0], mean[1] = ([_mean(some, batches) for some in each] for each in (timeline.busy, timeline.dynamic))
    works = [demand.work for task in timeline.graph.tasks for demand in task.demands]
    for d, (work, (_, name)) in enumerate(zip(works, timeline.demands, strict=True)):
        if name == "pmem":
            mean[2:, d] = [_mean(np.atleast_1d(some), batches) for some in (written(work), stored(devices[name], work))]
    found = empty_averages(1, len(shares), len(devices), len(cells))
    found.step[0], found.exposed[0] = (high - low) / batches, timeline.exposed()
    busy_watts = np.array([device.busy_watts for device in devices.values()])
    idle_watts = np.array([device.idle_watts for device in devices.values()])
    average(accounts, mean, np.array(shares), busy_watts, idle_watts, found, 0)
    return next(steadies(found, tuple(devices), cells))


def steadies(found: Averages, devices: Sequence[str], cells: Sequence[tuple[str, str]]) -> Iterator[Steady]:
    """Return the averages of each machine by the names of their devices and cells."""
    columns = (found.step, found.exposed, found.busy, found.dynamic, found.static, found.cells, found.written, found.media)
    return (
        Steady(
            step,
            tuple(exposed),
            dict(zip(devices, busy, strict=True)),
            dict(zip(devices, dynamic, strict=True)),
            dict(zip(devices, static, strict=True)),
            user,
            media,
            tuple([(*cell, *amounts) for cell, amounts in zip(cells, each, strict=True)]),
        )
        for step, exposed, busy, dynamic, static, each, user, media in zip(*(column.tolist() for column in columns), strict=True)
    )


def _mean(values: Floats, batches: int) -> float:
    """Return the mean of the last batches; np.mean says the same, but half of its time is spent on getting ready."""
    last = values[-batches:]
    return float(np.add.reduce(last)) / len(last)


def ran(timeline: Timeline, batches: int) -> tuple[float, ...]:
    """Return the share of batches in which each task ran: 1, but less for a log that spans batches."""
    done = np.mean(~np.isnan(timeline.end[-batches:]), axis=0)
    return tuple(float(x) for x in done)
