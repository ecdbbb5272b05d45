"""The parts that a settled machine's system powers or pays for: number and availability.

A machine is settled when all its sizes are chosen.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ...core import figures
from ...core.catalog import availability
from ...core.part_files.known import DIGEST_SEPARATOR
from ...core.part_files.lists import owns
from ...hardware.device import Device, expanders, nodes
from ...hardware.devices import gatherer, remote
from ...hardware.devices.chassis import (
    DEFAULT_CHASSIS,
    PLACE_FORMS,
    bought_gpus,
    chassis_in_node,
    gpu_form,
    sold_on_boards,
    takes_gpu,
)
from ...hardware.devices.dram import grade_name, host_dimms
from ...hardware.devices.expander_dram import expander_dimms
from ...hardware.devices.gpu import REPLAYS
from ...hardware.devices.pmem import modules, own_link
from ...scenario.machine import RECORDED, MachineKnobs
from ..system import Settled, device_names, machine_around

GENERIC = "CXL expander"  # no product: links, controllers and memory as knobs describe them


class Piece(NamedTuple):
    """Equal parts of a machine.

    kind: kind of the catalogue, "" for parts that have no file there.
    name: name in the catalogue.
    number: number of these parts in the whole machine.
    size: size of one part, as text.
    """

    kind: str
    name: str
    number: int
    size: str = ""

    @property
    def label(self) -> str:
        """The part's size and name as text.

        A part that no knob chooses is called by its kind.
        """
        part_name = self.kind if self.kind in (remote.KIND, gatherer.KIND) else short(self.name)
        return f"{self.size} {part_name}".lstrip()


def short(name: str) -> str:
    """Return a part's name without the digest that a user's own part has."""
    return name.partition(DIGEST_SEPARATOR)[0]


def parts_of(settled: Settled) -> Mapping[str, int]:
    """Return the number of each part of a whole machine, by name: "64 GiB ddr5-5600".

    If parts of several kinds have the same name, the kind stands before the name.
    """
    part_counts: Counter[str] = Counter()
    for label, piece in _labelled(settled):
        part_counts[label] += piece.number
    return dict(part_counts)


def states_of(settled: Settled) -> Mapping[str, str]:
    """Return whether each part of a machine can be bought, by the part's name.

    DIMMs are named by their grade. A state is "on sale", "announced", "discontinued" or "research"; it is "unknown" if a user's
    own part does not state it. Parts that are owned in full need not be bought, and are left out.
    """
    machine = settled.scenario.machine
    return {name: availability(piece.kind, piece.name).state for name, piece in _bought(machine, _labelled(settled))}


def spare_gpus_note(machine: MachineKnobs, devices: Mapping[str, Device]) -> tuple[str, ...]:
    """Return a sentence on GPUs that do not train, or lack a board.

    Return () without such GPUs.
    """
    if "gpu" not in devices:
        return ()
    gpu, chassis, watts = short(machine.gpu), short(machine.chassis or DEFAULT_CHASSIS), devices["gpu"].spare_watts
    if not (spares := round(devices["gpu"].bill[0].spare)):
        has_place = gpu_form(machine.gpu) not in PLACE_FORMS or takes_gpu(machine.chassis or "", machine.gpu)
        if machine.prices == RECORDED or has_place:
            return ()
        lacking = f"No board of {chassis} has {gpu}" if sold_on_boards(machine.gpu) else f"No place of {chassis} takes {gpu}"
        return (f"{lacking}, so this machine cannot be bought; its price is of the GPUs that train.",)
    bought = machine.num_gpus + spares
    return (
        f"The machine has {figures.count(bought)} × {gpu}, since {gpu_form(machine.gpu)} boards are sold whole, here in "
        f"{chassis}: {figures.count(machine.num_gpus)} train{'s' * (machine.num_gpus == 1)}, and {figures.count(spares)} "
        f"{'is' if spares == 1 else 'are'} idle, counted at {figures.figure(watts, 'W')}{' each' * (spares > 1)}.",
    )


def _bought(machine: MachineKnobs, labelled: Iterable[tuple[str, Piece]]) -> Iterator[tuple[str, Piece]]:
    """Yield the pieces of the catalogue that must be bought, with their names without sizes."""
    for label, piece in labelled:
        if piece.kind and not owns(machine.owned_parts, piece.kind, piece.name, piece.number):
            yield label.removeprefix(f"{piece.size} "), piece


def _labelled(settled: Settled) -> Iterator[tuple[str, Piece]]:
    """Yield each piece with its label, behind its kind if another kind has the same label."""
    pieces = [piece for piece in _pieces(settled) if piece.number]
    kinds = {piece.label: {namesake.kind for namesake in pieces if namesake.label == piece.label} for piece in pieces}
    for piece in pieces:
        yield piece.label if len(kinds[piece.label]) == 1 else f"{piece.kind} {piece.label}", piece


def _pieces(settled: Settled) -> Iterator[Piece]:
    """Yield the parts of a machine, device by device."""
    machine = settled.scenario.machine
    for name in device_names(settled.scenario.system, machine):
        if name in PIECES:
            yield PIECES[name](machine_around(settled.scenario.system, machine, name))
    if has_generic_expanders(settled):
        yield Piece("", GENERIC, expanders(machine))


def has_generic_expanders(settled: Settled) -> bool:
    """Return whether a system's memory is on CXL expanders that are no product."""
    machine, system = settled.scenario.machine, settled.system
    product = machine.expander if system.memory == "expander-dram" else own_link(machine)
    return "cxl" in system.devices and not product


def _expander_dram(machine: MachineKnobs) -> Piece:
    """Return the cards of expander DRAM, or its DIMMs if there are no cards."""
    if machine.expander:
        return Piece("expander", machine.expander, expanders(machine))
    dimms = expander_dimms(machine, machine.expander_dram_GiB or 0.0)
    return Piece("dram", machine.expander_dram, dimms.number, f"{dimms.gib} GiB")


def _host_dram(machine: MachineKnobs) -> Piece:
    """Return the DIMMs of all hosts."""
    dimms = host_dimms(machine, machine.host_dram_GiB or 0.0)
    return Piece("dram", grade_name(machine), nodes(machine) * dimms.number, f"{dimms.gib} GiB")


def _chassis(machine: MachineKnobs) -> Piece:
    """Return the chassis of all nodes."""
    return Piece("chassis", machine.chassis or DEFAULT_CHASSIS, nodes(machine) * chassis_in_node(machine))


PIECES: Mapping[str, Callable[[MachineKnobs], Piece]] = {
    "host": lambda machine: Piece("host", machine.host, nodes(machine)),
    "dram": _host_dram,
    "chassis": _chassis,
    "gpu": lambda machine: Piece("gpu-replay" if machine.gpu in REPLAYS else "gpu", machine.gpu, bought_gpus(machine)),
    "pmem": lambda machine: Piece("media", machine.pmem, nodes(machine) * modules(machine)),
    "expander-dram": _expander_dram,
    "ssd": lambda machine: Piece("drive", machine.ssd, nodes(machine) * (machine.num_ssds or 1)),
    "near-data": lambda machine: Piece("near-data", machine.near_data_logic, expanders(machine)),
    "gatherer": lambda machine: Piece(gatherer.KIND, gatherer.CARD_NAME, nodes(machine)),
    "remote": lambda machine: Piece(remote.KIND, remote.SERVER_NAME, machine.embedding_servers),
}
