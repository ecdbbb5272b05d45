"""What joins several GPUs: a fabric inside a node, a network between nodes, and the collectives that use both."""

from dataclasses import dataclass
from typing import Any

from engine.assumptions import assumed, fields_of
from engine.cluster import gpus_in_node, nodes
from engine.constants import Constant
from engine.device import Device, Kind, some
from engine.machine import Machine
from engine.units import GB, US
from engine.work import AllReduce, AllToAll, Fetch

MADMAX = "MAD-Max (arXiv 2310.02784), DLRM fleets"
CALCULON = "calculon-ai/calculon, collective constants"


@dataclass(frozen=True)
class Fabric:
    """The links of one node's GPUs, and how much of links DLRM's collectives sustain."""

    link: Constant
    inside: Constant = Constant("fabric utilisation", 0.667, "of peak", 0.45, 0.92, "stated", MADMAX, "all-to-all and all-reduce")
    outside: Constant = Constant("network utilisation", 0.56, "of sustained", 0.5, 0.9, "stated", MADMAX, "RoCE")
    start: Constant = Constant("fabric latency", 10, "us", 5, 10, "stated", CALCULON, "per collective")
    hop: Constant = Constant("network latency", 20, "us", 10, 20, "stated", CALCULON, "per collective")
    energy: Constant = Constant("link energy", 7.5, "pJ/bit", 4, 10, "stated", "XHarvest, CXL/PCIe PHY", "counted at both ends")
    card: Constant = Constant("network card power", 20, "W", 10, 30, "unsourced", "one for each GPU, where there are two nodes")
    price: Constant = Constant(
        "network card price", 1500, "USD", 800, 3000, "unsourced", "one for each GPU, with its share of a switch"
    )


def _link(value: float, low: float, source: str) -> Fabric:
    return Fabric(Constant("fabric bandwidth", value, "GB/s", low, value, "vendor", source, "one direction, each GPU"))


FABRICS = {
    "v100": _link(150, 110, "NVLink 2"),
    "a100-40": _link(300, 276, "NVLink 3; nvbandwidth measures 276"),
    "a100-80": _link(300, 276, "NVLink 3; nvbandwidth measures 276"),
    "h100-sxm": _link(450, 335, "NVLink 4; health checks ask 335"),
    "trainingcxl": Fabric(
        Constant("fabric bandwidth", 13, "GB/s", 9, 26, "unsourced", "a PCIe 3 desktop; the prototype has one GPU")
    ),
}


def build(machine: Machine) -> Device:
    """Build the links; each GPU brings its own, so rates are linear in GPUs."""
    fabric = assumed(machine, "network", FABRICS[machine.gpu])
    gpus, inside, count = machine.num_gpus, gpus_in_node(machine), nodes(machine)
    link = fabric.inside.value * fabric.link.value * GB
    net = fabric.outside.value * machine.network_bandwidth_GBps * GB
    latency = (fabric.start.value + (fabric.hop.value if count > 1 else 0.0)) * US

    def exchange(work: AllToAll) -> Any:
        mine = work.nbytes / gpus
        slower = max((inside - 1) / gpus / link, (gpus - inside) / gpus / net)
        return some(work.nbytes) * (latency if gpus > 1 else 0.0) + mine * slower

    def reduce(work: AllReduce) -> Any:
        """Rings: over the fabric, then over the network with a node's GPUs each summing their part."""
        ring = 2 * (inside - 1) / inside / link + 2 * (count - 1) / count / (inside * net)
        return some(work.nbytes) * (latency if gpus > 1 else 0.0) + work.nbytes * ring

    def fetch(work: Fetch) -> Any:
        return some(work.nbytes) * fabric.hop.value * US + work.nbytes / gpus / net

    def joules(nbytes: Any) -> Any:
        return nbytes * 8 * 2 * fabric.energy.value * 1e-12

    cards = gpus if count > 1 else 0
    return Device(
        name="network",
        title=f"Network of {gpus} GPUs in {count} node{'s' if count > 1 else ''}",
        helps="a faster network, or fewer GPUs, would shorten it",
        seconds={AllToAll: exchange, AllReduce: reduce, Fetch: fetch},
        joules={
            AllToAll: lambda work: joules(work.nbytes * (gpus - 1) / gpus),
            Fetch: lambda work: joules(work.nbytes),
            AllReduce: lambda work: joules(work.nbytes * 2 * (gpus - 1)),
        },
        idle_watts=cards * fabric.card.value,
        price=cards * fabric.price.value,
        modules=gpus,
        constants=fields_of(fabric),
    )


DEVICE = Kind(
    "Network",
    build,
    lambda: {name: fields_of(fabric) for name, fabric in FABRICS.items()},
    knobs=("machine.gpu", "machine.network_bandwidth_GBps"),
)
