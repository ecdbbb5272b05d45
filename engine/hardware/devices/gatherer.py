"""Gather card: reads rows from several memories over PCIe, and writes them back.

The card models Hotline's accelerator, which is not for sale. Each row is one read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...core.catalog import Catalogue
from ...core.constants import Constant
from ...core.part_files.tables import optional_price, quantity
from ...core.row_sizes import mean_bytes, mean_over_rows
from ...core.work import RowReads, RowUpdates
from ...scenario.machine import MachineKnobs
from ...units import GB, US
from ..device import Cost, Device, DeviceKind, assumed_part, fields_of, nodes
from ..money.bill import BillItem
from .gpu_port import copy_rate


@dataclass(frozen=True)
class Card:
    """Constants of a gather card: reads in flight, time of a read, power, price."""

    reads: Constant = quantity("reads in flight", "reads")
    trip: Constant = quantity("read round trip", "us")
    active: Constant = quantity("active power", "W")
    idle: Constant = quantity("idle power", "W")
    price: Constant | None = optional_price("USD")


KIND, CARD_NAME = "gather-card", "alveo"
CARDS = Catalogue(KIND, Card)


class CardRates(NamedTuple):
    """Rates of a gather card.

    pace: seconds from one read of the card to the next.
    link: rate of its link [B/s].
    """

    pace: float
    link: float


def gather_seconds(card: CardRates, work: RowReads) -> Any:
    """Return the seconds of row reads by a gather card.

    Each row takes the card's pace, or the time of its bytes on the link if that is longer.
    """
    return work.rows * mean_over_rows(work.row_bytes, lambda size: np.maximum(card.pace, size / card.link))


SECONDS: Mapping[type, Cost] = {
    RowReads: gather_seconds,
    RowUpdates: lambda card, work: work.rows * mean_bytes(work.row_bytes) / card.link,
}


def build(machine: MachineKnobs) -> Device:
    """Return the gather card as a device; its link is as fast as a GPU's."""
    card = assumed_part(machine, "gatherer", CARDS[CARD_NAME], KIND, CARD_NAME)
    return Device(
        name="gatherer",
        title="Gather card",
        helps="more reads in flight or a faster link would shorten it",
        rates=CardRates(card.trip.value * US / card.reads.value, copy_rate(machine) * GB),
        seconds=SECONDS,
        idle_watts=card.idle.value,
        busy_watts=card.active.value - card.idle.value,
        bill=(BillItem(KIND, CARD_NAME, 1, card.price),),
        constants=fields_of(card),
    )


DEVICE = DeviceKind(
    "Gather card",
    build,
    lambda: {"": fields_of(CARDS[CARD_NAME])},
    knob_names=("pcie_bandwidth_GBps", "gpu", "host", "prices"),
    copies=nodes,
    kinds=(KIND,),
)
