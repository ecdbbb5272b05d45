"""Network between GPUs: a fabric inside each node, and links between nodes.

Collectives use both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...core import figures
from ...core.catalog import Catalogue
from ...core.constants import Constant
from ...core.part_files.tables import optional_price, quantity
from ...core.work import Agreement, AllGather, AllReduce, AllToAll, Fetch
from ...scenario.machine import MachineKnobs
from ...units import GB, US
from ..device import (
    Cost,
    Device,
    DeviceKind,
    assumed_part,
    fields_of,
    gpus_in_node,
    is_positive,
    nodes,
    over_link,
)
from ..framework import wait_seconds
from ..money.bill import BillItem


@dataclass(frozen=True)
class Fabric:
    """Constants of the links between a node's GPUs.

    utilisation: share of the peak rate that the collectives of DLRM training sustain.
    port_share: share of the bytes that cross a GPU's PCIe port.
    """

    link: Constant = quantity("fabric bandwidth", "GB/s")
    utilisation: Constant = quantity("fabric utilisation", "of peak")
    start: Constant = quantity("fabric latency", "us")
    energy: Constant = quantity("link energy", "pJ/bit")
    port_share: Constant = quantity(
        "share through the port", "of bytes", zero=True, default=Constant("", 0, "", 0, 1, "stated", "links of their own")
    )


@dataclass(frozen=True)
class Network:
    """Constants of the network between nodes.

    utilisation: share of a card's rate that large messages sustain.
    hop: latency of the network [us].
    message: overhead of each message [us].
    card: power of each GPU's network card [W].
    price: USD of a card, None if unpublished.
    port: USD of a switch port. cables: USD of the connectors and cables of a card.
    """

    utilisation: Constant = quantity("network utilisation", "of sustained")
    hop: Constant = quantity("network latency", "us")
    message: Constant = quantity("message overhead", "us", zero=True)
    card: Constant = quantity("network card power", "W")
    price: Constant | None = optional_price("USD", "network card price")
    port: Constant | None = optional_price("USD", "switch port price")
    cables: Constant | None = optional_price("USD", "cable price")


FABRICS = Catalogue("fabric", Fabric, used_by=("gpu", "gpu-replay"))
NETWORKS = Catalogue("network", Network)


class NetworkRates(NamedTuple):
    """Rates of the fabric and of the network between nodes.

    gpus: number of GPUs.
    fabric: rate of a GPU on the fabric [B/s].
    network: rate of a GPU's network card in collectives [B/s].
    card: rate of a GPU's network card in a stream between two peers [B/s].
    exchange_latency: seconds before the first byte of an exchange between GPUs moves.
    host_latency: seconds before the first byte of an exchange between hosts moves.
    gathered: bytes over the fabric for each byte over the network; 0 where GPUs send to other nodes directly.
    reduce_latency: seconds before the first byte of an all-reduce or an all-gather moves.
    hop: latency of the network [us].
    ring: seconds of an all-reduce per byte of a GPU's gradients.
    pairs: number of link crossings of each byte of an all-reduce.
    bit: energy at either end of a link [pJ/bit].
    wait: seconds that GPUs wait for each other before a collective, if that is a task of its own.
    """

    gpus: float
    fabric: float
    network: float
    card: float
    exchange_latency: float
    host_latency: float
    gathered: float
    reduce_latency: float
    hop: float
    ring: float
    pairs: float
    bit: float
    wait: float


def fabric_through_port(machine: MachineKnobs) -> float:
    """Return the rate of a fabric over the GPUs' PCIe ports [GB/s].

    It is 0 for a fabric of its own.
    """
    return assumed_part(machine, "network", FABRICS[machine.gpu]).port_share.value * fabric_rate(machine)


def fabric_rate(machine: MachineKnobs) -> float:
    """Return the rate of a GPU in collectives over its node's fabric [GB/s]."""
    fabric = assumed_part(machine, "network", FABRICS[machine.gpu])
    return fabric.utilisation.value * fabric.link.value


def exchange_seconds(links: NetworkRates, work: AllToAll) -> Any:
    """Return the seconds of an all-to-all, in which fabric and network work in parallel.

    The time is a latency, with an overhead for each message, plus bytes over the rate (Hockney's model).
    """
    latency, gathered = (links.host_latency, 0.0) if work.hosts else (links.exchange_latency, links.gathered)
    fabric = work.fabric + gathered * work.network
    return is_positive(work.nbytes) * latency + np.maximum(fabric / links.fabric, work.network / links.network)


