"""Link of a memory card: the lanes by which all GPUs reach it.

A GPU's own link carries its part of a batch, and the 16 lanes of the card carry all parts. The link of a single GPU on PCIe is no
faster, so that it needs no such device; that of a superchip is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ...core.constants import Constant
from ...core.figures import figure
from ...core.part_files.tables import quantity
from ...core.work import Copy
from ...scenario.machine import MachineKnobs
from ...units import GB
from ..device import Cost, Device, DeviceKind, assumed_part, fields_of
from .chassis import SUPERCHIP, gpu_form
from .gpu_port import host_port


@dataclass(frozen=True)
class CardEnd:
    """The card's end of its link."""

    share: Constant = quantity(
        "share of lanes",
        "of the host's",
        default=Constant("", 1, "", 0.5, 1, "unsourced", "16 lanes of the host's generation; a card may be a generation older"),
    )


CARD_END = CardEnd()
SECONDS: Mapping[type, Cost] = {Copy: lambda bytes_per_second, work: work.nbytes / bytes_per_second}


def has_card_link(machine: MachineKnobs) -> bool:
    """Return whether GPUs together may copy faster than a card's lanes."""
    return machine.num_gpus > 1 or _is_superchip(machine.gpu)


@lru_cache(maxsize=256)
def _is_superchip(gpu: str) -> bool:
    return gpu_form(gpu) == SUPERCHIP


def build(machine: MachineKnobs) -> Device:
    """Return the link of the card.

    It draws no power of its own: the GPUs' links pay for the bytes.
    """
    card = assumed_part(machine, "card-link", CARD_END)
    rate = card.share.value * host_port(machine)
    return Device(
        name="card-link",
        title=f"Link of the memory card, {figure(rate, 'GB/s')} each way",
        helps="fewer bytes between card and GPUs would shorten it",
        rates=rate * GB,
        seconds=SECONDS,
        constants=fields_of(card),
    )


DEVICE = DeviceKind("Link of a memory card", build, lambda: {"": fields_of(CARD_END)}, knob_names=("host",))
