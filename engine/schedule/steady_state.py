"""A steady state: step time, exposed and busy seconds, and joules, per batch and device."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..core.arrays import Row
from .kernels.template import Averages

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