def reduce_seconds(links: NetworkRates, work: AllReduce) -> Any:
    """Return the seconds of an all-reduce: rings over the fabric, then over the network.

    On the network, each GPU of a node sums its own part of the gradients.
    """
    return is_positive(work.nbytes) * links.reduce_latency + work.nbytes * links.ring


def gather_seconds(links: NetworkRates, work: AllGather) -> Any:
    """Return the seconds of an all-gather, the second half of an all-reduce.

    On the network, each GPU of a node receives its own part of the bytes; then rings over the fabric pass them on.
    """
    return is_positive(work.nbytes) * links.reduce_latency + work.nbytes * links.ring / 2


def fetch_seconds(links: NetworkRates, work: Fetch) -> Any:
    """Return the seconds in which GPUs exchange bytes with embedding servers.

    Each GPU carries an equal share on its own network card. A stream between two peers reaches the card's full rate, unlike a
    collective.
    """
    return is_positive(work.nbytes) * links.hop * US + work.nbytes / links.gpus / links.card


def link_joules(links: NetworkRates, work: AllToAll | Fetch) -> Any:
    """Return the joules of bytes that cross one link each."""
    return over_link(work.nbytes, links.bit)


def reduce_joules(links: NetworkRates, work: AllReduce) -> Any:
    """Return the joules of an all-reduce, each of whose bytes crosses many links."""
    return over_link(work.nbytes * links.pairs, links.bit)


def gather_joules(links: NetworkRates, work: AllGather) -> Any:
    """Return the joules of an all-gather, half those of an all-reduce."""
    return over_link(work.nbytes * links.pairs / 2, links.bit)


SECONDS: Mapping[type, Cost] = {
    AllToAll: exchange_seconds,
    AllReduce: reduce_seconds,
    AllGather: gather_seconds,
    Fetch: fetch_seconds,
    Agreement: lambda links, work: work.calls * links.wait,
}
JOULES: Mapping[type, Cost] = {
    AllToAll: link_joules,
    Fetch: link_joules,
    AllReduce: reduce_joules,
    AllGather: gather_joules,
}


def build(machine: MachineKnobs) -> Device:
    """Return the fabric and the network of all GPUs as one device."""
    fabric, network = (
        assumed_part(machine, "network", FABRICS[machine.gpu]),
        assumed_part(machine, "network", NETWORKS[machine.network], NETWORKS.kind, machine.network),
    )
    gpus, node_gpus, count = machine.num_gpus, gpus_in_node(machine), nodes(machine)
    link = fabric.utilisation.value * fabric.link.value * GB
    card = machine.network_bandwidth_GBps * GB
    net = network.utilisation.value * card
    short_wait, long_wait = wait_seconds(machine)
    latency = (fabric.start.value + (network.hop.value if count > 1 else 0.0)) * US + short_wait
    by_node = machine.exchange_route == "by node"
    messages = count - 1 if by_node else gpus - node_gpus
    rates = NetworkRates(
        gpus=float(gpus),
        fabric=link,
        network=net,
        card=card,
        exchange_latency=latency + messages * network.message.value * US,
        host_latency=latency + (count - 1) * network.message.value * US,
        gathered=(node_gpus - 1) / node_gpus if by_node else 0.0,
        reduce_latency=latency if gpus > 1 else 0.0,
        hop=network.hop.value,
        ring=2 * (node_gpus - 1) / node_gpus / link + 2 * (count - 1) / count / (node_gpus * net),
        pairs=2.0 * (gpus - 1),
        bit=fabric.energy.value,
        wait=long_wait,
    )
    cards = gpus if count > 1 else 0
    return Device(
        name="network",
        title=f"Network of {figures.count(gpus, 'GPU')} in {figures.count(count, 'node')}",
        helps="a faster network, or fewer GPUs, would shorten it",
        rates=rates,
        seconds=SECONDS,
        joules=JOULES,
        idle_watts=cards * network.card.value,
        bill=_bill(machine.network, network, cards) if cards else (),
        modules=gpus,
        constants=(*fields_of(fabric), *fields_of(network)),
    )


def _bill(name: str, network: Network, cards: int) -> tuple[BillItem, ...]:
    """Return the cards on the bill, each with a switch port and its connectors and cables."""
    prices = {"network-card-price": network.price, "switch-port-price": network.port, "cable-price": network.cables}
    return tuple([BillItem(NETWORKS.kind, name, cards, price, key=key) for key, price in prices.items()])


DEVICE = DeviceKind(
    "Network",
    build,
    lambda: {name: fields_of(part) for kind in (FABRICS, NETWORKS) for name, part in kind.items()},
    knob_names=("gpu", "network", "exchange_route", "network_bandwidth_GBps", "prices"),
)
