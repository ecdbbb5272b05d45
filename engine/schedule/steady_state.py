"""A steady state: step time, exposed and busy seconds, and joules, per batch and device."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.arithmetic import total
from ..core.arrays import Floats, InColumns, Number, Row
from .kernels.template import Accounts, Averages

Cell = tuple[str, str, Number, Number, Number]


@dataclass(frozen=True)
class Steady(InColumns):
    """Averages per batch over all batches after the first two.

    step: seconds of a step.
    exposed: seconds of each task on the critical path.
    busy: busy seconds by device: those of its busiest lane, such as a link's busier direction.
    dynamic, static: joules by device: of the work and of the extra power while busy, and of static power.
    written_bytes, media_bytes: bytes that training writes to persistent memory, and bytes that its media store for them.
    cells: the rows of the breakdown: stage, device, busy seconds, exposed seconds, joules.
    """

    step: Number
    exposed: tuple[Number, ...]
    busy: Mapping[str, Number]
    dynamic: Mapping[str, Number]
    static: Mapping[str, Number]
    written_bytes: Number
    media_bytes: Number
    cells: tuple[Cell, ...]

    @property
    def energy(self) -> Number:
        """Joules of a batch, summed over all devices."""
        return total(self.dynamic.values()) + total(self.static.values())

    @property
    def rows(self) -> tuple[Row, ...]:
        """The breakdown of a step: one row for each stage and device.

        The exposed seconds of a task are in the row of its slowest device. Static power is in the stage Other.
        """
        return tuple(
            {"Stage": stage, "Device": name, "Busy [s]": busy, "Exposed [s]": exposed, "Energy [J]": joules}
            for stage, name, busy, exposed, joules in self.cells
        )

    def device_seconds(self, name: str) -> Number:
        """Seconds of a device's work per batch, all lanes added."""
        return total([cell[2] for cell in self.cells if cell[1] == name])

    def stage(self, name: str) -> Number:
        """Seconds per batch that a stage is on the critical path."""
        return total([cell[3] for cell in self.cells if cell[0] == name])


def busy_by_device(accounts: Accounts, by_lane: Floats) -> Floats:
    """Return the busy seconds of each device's busiest lane, (V, P).

    by_lane: the busy seconds of each lane, (P, L).
    """
    busy = np.zeros((len(accounts.idle_cell), len(by_lane)))
    np.maximum.at(busy, accounts.device_of_lane, by_lane.T)
    return busy


def steady_of(averages: Averages, devices: Sequence[str], accounts: Accounts, cells: Sequence[tuple[str, str]]) -> Steady:
    """Return the kernel's averages of P machines as one Steady, whose values are arrays (P,).

    `devices` and `cells` name the columns of the averages.
    """
    columns = busy_by_device(accounts, averages.busy), averages.dynamic.T, averages.static.T
    busy, dynamic, static = (dict(zip(devices, column, strict=True)) for column in columns)
    rows = tuple([(*cell, *column.T) for cell, column in zip(cells, averages.cells.swapaxes(0, 1), strict=True)])
    return Steady(
        averages.step, tuple(averages.exposed.T), busy, dynamic, static, averages.written_bytes, averages.media_bytes, rows
    )
