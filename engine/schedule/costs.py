"""The costs of a plan's demands on the devices of many machines.

A cost is a time, an energy or a number of stored bytes. The costs of all devices of one kind are computed in one array
operation.
"""

from collections.abc import Sequence
from itertools import repeat
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.work import Work
from ..hardware.device import Device, duration, energy, slowest_share, stored_bytes
from ..hardware.device_stacks import DeviceStacks, by_kind_rows, cost_columns, stack_devices, stacks_of_points
from .kernels.template import ENERGY, SECONDS, STORED_BYTES


class Costs(NamedTuple):
    """Costs of d demands on P devices, for R kinds of batches.

    tables: arrays of costs, (R, 1) if all devices share the cost, else (R, P).
    column: the column of each cost among the columns of all `tables`, (3, d, P). Its first axis is seconds, joules of the amounts
        of work, and bytes stored by the media.
    """

    tables: Sequence[Floats]
    column: Ints

    @property
    def width(self) -> int:
        """The number of columns of all tables together."""
        return sum([int(table.shape[1]) for table in self.tables])


def costs_of(devices: Sequence[Device], works: Sequence[Work], kinds: int) -> Costs:
    """Return the costs of several works on devices of one kind.

    `kinds` is the number of kinds of batches. A cost that all devices share takes one column.
    Costs of 0, for which a device has no function, share the first column.
    """
    return _costs_of_groups(stack_devices(devices), len(devices), [by_kind_rows(work, kinds) for work in works], kinds)


def costs_of_points(devices: Sequence[Device], device_of: Ints, works: Sequence[Work], kinds: int) -> Costs:
    """Return the costs of works whose amounts differ between P design points.

    `devices` are the distinct devices of one kind, and `device_of` has the index of each point's device, (P,).
    """
    groups = stacks_of_points(stack_devices(devices), device_of)
    return _costs_of_groups(groups, len(device_of), [by_kind_rows(work, kinds) for work in works], kinds)


def _costs_of_groups(groups: DeviceStacks, machines: int, works: Sequence[Work], kinds: int) -> Costs:
    column = np.zeros((3, len(works), machines), dtype=np.int64)
    tables, width = [np.zeros((kinds, 1))], 1
    for cost, function, attribute in COSTS:
        kinds_of_work = {kind for device, _ in groups for kind in getattr(device, attribute)}
        for d, work in enumerate(works):
            if type(work) not in kinds_of_work:
                continue
            tables.append(cost_columns(groups, function, work, kinds))
            is_common = tables[-1].shape[1] == 1
            column[cost, d] = width + (0 if is_common else np.arange(machines))
            width += tables[-1].shape[1]
    return Costs(tables, column)


def _duration(device: Device, work: Work) -> Any:
    return duration(device, slowest_share(work)) if type(work) in device.seconds else 0.0


COSTS = ((SECONDS, _duration, "seconds"), (ENERGY, energy, "joules"), (STORED_BYTES, stored_bytes, "stored_bytes"))


def distinct_by_identity(devices: Sequence[Any]) -> tuple[list[Any], Ints]:
    """Return the distinct device objects, and the index of each given device among them.

    Two devices are the same only if they are the same object.
    """
    if all(map(is_, devices, repeat(devices[0]))):
        return [devices[0]], np.zeros(len(devices), dtype=np.int64)
    identities = [*map(id, devices)]
    by_identity = dict(zip(identities, devices, strict=True))
    if len(by_identity) == len(identities):
        return list(devices), np.arange(len(identities))
    place = dict(zip(by_identity, range(len(by_identity)), strict=True))
    return [*by_identity.values()], np.fromiter(map(place.__getitem__, identities), np.int64, len(identities))


def distinct_machines(parts: Sequence[tuple[list[Any], Ints]]) -> tuple[Ints, Ints]:
    """Return one machine of each group of equal machines, and each machine's group.

    Both arrays hold indices.
    `parts` has an item for each device name: the distinct devices, and the index of each machine's device among them, (P,).
    Machines are equal if they have the same device object under each name.
    """
    points = len(parts[0][1])
    representatives, machine = np.zeros((2, points), dtype=np.int64)
    for devices, device in parts:
        if len(devices) == points:
            return np.arange(points), np.arange(points)
        if len(devices) > 1:
            _, representatives, machine = np.unique(machine * len(devices) + device, return_index=True, return_inverse=True)
    return representatives[: machine.max() + 1], machine
