"""Link of a memory card: the lanes by which all GPUs reach it.

A GPU's own link carries its part of a batch, and the card's link carries all parts. A single GPU needs no such device, as its own
link is no faster.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ...core.constants import Constant
from ...core.figures import figure
from ...core.part_files.tables import quantity
from ...core.work import Copy
from ...scenario.machine import MachineKnobs
from ...units import GB
from ..device import Cost, Device, DeviceKind, assumed_part, fields_of
from .gpu_port import copy_rate, host_port


@dataclass(frozen=True)
class CardEnd:
    """The card's end of its link."""

    share: Constant = quantity(
        "share of copy rate",
        "of a GPU's",
        default=Constant("", 1, "", 0.8, 1, "unsourced", "16 lanes like a GPU's, whose controller may sustain less"),
    )


CARD_END = CardEnd()
SECONDS: Mapping[type, Cost] = {Copy: lambda bytes_per_second, work: work.nbytes / bytes_per_second}


def build(machine: MachineKnobs) -> Device:
    """Return the link of the card.

    It draws no power of its own: the GPUs' links pay for the bytes.
    """
    card = assumed_part(machine, "card-link", CARD_END)
    rate = card.share.value * min(copy_rate(machine), host_port(machine))
    return Device(
        name="card-link",
        title=f"Link of the memory card, {figure(rate, 'GB/s')} each way",
        helps="fewer bytes between card and GPUs would shorten it",
        rates=rate * GB,
        seconds=SECONDS,
        constants=fields_of(card),
    )


DEVICE = DeviceKind(
    "Link of a memory card",
    build,
    lambda: {"": fields_of(CARD_END)},
    knob_names=("gpu", "host", "pcie_bandwidth_GBps"),
)
