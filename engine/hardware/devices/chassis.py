"""Chassis of a node: its constant power, and its places for parts.

Board, switches between GPUs, network cards and boot drives draw the same power during any training. SXM and OAM GPUs are sold on
boards alone: a chassis with places for such GPUs has a board that fills them all.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import ceil

from ...core import catalog
from ...core.catalog import Catalogue
from ...core.constants import Constant
from ...core.part_files.lists import bare_name
from ...core.part_files.tables import optional_price, quantity
from ...errors import BadKnob
from ...scenario.machine import RECORDED, MachineKnobs
from ..device import Device, DeviceKind, assumed_part, fields_of, gpus_in_node, nodes
from ..money.bill import BillItem

DEFAULT_CHASSIS = "two-socket"  # while no size is chosen
CHASSIS_BY_GPUS = ("two-socket", "gpu-4-pcie", "gpu-8-sxm")  # chassis of two sockets, by rising places for GPUs
BOARD_CHASSIS = ("gpu-4-sxm", "gpu-8-sxm")  # chassis with boards of GPUs, by rising places
MOST_PLACES = 8  # GPUs of the largest chassis
LOADS = (0.1, 0.2, 0.5, 1.0)  # as shares of the supplies' rating


@dataclass(frozen=True)
class Chassis:
    """One chassis without CPUs, DIMMs and GPUs.

    board: power of board and management, without fans [W].
    switches: power of the switches between GPUs, without fans [W].
    cards: number of network cards.
    card: power of a network card [W].
    drives: power of the boot drives [W].
    fans: share of the node's power that fans draw with air cooling.
    efficiency_10, efficiency_20, efficiency_50, efficiency_100: efficiency of the power supplies at 10, 20, 50 and 100 % load.
    rating: rated power of the power supplies [W].
    sockets, slots, gpus: number of places for CPUs, DIMMs and GPUs.
    lanes: free PCIe lanes, without those of GPUs and network cards.
    bays, expanders: number of places for drives and for CXL cards.
    price: USD, None if unpublished.
    uplink: number of GPUs that share 16 lanes to a CPU.
    """

    board: Constant = quantity("board power", "W", zero=True)
    switches: Constant = quantity("GPU switch power", "W", zero=True)
    cards: Constant = quantity("network cards", "cards", zero=True, choice=True)
    card: Constant = quantity("network card power", "W", zero=True)
    drives: Constant = quantity("boot drive power", "W", zero=True)
    fans: Constant = quantity("fan share", "of the node", zero=True)
    efficiency_10: Constant = quantity("efficiency at a tenth", "of input")
    efficiency_20: Constant = quantity("efficiency at a fifth", "of input")
    efficiency_50: Constant = quantity("efficiency at half load", "of input")
    efficiency_100: Constant = quantity("efficiency at full load", "of input")
    rating: Constant = quantity("supply rating", "W")
    sockets: Constant = quantity("sockets", "sockets", choice=True)
    slots: Constant = quantity("DIMM slots", "slots", choice=True)
    gpus: Constant = quantity("GPU places", "GPUs", zero=True, choice=True)
    lanes: Constant = quantity("free PCIe lanes", "lanes", zero=True, choice=True)
    bays: Constant = quantity("drive bays", "bays", zero=True, choice=True)
    expanders: Constant = quantity("expander bays", "bays", zero=True, choice=True)
    price: Constant | None = optional_price("USD", zero=True)
    uplink: Constant = quantity("GPUs an uplink", "GPUs", default=Constant("", 1, "", 1, 2, "stated", "16 lanes to the CPU each"))


GPU_FORMS = "GPU-forms"
PLACE_FORMS, SUPERCHIP = ("SXM", "PCIe", "OAM"), "superchip"  # forms that places take; a superchip brings its own board
WHOLE_BOARDS = ("SXM", "OAM")  # forms of GPUs that are sold on boards alone
SLICE = "MIG"  # in the title of a slice of a GPU; others can use the rest of its board
GPU_BOARDS = "GPU-boards"
CHASSIS = Catalogue("chassis", Chassis, lists={GPU_FORMS: PLACE_FORMS, GPU_BOARDS: ()})


def chassis(machine: MachineKnobs) -> Chassis:
    """Return the chassis of a node with the machine's assumptions.

    Raises BadKnob for assumptions with which the chassis cannot power the node.
    """
    name = machine.chassis or DEFAULT_CHASSIS
    part = assumed_part(machine, "chassis", CHASSIS[name], CHASSIS.kind, name)
    if machine.cooling == "air" and part.fans.value >= 1:
        raise BadKnob(f"chassis.fan-share={part.fans.value:g} of the node leaves no power for its devices; write less than 1.")
    if not part.rating.value:
        raise BadKnob("chassis.supply-rating=0 W cannot power a node; write more than 0.")
    return part


def _efficiencies(part: Chassis) -> tuple[Constant, ...]:
    """Return the efficiencies of the supplies at `LOADS`."""
    return part.efficiency_10, part.efficiency_20, part.efficiency_50, part.efficiency_100


def fan_share(machine: MachineKnobs) -> float:
    """Return the share of a node's power that its fans draw; 0 with liquid cooling."""
    return chassis(machine).fans.value if machine.cooling == "air" else 0.0


