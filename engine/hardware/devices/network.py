"""The network of several GPUs: a fabric inside a node, a network between nodes, and the collectives that use both."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.catalog import Catalogue, quantity
from ...core.constants import Constant
from ...core.work import AllReduce, AllToAll, Fetch
from ...scenario.machine import MachineKnobs
from ...units import GB, MS, US
from ..device import Device, DeviceKind, assumed, assumed_value, fields_of, gpus_in_node, nodes, over_link, some
from ..framework import FRAMEWORKS


@dataclass(frozen=True)
class Fabric:
    """The links of one node's GPUs, and how much of links DLRM's collectives sustain."""

    link: Constant = quantity("fabric bandwidth", "GB/s")
    inside: Constant = quantity("fabric utilisation", "of peak")
    outside: Constant = quantity("network utilisation", "of sustained")
    start: Constant = quantity("fabric latency", "us")
    hop: Constant = quantity("network latency", "us")
    energy: Constant = quantity("link energy", "pJ/bit")
    card: Constant = quantity("network card power", "W")
    price: Constant = quantity("network card price", "USD")


FABRICS = Catalogue("fabric", Fabric, of=("gpu", "gpu-replay"))


def build(machine: MachineKnobs) -> Device:
    """Build the links; each GPU brings its own, so rates are linear in GPUs."""
    fabric = assumed(machine, "network", FABRICS[machine.gpu])
    gpus, inside, count = machine.num_gpus, gpus_in_node(machine), nodes(machine)
    link = fabric.inside.value * fabric.link.value * GB
    card = machine.network_bandwidth_GBps * GB
    net = fabric.outside.value * card
    agreed = assumed_value(machine, "host", FRAMEWORKS[machine.framework].agreement) * MS
    latency = (fabric.start.value + (fabric.hop.value if count > 1 else 0.0)) * US + agreed

    def exchange(work: AllToAll) -> Any:
        """Fabric and network work side by side."""
        return some(work.nbytes) * latency + np.maximum(work.fabric / link, work.network / net)

    def reduce(work: AllReduce) -> Any:
        """Rings: over the fabric, then over the network with a node's GPUs each summing their part."""
        ring = 2 * (inside - 1) / inside / link + 2 * (count - 1) / count / (inside * net)
        return some(work.nbytes) * (latency if gpus > 1 else 0.0) + work.nbytes * ring

    def fetch(work: Fetch) -> Any:
        """One peer's stream, which gets all that a card sustains, unlike collectives."""
        return some(work.nbytes) * fabric.hop.value * US + work.nbytes / gpus / card

    cards = gpus if count > 1 else 0
    return Device(
        name="network",
        title=f"Network of {gpus} GPUs in {count} node{'s' if count > 1 else ''}",
        helps="a faster network, or fewer GPUs, would shorten it",
        seconds={AllToAll: exchange, AllReduce: reduce, Fetch: fetch},
        joules={
            **dict.fromkeys((AllToAll, Fetch), lambda work: over_link(work.nbytes, fabric.energy)),
            AllReduce: lambda work: over_link(work.nbytes * 2 * (gpus - 1), fabric.energy),
        },
        idle_watts=cards * fabric.card.value,
        price=cards * fabric.price.value,
        modules=gpus,
        constants=fields_of(fabric),
    )


DEVICE = DeviceKind(
    "Network",
    build,
    lambda: {name: fields_of(fabric) for name, fabric in FABRICS.items()},
    reads=("gpu", "network_bandwidth_GBps"),
)
