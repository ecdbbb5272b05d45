"""Assumptions in place of catalogue values: a source that a knob chooses, or what `machine.assume` says by name.

A name is the device and the constant, as in `pmem.read-rate`; it applies to whichever part the machine has.
"""

from dataclasses import replace
from typing import TypeVar

from ..core.constants import Constant
from ..errors import BadKnob, nearest
from ..scenario.machine import MachineKnobs

Part = TypeVar("Part")


def name_of(device: str, constant: Constant) -> str:
    """Return the name by which `machine.assume` knows a constant."""
    return f"{device}.{constant.name.replace(' ', '-')}"


def fields_of(part: object) -> tuple[Constant, ...]:
    """Return the constants of a part, a dataclass of them, in declaration order."""
    return tuple([getattr(part, field) for field in getattr(part, "__dataclass_fields__", ())])


def assumed(machine: MachineKnobs, device: str, part: Part) -> Part:
    """Return a part of `device` as the machine's sources and assumptions have it; an assumption beats every source."""
    given, changed = dict(machine.assume), {}
    for field in getattr(part, "__dataclass_fields__", ()):
        constant: Constant = getattr(part, field)
        stated = constant.according_to(getattr(machine, constant.switch)) if constant.switch else constant
        if given and (name := name_of(device, constant)) in given:
            value = given[name]
            stated = replace(stated, value=value, low=min(stated.low, value), high=max(stated.high, value))
        if stated is not constant:
            changed[field] = stated
    return replace(part, **changed) if changed else part  # type: ignore[type-var]


def check(machine: MachineKnobs, known: tuple[str, ...]) -> None:
    """Raise BadKnob for an assumption about a constant that is not among the `known` names."""
    for name, _ in machine.assume:
        if name not in known:
            raise BadKnob(f"machine.assume names {name!r}, which is no constant of any device; {nearest(name, known)}")
