"""Devices of many design points as a few devices, to compute all costs at once.

Devices that differ only in numbers become one device whose rates are arrays over design points.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.points.parts import map_parts
from ..core.points.per_point import PerPoint
from ..core.row_sizes import RowMix
from ..core.work import Work
from .concurrency import LoadCurve
from .device import Device

DeviceStacks = Sequence[tuple[Device, Ints]]  # (device with columns as rates, indices of its devices)


def cost_columns(devices: DeviceStacks, cost: Callable[[Device, Work], Any], work: Work, kinds: int) -> Floats:
    """Return a cost of work for P design points, (kinds, P) or (kinds, 1).

    The shape is (kinds, 1) if the cost is equal on all devices. `kinds` is the number of kinds of batches, and `work` has rows
    for them (see `by_kind_rows`). Each cost equals that of the device alone to the bit.
    """
    if len(devices) == 1:
        return _columns(cost(devices[0][0], work), kinds)
    columns = [_columns(cost(device, _of_members(work, members)), kinds) for device, members in devices]
    costs = np.empty((kinds, sum(len(members) for _, members in devices)))
    for (_, members), column in zip(devices, columns, strict=True):
        costs[:, members] = column
    return costs


def stack_devices(devices: Sequence[Device]) -> DeviceStacks:
    """Group the devices of P design points; each group becomes one device with array rates.

    A group has devices that differ only in the numbers of `rates`. Return each group's device with the indices of its design
    points.
    """
    if len(devices) == 1:
        return [(devices[0], np.zeros(1, dtype=np.int64))]
    groups: dict[Any, list[int]] = {}
    for number, device in enumerate(devices):
        groups.setdefault(_form(device), []).append(number)
    return [
        (replace(devices[members[0]], rates=_stacked([devices[number].rates for number in members])), np.array(members))
        for members in groups.values()
    ]


def _form(device: Device) -> Any:
    """Return all properties of a device that decide its costs, except numbers."""
    costs = id(device.seconds), id(device.joules), id(device.stored_bytes)
    return costs, device.copies, device.slowdown, device.joule_factor, _choices(device.rates)


def _choices(rates: Any) -> Any:
    """Return the rates without their numbers.

    A load curve counts as no number, since each curve has a table of its own.
    """
    if isinstance(rates, LoadCurve):
        return rates
    if isinstance(rates, float):
        return float
    if isinstance(rates, Mapping):
        return tuple((name, _choices(rate)) for name, rate in rates.items())
    return tuple(map(_choices, rates)) if isinstance(rates, tuple) else rates


def _stacked(rates: Sequence[Any]) -> Any:
    """Return rates of one form as one, with the numbers that differ as columns."""
    template = rates[0]
    if all(rate is template for rate in rates) or isinstance(template, LoadCurve):
        return template
    if isinstance(template, Mapping):
        return {name: _stacked([rate[name] for rate in rates]) for name in template}
    if isinstance(template, tuple):
        columns = map(_stacked, zip(*rates, strict=True))
        return type(template)(*columns) if hasattr(template, "_fields") else tuple(columns)
    return template if all(rate == template for rate in rates) else np.array(rates)


def stacks_of_points(stacks: DeviceStacks, device_of: Ints) -> DeviceStacks:
    """Return groups of devices as groups of design points.

    `device_of` has the index of each point's device, (P,).
    """
    if len(stacks) == 1 and len(stacks[0][1]) == 1:
        return [(stacks[0][0], np.arange(len(device_of)))]
    groups = []
    for device, members in stacks:
        place = np.searchsorted(members, device_of)
        points = np.flatnonzero(members[np.minimum(place, len(members) - 1)] == device_of)
        groups.append((replace(device, rates=_taken(device.rates, place[points])), points))
    return groups


def _taken(rates: Any, places: Ints) -> Any:
    """Return rates with the numbers of some devices, by place, instead of those of all."""
    if isinstance(rates, np.ndarray):
        return rates[places]
    if isinstance(rates, Mapping):
        return {name: _taken(rate, places) for name, rate in rates.items()}
    if isinstance(rates, tuple) and not isinstance(rates, LoadCurve):
        parts = [_taken(rate, places) for rate in rates]
        return type(rates)(*parts) if hasattr(rates, "_fields") else tuple(parts)
    return rates


def by_kind_rows(work: Work, kinds: int) -> Work:
    """Return work with its amounts as columns: by kind of batch, (kinds, 1) or (kinds, P).

    Amounts of P design points have P columns.
    """
    amounts = {name: new for name, amount in vars(work).items() if (new := amount_columns(amount, kinds)) is not amount}
    return replace(work, **amounts) if amounts else work


def amount_columns(amount: Any, kinds: int) -> Any:
    """Return an amount by kind of batch as columns, (kinds, 1) or (kinds, P).

    An amount with one value is returned as it is. A number of each of P design points becomes (1, P). In a tuple or a mix of row
    sizes each number is changed.
    """
    if isinstance(amount, np.ndarray):
        return amount[:, None] if amount.shape == (kinds,) else amount
    return map_parts(PerPoint, _point_columns, amount) if isinstance(amount, PerPoint | tuple | RowMix) else amount


def _point_columns(amount: PerPoint) -> Floats:
    return amount.values[None] if amount.is_number else np.ascontiguousarray(amount.values.T)


def _of_members(work: Work, members: Ints) -> Work:
    """Return the work of some design points, from work with amounts (kinds, P)."""
    chosen: Work = map_parts(np.ndarray, lambda amount: amount[:, members] if amount.shape[-1] > 1 else amount, work)
    return chosen


def _columns(cost: Any, kinds: int) -> Floats:
    """Return a cost as columns, (kinds, P) or (kinds, 1)."""
    array = np.asarray(cost, dtype=np.float64)
    if array.ndim == 2 and len(array) == kinds:
        return array
    columns = np.empty((kinds, array.shape[-1] if array.ndim else 1))
    columns[:] = array
    return columns
