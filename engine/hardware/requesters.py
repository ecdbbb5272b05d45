"""Who asks a memory for rows, and how many accesses it has in flight: host threads, near-data lanes, GPUs."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple, get_args

import numpy as np

from ..core.catalog import Catalogue
from ..core.constants import Constant
from ..core.part_files.tables import optional_price, quantity
from ..core.work import By
from ..scenario.machine import MachineKnobs
from .device import assumed_value, gpus_in_node
from .devices.gpu import remote_lines
from .hosts import lines_in_flight


@dataclass(frozen=True)
class Logic:
    """How near-data logic is made, and what it asks for at a time."""

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
    """Accesses that a requester keeps in flight at each controller of a memory; not `whole` ones are 64 B lines of it."""

    accesses: float
    controllers: float
    whole: bool


def in_flight(machine: MachineKnobs, memory: str, controllers: int) -> Mapping[By, InFlight]:
    """Return what each requester keeps in flight at a node's memory, which has so many controllers.

    Near-data logic sends whole accesses, hosts and GPUs line by line. Accesses that a `card` answers wait elsewhere: on the
    link that brings them.
    """
    return {by: _in_flight(machine, by, memory, controllers) for by in get_args(By)}


def _in_flight(machine: MachineKnobs, by: By, memory: str, controllers: int) -> InFlight:
    if by == "card":
        return InFlight(inf, 1.0, whole=True)
    if by == "near-data":
        accesses = machine.near_data_lanes * assumed_value(machine, "near-data", LOGIC[machine.near_data_logic].in_flight)
        most = max(1.0, accesses if machine.near_data_lanes_per == "controller" else accesses / controllers)
        return InFlight(most, 1.0, whole=True)
    lines = lines_in_flight(machine, memory) if by == "host" else gpus_in_node(machine) * remote_lines(machine)
    return InFlight(float(lines), float(controllers), whole=False)


def most_accesses(requester: InFlight, lines: Any) -> Any:
    """Return how many accesses of so many 64 B `lines` wait at most at a controller; one is always under way."""
    if requester.whole:
        return requester.accesses
    return np.maximum(1.0, requester.accesses / (requester.controllers * lines))
