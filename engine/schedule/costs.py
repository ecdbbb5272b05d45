"""What the devices of many machines take for a plan's demands: those of a kind are asked at once."""

from collections.abc import Sequence
from itertools import repeat
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.work import Work
from ..hardware.columns import stacked, together, upright
from ..hardware.device import Device, duration, energy, slowest, stored_bytes
from .kernels.template import ENERGY, SECONDS, STORED


class Costs(NamedTuple):
    """What P devices take for d demands: `tables` (R, some) of columns, and which of all these is each one's, (3, d, P).

    First are seconds, then joules by amounts, then bytes that media store, each by kind of batch.
    """

    tables: Sequence[Floats]
    column: Ints

    @property
    def width(self) -> int:
        """How many columns there are."""
        return sum([table.shape[1] for table in self.tables])


def costs_of(devices: Sequence[Device], works: Sequence[Work], kinds: int, stores: bool) -> Costs:
    """Ask devices of one kind, which `stores` on media or not; what all take alike is one column."""
    column, tables, width, groups = np.empty((3, len(works), len(devices)), dtype=np.int64), list[Floats](), 0, stacked(devices)
    works = [upright(work, kinds) for work in works]
    for cost, function in ((SECONDS, _duration), (ENERGY, energy), (STORED, stored_bytes if stores else _nothing)):
        for d, work in enumerate(works):
            tables.append(together(groups, function, work, kinds))
            alike = tables[-1].shape[1] == 1
            column[cost, d] = width + (0 if alike else np.arange(len(devices)))
            width += tables[-1].shape[1]
    return Costs(tables, column)


def _duration(device: Device, work: Work) -> Any:
    return duration(device, slowest(work)) if type(work) in device.seconds else 0.0


def _nothing(device: Device, work: Work) -> float:
    return 0.0


def different(devices: Sequence[Any]) -> tuple[list[Any], Ints]:
    """Return what is different by identity, as it comes, and which of these each one is."""
    if all(map(is_, devices, repeat(devices[0]))):
        return [devices[0]], np.zeros(len(devices), dtype=np.int64)
    identities = [*map(id, devices)]
    by_identity = dict(zip(identities, devices, strict=True))
    if len(by_identity) == len(identities):
        return list(devices), np.arange(len(identities))
    place = dict(zip(by_identity, range(len(by_identity)), strict=True))
    return [*by_identity.values()], np.fromiter(map(place.__getitem__, identities), np.int64, len(identities))


def different_machines(parts: Sequence[tuple[list[Any], Ints]]) -> tuple[Ints, Ints]:
    """Return of machines, given which device of each kind they have, one of those that are alike, and which each one is like."""
    points = len(parts[0][1])
    first, machine = np.zeros((2, points), dtype=np.int64)
    for devices, device in parts:
        if len(devices) == points:
            return np.arange(points), np.arange(points)
        if len(devices) > 1:
            _, first, machine = np.unique(machine * len(devices) + device, return_index=True, return_inverse=True)
    return first[: machine.max() + 1], machine
