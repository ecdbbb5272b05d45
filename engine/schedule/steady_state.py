"""A steady state: step time, exposed and busy seconds, and joules, per batch and device."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..core.arrays import InColumns, Number, Row
from .kernels.template import Averages

Cell = tuple[str, str, Number, Number, Number]


@dataclass(frozen=True)
class Steady(InColumns):
    """Averages over the batches after the first two, per batch.

    step: seconds of a step.
    exposed: exposed seconds by task.
    busy: busy seconds by device.
    dynamic, static: joules by device, of amounts and power swing, and of static power.
    written_bytes, media_bytes: bytes stored into persistent memory, and bytes that its media store for them.
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
        """Joules of a batch, over all powered devices."""
        return sum(self.dynamic.values()) + sum(self.static.values())

    @property
    def rows(self) -> tuple[Row, ...]:
        """The breakdown of the step by stage and device.

        A task's exposed seconds are at the device that sets its pace, static power is at Other.
        """
        return tuple(
            {"Stage": stage, "Device": name, "Busy [s]": busy, "Exposed [s]": exposed, "Energy [J]": joules}
            for stage, name, busy, exposed, joules in self.cells
        )

    def stage(self, name: str) -> Number:
        """Exposed seconds of a stage."""
        return sum([cell[3] for cell in self.cells if cell[0] == name])


def steady_of(averages: Averages, devices: Sequence[str], cells: Sequence[tuple[str, str]]) -> Steady:
    """Return the averages of machines, in columns, by the names of their devices and cells."""
    busy, dynamic, static = (
        dict(zip(devices, column.T, strict=True)) for column in (averages.busy, averages.dynamic, averages.static)
    )
    rows = tuple([(*cell, *column.T) for cell, column in zip(cells, averages.cells.swapaxes(0, 1), strict=True)])
    return Steady(
        averages.step, tuple(averages.exposed.T), busy, dynamic, static, averages.written_bytes, averages.media_bytes, rows
    )
