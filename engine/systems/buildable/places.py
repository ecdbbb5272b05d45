"""Checks of a settled machine's chassis: GPUs, sockets, DIMM slots, bays, lanes, watts.

A machine is settled when all its sizes are chosen. A node is one chassis of `machine.chassis`, with at most eight GPUs. GPUs,
network cards and boot drives have PCIe lanes of their own; all other lanes of the chassis are free lanes.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ...core import catalog, figures
from ...core.arithmetic import total
from ...hardware.device import assumed_value, expanders, gpus_in_node, nodes
from ...hardware.devices.chassis import (
    DEFAULT_CHASSIS,
    MOST_PLACES,
    SUPERCHIP,
    Chassis,
    chassis,
    gpu_boards,
    gpu_forms,
    takes_gpu,
)
from ...hardware.devices.dram import PER_CHANNEL, DIMMS_GiB, host_dimms
from ...hardware.devices.expander_dram import card_lanes
from ...hardware.devices.gpu import ACCELERATORS, node_watts
from ...hardware.devices.pmem import HOST_LIST, modules, own_link
from ...hardware.hosts import HOSTS, host_channels
from ...scenario.machine import MachineKnobs
from ..sizing import max_dram_GiB
from ..system import Settled, device_names, machine_around, powered_devices
from .contents import has_generic_expanders, short

MODULES_A_SOCKET = 8  # DIMMs of persistent memory of one socket
CXL_GENERATION = 5  # of PCIe, on which the first CXL runs
DRIVE_LANES, CARD_LANES = 4, 16
WORDS = {1: "one socket has", 2: "two sockets have", 4: "four sockets have"}


class LaneUsers(NamedTuple):
    """Equal parts that take PCIe lanes: their number, name, and lanes of each."""

    number: int
    name: str
    lanes: int


class Node(NamedTuple):
    """One node of a settled machine.

    settled: the settled scenario.
    machine: the knobs of its machine.
    devices: the names of the devices that the system powers.
    chassis: the constants of the chassis.
    chassis_name: the chassis's name in sentences.
    dimms, modules, drives: the numbers of DIMMs, of persistent-memory modules and of drives.
    link: PCIe lanes of each module's own link; 0 for modules without such links.
    """

    settled: Settled
    machine: MachineKnobs
    devices: tuple[str, ...]
    chassis: Chassis
    chassis_name: str
    dimms: int
    modules: int
    drives: int
    link: int

    @property
    def slotted_modules(self) -> int:
        """The number of persistent-memory modules in DIMM slots: those without their own link."""
        return 0 if self.link else self.modules

    @property
    def expander_bay_parts(self) -> tuple[LaneUsers, ...]:
        """The parts in expander bays: modules with links of their own, and DRAM cards."""
        card, machine = self.machine.expander, self.machine
        linked = (LaneUsers(self.modules, short(machine.pmem), self.link),) if self.link and self.modules else ()
        dram = card and "expander-dram" in self.devices
        return (*linked, LaneUsers(expanders(machine), short(card), card_lanes(card))) if card and dram else linked


def does_not_fit(settled: Settled, drives: int = 0) -> tuple[str, ...]:
    """Return a sentence for each resource that the machine has too little of.

    A sentence says need and supply. Return () if the machine can be built. `drives` are drives of each node in addition to the
    system's drives.
    """
    machine = settled.scenario.machine
    devices, link = device_names(settled.scenario.system, machine), own_link(machine)
    around = machine_around(settled.scenario.system, machine, "dram")
    node = Node(
        settled,
        machine,
        devices,
        chassis(machine),
        short(machine.chassis or ""),
        host_dimms(around, machine.host_dram_GiB or 0.0).number if "dram" in devices else 0,
        modules(machine) if "pmem" in devices else 0,
        drives + ((machine.num_ssds or 1) if "ssd" in devices else 0),
        link[0] if link else 0,
    )
    return tuple(sentence for rule in RULES for sentence in rule(node))


def _gpus(node: Node) -> Iterator[str]:
    """Yield sentences if a node's GPUs do not fit the places of its chassis."""
    if "gpu" not in node.devices:
        return
    gpus, room, name = gpus_in_node(node.machine), round(node.chassis.gpus.value), short(node.machine.gpu)
    if gpus > MOST_PLACES:
        yield f"{figures.count(gpus, 'GPU')} of a node need {gpus} places in one chassis; the largest chassis has {MOST_PLACES}."
    elif gpus > room:
        yield f"{gpus} GPU{'s' * (gpus > 1)} of a node {_need(gpus, 'place')}; {node.chassis_name} has {room}."
    form = catalog.form("gpu", node.machine.gpu) if node.machine.gpu in ACCELERATORS else ""
    if form == SUPERCHIP:
        yield f"{gpus} {name} {_need(gpus, 'place')} for superchips, with boards of their own; {node.chassis_name} has 0."
    elif form and not takes_gpu(chassis_name := node.machine.chassis or DEFAULT_CHASSIS, node.machine.gpu):
        if form in (allowed_forms := gpu_forms(chassis_name)):
            yield f"{name} is on no board of {node.chassis_name}, which has boards of {' or '.join(gpu_boards(chassis_name))}."
        else:
            forms = " or ".join(allowed_forms)
            yield f"{gpus} {name} {_need(gpus, 'place')} for {form}; {node.chassis_name} has 0, and {room} for {forms}."


