"""Who asks a memory for rows, and how many accesses it has in flight: host threads, near-data lanes, GPUs."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from ..core.catalog import Catalogue, quantity
from ..core.constants import Constant
from ..core.work import By
from ..scenario.machine import MachineKnobs
from .device import assumed_value, gpus_in_node
from .devices.gpu import remote_lines
from .devices.host import lines_in_flight


@dataclass(frozen=True)
class Logic:
    """How near-data logic is made, and what it asks for at a time."""

    active: Constant = quantity("active power", "W")
    idle: Constant = quantity("idle power", "W")
    price: Constant = quantity("price", "USD")
    in_flight: Constant = quantity(
        "accesses in flight a lane",
        "accesses",
        default=Constant("", 32, "", 8, 128, "unsourced", "no figure is published; 4 lanes then keep a module or channel busy"),
    )


LOGIC = Catalogue("near-data", Logic)


InFlight = Callable[[float], float]


def in_flight(machine: MachineKnobs, by: By, memory: str, controllers: int) -> InFlight:
    """Return how many accesses, by the 64 B lines of one, wait at most at each of the memory's controllers of a node.

    Near-data logic sends whole accesses, hosts and GPUs line by line; at least one access is always under way. Accesses that a
    `card` answers wait elsewhere: on the link that brings them.
    """
    if by == "card":
        return lambda lines: inf
    if by == "near-data":
        each = machine.near_data_lanes * assumed_value(machine, "near-data", LOGIC[machine.near_data_logic].in_flight)
        most = max(1.0, each if machine.near_data_lanes_per == "controller" else each / controllers)
        return lambda lines: most
    asked = lines_in_flight(machine, memory) if by == "host" else gpus_in_node(machine) * remote_lines(machine)
    return lambda lines: max(1.0, asked / (controllers * lines))
