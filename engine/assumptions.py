"""What a scenario assumes instead of a catalogue value: `machine.assume` names constants and gives their values.

A name is the device and the constant, as in `pmem.read-rate`; it applies to whichever part the machine has.
"""

from dataclasses import replace
from typing import TypeVar

from engine.constants import Constant
from engine.errors import BadKnob, nearest
from engine.machine import Machine

Part = TypeVar("Part")
Assumptions = tuple[tuple[str, float], ...]


def name_of(device: str, constant: Constant) -> str:
    """Return the name by which `machine.assume` knows a constant."""
    return f"{device}.{constant.name.replace(' ', '-')}"


def fields_of(part: object) -> tuple[Constant, ...]:
    """Return the constants of a part, a dataclass of them, in declaration order."""
    return tuple(getattr(part, field) for field in getattr(part, "__dataclass_fields__", {}))


def assumed(machine: Machine, device: str, part: Part) -> Part:
    """Return a part of `device` with the machine's assumptions in place of the catalogue's values."""
    if not machine.assume:
        return part
    given = dict(machine.assume)
    changed = {
        field: replace(constant, value=given[name], low=min(constant.low, given[name]), high=max(constant.high, given[name]))
        for field, constant in zip(getattr(part, "__dataclass_fields__", {}), fields_of(part), strict=True)
        if (name := name_of(device, constant)) in given
    }
    return replace(part, **changed) if changed else part  # type: ignore[type-var]


def check(machine: Machine, known: tuple[str, ...]) -> None:
    """Raise BadKnob for an assumption about a constant that is not among the `known` names."""
    for name, _ in machine.assume:
        if name not in known:
            raise BadKnob(f"machine.assume names {name!r}, which is no constant of any device; {nearest(name, known)}")