def _host(node: Node) -> Iterator[str]:
    """Yield sentences if the CPUs lack sockets, or DRAM lacks channels or slots."""
    machine = node.machine
    host = HOSTS[machine.host]
    need, sockets = _sockets(machine), round(node.chassis.sockets.value)
    if need > sockets:
        yield f"{short(machine.host)} {_need(need, 'socket', 1)}; {node.chassis_name} has {sockets}."
    channels, max_channels = host_channels(machine), round(assumed_value(machine, "host", host.channels))
    if channels > max_channels:
        yield f"Host DRAM {_need(channels, 'channel', 1)}; {short(machine.host)} has {max_channels}."
    gib, max_gib = machine.host_dram_GiB or 0.0, max_dram_GiB(channels)
    if "dram" in node.devices and gib > max_gib:
        yield f"{figures.exact(gib)} GiB of host DRAM need larger DIMMs; {_largest(channels)}."


def _dimms(node: Node) -> Iterator[str]:
    """Yield sentences if DIMMs and modules without a link exceed the DIMM slots.

    A socket has slots for eight such modules.
    """
    count, name = node.slotted_modules, short(node.machine.pmem)
    sockets, slots = _sockets(node.machine), round(node.chassis.slots.value)
    if count > MODULES_A_SOCKET * sockets:
        socket_limit = f"{WORDS.get(sockets, f'{sockets} sockets have')} {MODULES_A_SOCKET * sockets}"
        yield f"{figures.count(count, 'module')} of {name} {_need(count, 'DIMM slot')} beside DRAM; {socket_limit}."
    if node.dimms + count > slots:
        module_clause = f" and {_module_count(count, name)}" * bool(count)
        yield (
            f"{figures.count(node.dimms, 'DIMM')} of DRAM{module_clause} need {node.dimms + count} DIMM slots; "
            f"{node.chassis_name} has {slots}."
        )


def _host_generations(node: Node) -> Iterator[str]:
    """Yield a sentence if modules only work with processors of another generation."""
    if not node.slotted_modules:
        return
    hosts, host_name, name = (
        catalog.list_words("media", node.machine.pmem, HOST_LIST),
        short(node.machine.host),
        short(node.machine.pmem),
    )
    if hosts and host_name not in hosts:
        modules_need = f"{_module_count(node.slotted_modules, name)} {_need(node.slotted_modules, 'DIMM slot')}"
        yield f"{modules_need} beside {' or '.join(hosts)}; {host_name} has 0."


def _link_generations(node: Node) -> Iterator[str]:
    """Yield a sentence if the host's PCIe is older than that of memory behind CXL."""
    parts, link = node.expander_bay_parts, own_link(node.machine)
    if not parts:
        return
    need = link[1] if link and node.modules else CXL_GENERATION
    has = round(assumed_value(node.machine, "host", HOSTS[node.machine.host].generation))
    if has < need:
        needs = f"need{'s' * (total(part.number for part in parts) == 1)} a host of PCIe {need}"
        yield f"{_count_sentence(parts)} {needs}; {short(node.machine.host)} has PCIe {has}."


def _products(node: Node) -> Iterator[str]:
    """Yield a sentence if memory behind CXL is no product.

    Products are modules with links of their own, and cards.
    """
    if not has_generic_expanders(node.settled):
        return
    count = expanders(node.machine)
    memory_name = "DRAM" if node.settled.system.memory == "expander-dram" else short(node.machine.pmem)
    remedy = "a card of machine.expander is" if memory_name == "DRAM" else "a medium with a link of its own is"
    yield (
        f"{count} generic CXL expander{'s' * (count > 1)} of {memory_name} {'are' if count > 1 else 'is'} not on sale; {remedy}."
    )


