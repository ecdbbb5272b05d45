"""Requesters of rows and their accesses in flight: host threads, near-data lanes, GPUs."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple, get_args

import numpy as np

from ..core.catalog import Catalogue
from ..core.constants import Constant
from ..core.part_files.tables import optional_price, quantity
from ..core.work import Requester
from ..scenario.machine import MachineKnobs
from .device import assumed_value, gpus_in_node
from .devices.gpu import remote_lines
from .hosts import lines_in_flight


@dataclass(frozen=True)
class Logic:
    """Constants of near-data logic: power, price, accesses in flight."""

    active: Constant = quantity("active power", "W")
    idle: Constant = quantity("idle power", "W")
    price: Constant | None = optional_price("USD")
    in_flight: Constant = quantity(
        "accesses in flight a lane",
        "accesses",
        default=Constant("", 32, "", 8, 128, "unsourced", "no figure is published; 4 lanes then keep a module or channel busy"),
    )


LOGIC = Catalogue("near-data", Logic)


class InFlight(NamedTuple):
    """The accesses that a requester keeps in flight at a memory.

    accesses, controllers: the number of accesses in flight, and the number of controllers that share it.
    whole_accesses: True if an access brings a whole access of the memory; False if it brings one 64 B line.
    """

    accesses: float
    controllers: float
    whole_accesses: bool


def in_flight(machine: MachineKnobs, memory: str, controllers: int) -> Mapping[Requester, InFlight]:
    """Return the accesses in flight of each requester at a node's memory.

    The memory has `controllers` controllers. Near-data logic asks for whole accesses, hosts and GPUs ask for lines. A gather
    card ("card") has no limit here: its accesses wait on the link that brings them.
    """
    return {requester: _in_flight(machine, requester, memory, controllers) for requester in get_args(Requester)}


def _in_flight(machine: MachineKnobs, requester: Requester, memory: str, controllers: int) -> InFlight:
    """Return the accesses in flight of one requester."""
    if requester == "card":
        return InFlight(inf, 1.0, whole_accesses=True)
    if requester == "near-data":
        accesses = machine.near_data_lanes * assumed_value(machine, "near-data", LOGIC[machine.near_data_logic].in_flight)
        max_accesses = max(1.0, accesses if machine.near_data_lanes_per == "controller" else accesses / controllers)
        return InFlight(max_accesses, 1.0, whole_accesses=True)
    lines = lines_in_flight(machine, memory) if requester == "host" else gpus_in_node(machine) * remote_lines(machine)
    return InFlight(float(lines), float(controllers), whole_accesses=False)


def most_accesses(requester: InFlight, lines: Any) -> Any:
    """Return the largest number of accesses in flight at one controller; at least 1.

    Each access has `lines` lines of 64 B.
    """
    if requester.whole_accesses:
        return requester.accesses
    return np.maximum(1.0, requester.accesses / (requester.controllers * lines))
