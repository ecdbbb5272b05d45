"""The chassis of a node: board, GPU switches, cards and boot drives that draw power whatever is trained, and its free places."""

from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from ...core import catalog
from ...core.catalog import Catalogue
from ...core.constants import Constant
from ...core.part_files.tables import optional_price, quantity
from ...errors import BadKnob
from ...scenario.machine import MachineKnobs
from ..device import Device, DeviceKind, amount_price, assumed, fields_of, gpus_in_node, name_of, nodes

USUAL = "two-socket"  # where no size was chosen yet
MOST_PLACES = 8  # GPUs of the largest chassis
LOADS = (0.1, 0.2, 0.5, 1.0)  # of the supplies' rating


@dataclass(frozen=True)
class Chassis:
    """One chassis without CPUs, DIMMs and GPUs.

    board, switches: W of board and management, and of the switches between GPUs, with fans apart.
    cards, card, drives: network cards, W of one, W of the boot drives.
    fans: the fans' share of what a node draws with air cooling.
    tenth, fifth, half, whole: efficiency of the supplies at 10, 20, 50 and 100 % of their `rating` in W.
    sockets, slots, gpus, lanes, bays, expanders: free places for CPUs, DIMMs, GPUs, PCIe lanes beside those of GPUs and cards,
        drives, and CXL cards.
    """

    board: Constant = quantity("board power", "W", zero=True)
    switches: Constant = quantity("GPU switch power", "W", zero=True)
    cards: Constant = quantity("network cards", "cards", zero=True, choice=True)
    card: Constant = quantity("network card power", "W", zero=True)
    drives: Constant = quantity("boot drive power", "W", zero=True)
    fans: Constant = quantity("fan share", "of the node", zero=True)
    tenth: Constant = quantity("efficiency at a tenth", "of input")
    fifth: Constant = quantity("efficiency at a fifth", "of input")
    half: Constant = quantity("efficiency at half load", "of input")
    whole: Constant = quantity("efficiency at full load", "of input")
    rating: Constant = quantity("supply rating", "W")
    sockets: Constant = quantity("sockets", "sockets", choice=True)
    slots: Constant = quantity("DIMM slots", "slots", choice=True)
    gpus: Constant = quantity("GPU places", "GPUs", zero=True, choice=True)
    lanes: Constant = quantity("free PCIe lanes", "lanes", zero=True, choice=True)
    bays: Constant = quantity("drive bays", "bays", zero=True, choice=True)
    expanders: Constant = quantity("expander bays", "bays", zero=True, choice=True)
    price: Constant | None = optional_price("USD", zero=True)


GPU_FORMS = "GPU-forms"
PLACED = ("SXM", "PCIe", "OAM")  # forms that places take; a superchip brings its own board
CHASSIS = Catalogue("chassis", Chassis, lists={GPU_FORMS: PLACED})


def chassis(machine: MachineKnobs) -> Chassis:
    """Return the chassis of a node, with the machine's assumptions; raises BadKnob for one that leaves the node no power."""
    own = assumed(machine, "chassis", CHASSIS[machine.chassis or USUAL])
    if machine.cooling == "air" and own.fans.value >= 1:
        raise BadKnob(f"chassis.fan-share={own.fans.value:g} of the node leaves it no power; write less than 1.")
    if not own.rating.value:
        raise BadKnob("chassis.supply-rating=0 W feeds nothing; write more than 0.")
    if over := next((one for one in _efficiencies(own) if one.value > 1), None):
        raise BadKnob(f"{name_of('chassis', over)}={over.value:g} of input is more than supplies take in; write 1 or less.")
    return own


def _efficiencies(own: Chassis) -> tuple[Constant, ...]:
    return own.tenth, own.fifth, own.half, own.whole


def fan_share(machine: MachineKnobs) -> float:
    """Return the share of a node's power that its fans draw; 0 where a liquid cools it."""
    return chassis(machine).fans.value if machine.cooling == "air" else 0.0


def efficiency(machine: MachineKnobs, watts: float) -> float:
    """Return the share of its input that a node's supplies give on at so many W; between its points it is linear."""
    own = chassis(machine)
    load = min(max(watts / own.rating.value, LOADS[0]), LOADS[-1])
    points = zip(LOADS, (one.value for one in _efficiencies(own)), strict=True)
    (low, before), (high, after) = next((one, two) for one, two in pairwise(points) if load <= two[0])
    return before + (after - before) * (load - low) / (high - low)


def build(machine: MachineKnobs) -> Device:
    """Build the chassis of one node; it does no work."""
    own = chassis(machine)
    return Device(
        name="chassis",
        title=f"Chassis, {machine.chassis or USUAL}",
        seconds={},
        idle_watts=own.board.value + own.switches.value + own.cards.value * own.card.value + own.drives.value,
        price=amount_price(own.price),
        constants=fields_of(own),
    )


def places(machine: MachineKnobs) -> int:
    """Return for how many GPUs the chassis of a node has places."""
    return round(chassis(machine).gpus.value)


def forms(name: str) -> tuple[str, ...]:
    """Return the forms of GPU that the places of a chassis take: any, where its file does not say it."""
    return catalog.listed("chassis", name, GPU_FORMS) or PLACED


def chassis_in_node(machine: MachineKnobs) -> int:
    """Return how many chassis a node takes: more than one where it has more GPUs than the largest has places."""
    room = places(machine)
    return ceil(gpus_in_node(machine) / room) if room >= MOST_PLACES else 1


DEVICE = DeviceKind(
    "Chassis",
    build,
    lambda: {name: fields_of(one) for name, one in CHASSIS.items()},
    reads=("chassis", "prices"),
    copies=lambda machine: nodes(machine) * chassis_in_node(machine),
    kinds=("chassis",),
)