def efficiency(machine: MachineKnobs, watts: float) -> float:
    """Return the efficiency of a node's power supplies at an output of `watts`.

    The efficiency is linear in the load between the loads of the constants.
    """
    part = chassis(machine)
    load = min(max(watts / part.rating.value, LOADS[0]), LOADS[-1])
    points = zip(LOADS, (constant.value for constant in _efficiencies(part)), strict=True)
    (low, lower), (high, upper) = next(
        (segment_start, segment_end) for segment_start, segment_end in pairwise(points) if load <= segment_end[0]
    )
    return lower + (upper - lower) * (load - low) / (high - low)


def build(machine: MachineKnobs) -> Device:
    """Return the chassis of one node as a device, which does no work."""
    part = chassis(machine)
    return Device(
        name="chassis",
        title=f"Chassis, {machine.chassis or DEFAULT_CHASSIS}",
        seconds={},
        idle_watts=part.board.value + part.switches.value + part.cards.value * part.card.value + part.drives.value,
        bill=(BillItem("chassis", machine.chassis or DEFAULT_CHASSIS, 1, part.price),),
        constants=fields_of(part),
    )


def places(machine: MachineKnobs) -> int:
    """Return the number of GPU places in the chassis of a node."""
    return round(chassis(machine).gpus.value)


def automatic_chassis(machine: MachineKnobs, gpus: int) -> str:
    """Return the smallest chassis of two sockets with places for `gpus` GPUs of a node.

    GPUs that are sold on boards need a chassis with their board. At recorded prices only the number of places counts, as these
    are machines of papers.
    """
    if gpus and machine.prices != RECORDED and sold_on_boards(machine.gpu):
        names = [name for name in BOARD_CHASSIS if takes_gpu(name, machine.gpu)]
        return next((name for name in names if gpus <= CHASSIS[name].gpus.value), CHASSIS_BY_GPUS[-1])
    return smallest_chassis(gpus)


@lru_cache(maxsize=64)
def smallest_chassis(gpus: int) -> str:
    """Return the smallest chassis of two sockets with places for so many GPUs."""
    return next((name for name in CHASSIS_BY_GPUS if gpus <= CHASSIS[name].gpus.value), CHASSIS_BY_GPUS[-1])


def gpu_forms(name: str) -> tuple[str, ...]:
    """Return the GPU forms that fit a chassis; all forms if its file names none."""
    return catalog.list_words("chassis", name, GPU_FORMS) or PLACE_FORMS


def takes_gpu(name: str, gpu: str) -> bool:
    """Return whether a chassis has places for a GPU.

    Its form must fit and, where the chassis's file names boards, its board.
    """
    boards = gpu_boards(name)
    return gpu_form(gpu) in gpu_forms(name) and (not boards or bare_name(gpu) in boards)


def gpu_boards(name: str) -> tuple[str, ...]:
    """Return the GPUs whose boards fit a chassis; () if its file names none."""
    return catalog.list_words("chassis", name, GPU_BOARDS)


def gpu_form(gpu: str) -> str:
    """Return the form of a GPU; "" for one that replays times."""
    try:
        return catalog.form("gpu", gpu)
    except KeyError:
        return ""


def sold_on_boards(gpu: str) -> bool:
    """Return whether a GPU is sold on boards alone; a slice of one is not."""
    return gpu_form(gpu) in WHOLE_BOARDS and SLICE not in str(catalog.part_content("gpu", gpu)["title"])


def board_sizes(gpu: str, names: Iterable[str] = BOARD_CHASSIS) -> tuple[int, ...]:
    """Return the numbers of GPUs of a GPU's boards in the chassis called `names`.

    They are (1,) for a GPU that is sold singly.
    """
    if not sold_on_boards(gpu):
        return (1,)
    return tuple(round(CHASSIS[name].gpus.value) for name in names if takes_gpu(name, gpu))


def board_gpus(machine: MachineKnobs) -> int:
    """Return the number of GPUs on the board of a machine's chassis; 1 without a board."""
    has_board = sold_on_boards(machine.gpu) and takes_gpu(machine.chassis or DEFAULT_CHASSIS, machine.gpu)
    return max(places(machine), 1) if has_board else 1


def gpus_on_boards(machine: MachineKnobs) -> int:
    """Return the number of GPUs on all boards of a machine; without boards, its GPUs."""
    board = board_gpus(machine)
    return max(machine.num_gpus, nodes(machine) * chassis_in_node(machine) * board) if board > 1 else machine.num_gpus


def bought_gpus(machine: MachineKnobs) -> int:
    """Return the number of GPUs that a machine pays for: those of whole boards.

    At recorded prices they are those that train, as papers count them.
    """
    return machine.num_gpus if machine.prices == RECORDED else gpus_on_boards(machine)


def chassis_in_node(machine: MachineKnobs) -> int:
    """Return the number of chassis of a node.

    A node has more than one chassis if it has more GPUs than the largest chassis has places.
    """
    room = places(machine)
    return ceil(gpus_in_node(machine) / room) if room >= MOST_PLACES else 1


DEVICE = DeviceKind(
    "Chassis",
    build,
    lambda: {name: fields_of(part) for name, part in CHASSIS.items()},
    knob_names=("chassis", "prices"),
    copies=lambda machine: nodes(machine) * chassis_in_node(machine),
    kinds=("chassis",),
)
