"""Devices of many design points as a few devices, to compute all costs at once.

Devices that differ only in numbers become one device whose rates are arrays over design points.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.work import Work
from .concurrency import LoadCurve
from .device import Device

DeviceStacks = Sequence[tuple[Device, Ints]]  # (device with columns as rates, indices of its devices)


def cost_columns(devices: DeviceStacks, cost: Callable[[Device, Work], Any], work: Work, kinds: int) -> Floats:
    """Return a cost of work for P design points, (kinds, P) or (kinds, 1).

    The shape is (kinds, 1) if the cost is equal on all devices. `kinds` is the number of kinds of batches, and `work` has rows
    for them (see `by_kind_rows`). Each cost equals that of the device alone to the bit.
    """
    columns = [_columns(cost(device, work), kinds) for device, _ in devices]
    if len(columns) == 1:
        return columns[0]
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


def by_kind_rows(work: Work, kinds: int) -> Work:
    """Return work with its amounts by kind of batch as columns, (kinds, 1)."""
    amounts = {name: amount for name, amount in vars(work).items() if isinstance(amount, np.ndarray) and amount.shape == (kinds,)}
    return replace(work, **{name: amount[:, None] for name, amount in amounts.items()}) if amounts else work


def _columns(cost: Any, kinds: int) -> Floats:
    """Return a cost as columns, (kinds, P) or (kinds, 1)."""
    array = np.asarray(cost, dtype=np.float64)
    if array.ndim == 2 and len(array) == kinds:
        return array
    columns = np.empty((kinds, array.shape[-1] if array.ndim else 1))
    columns[:] = array
    return columns