def _bays(node: Node) -> Iterator[str]:
    """Yield sentences if expander bays or drive bays run out."""
    bays_needed, bays = total(card.number for card in node.expander_bay_parts), round(node.chassis.expanders.value)
    if bays_needed > bays:
        yield f"{_count_sentence(node.expander_bay_parts)} {_need(bays_needed, 'expander bay')}; {node.chassis_name} has {bays}."
    drives, room = node.drives, round(node.chassis.bays.value)
    if drives > room:
        yield f"{drives} {short(node.machine.ssd)} {_need(drives, 'drive bay')}; {node.chassis_name} has {room}."


def _lanes(node: Node) -> Iterator[str]:
    """Yield a sentence if the parts in bays and slots exceed the free lanes."""
    machine = node.machine
    lane_users = (
        *node.expander_bay_parts,
        LaneUsers(node.drives, short(machine.ssd), DRIVE_LANES),
        LaneUsers(expanders(machine) * ("near-data" in node.devices), f"{short(machine.near_data_logic)} near data", CARD_LANES),
        LaneUsers(int("gatherer" in node.devices), "gather card", CARD_LANES),
    )
    wants = [user for user in lane_users if user.number]
    need, free_lanes = total(user.number * user.lanes for user in wants), round(node.chassis.lanes.value)
    if need > free_lanes:
        parts_need = f"{_count_sentence(wants)} {_need(need, 'PCIe lane', total(user.number for user in wants))}"
        yield f"{parts_need}; {node.chassis_name} has {free_lanes} free."


def _supplies(node: Node) -> Iterator[str]:
    """Yield a sentence if the supplies are too weak.

    They feed GPUs at their limit, CPUs at full work, and all else at idle power.
    """
    machine, full_power_devices = node.machine, ("gpu", "host", "remote")
    devices = powered_devices(node.settled.scenario.system, machine)
    rest = total(device.idle_watts for name, device in devices.items() if name not in full_power_devices) / nodes(machine)
    gpus = node_watts(machine) if "gpu" in devices else 0.0
    watts, rating = rest + gpus + assumed_value(machine, "host", HOSTS[machine.host].active), node.chassis.rating.value
    if watts > rating:
        need = f"GPUs, CPUs and all other parts of a node need {figures.figure(watts, 'W')}"
        yield f"{need}; the supplies of {node.chassis_name} give {figures.figure(rating, 'W')}."


def _servers(node: Node) -> Iterator[str]:
    """Yield a sentence if an embedding server's DRAM exceeds its channels, as many as a host's."""
    channels = host_channels(node.machine)
    gib, max_gib = node.machine.server_dram_GiB or 0.0, max_dram_GiB(channels)
    if "remote" in node.devices and gib > max_gib:
        yield f"{figures.exact(gib)} GiB of an embedding server need larger DIMMs; {_largest(channels)}."


RULES: tuple[Callable[[Node], Iterator[str]], ...] = (
    _gpus,
    _host,
    _dimms,
    _host_generations,
    _link_generations,
    _products,
    _bays,
    _lanes,
    _supplies,
    _servers,
)


def _sockets(machine: MachineKnobs) -> int:
    """Return the sockets of a host."""
    return round(assumed_value(machine, "host", HOSTS[machine.host].sockets))


def _need(number: int, place_name: str, needing: int = 0) -> str:
    """Return the phrase "needs 3 places" for so many parts, or for `needing` parts."""
    return f"need{'s' * ((needing or number) == 1)} {number} {place_name}{'s' * (number > 1)}"


def _largest(channels: int) -> str:
    """Return a sentence about the largest DIMMs of so many channels."""
    return f"{PER_CHANNEL * channels} of {DIMMS_GiB[-1]} GiB are {figures.exact(max_dram_GiB(channels))} GiB"


def _module_count(number: int, name: str) -> str:
    """Return "3 modules of NAME"."""
    return f"{number} module{'s' * (number > 1)} of {name}"


def _count_sentence(parts: Sequence[LaneUsers]) -> str:
    """Return numbers and names of parts as an enumeration."""
    phrases = [f"{part.number} {part.name}" for part in parts]
    return f"{', '.join(phrases[:-1])} and {phrases[-1]}" if len(phrases) > 1 else phrases[0]
