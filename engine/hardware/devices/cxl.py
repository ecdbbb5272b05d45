"""CXL link between GPU and memory, over which hardware moves lines without software.

Bandwidth and latency follow from the link's generation, lanes, switches and retimers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...core import figures
from ...core.catalog import Catalogue, latency_points
from ...core.constants import Constant
from ...core.part_files.tables import joined_words, optional_price, quantity
from ...core.work import Move
from ...errors import BadKnob
from ...scenario.machine import MachineKnobs
from ...units import GB, NS
from ..concurrency import BEND, LINE, RISE, WALL, LoadCurve, access_seconds, load_curve, loaded_latency
from ..device import Cost, Device, DeviceKind, assumed_part, assumed_value, expanders, fields_of, over_link
from ..money.bill import BillItem
from .expander_dram import expander_latency
from .pmem import pmem_latency

DIRECTIONS, LATENCY_NS = 2, 250.0
CARDS = 8, 16  # lanes of memory cards


@dataclass(frozen=True)
class Link:
    """Constants of a CXL link that are not knobs."""

    lane: Constant = quantity("raw lane rate", "GB/s")
    efficiency: Constant = quantity("flit efficiency", "of raw")
    hop: Constant = quantity("switch hop", "ns")
    retimer: Constant = quantity("retimer", "ns")
    phy: Constant = quantity("link energy", "pJ/bit")
    controller: Constant = quantity("controller power", "W")
    switch: Constant = quantity("switch power", "W")
    card: Constant | None = optional_price("USD", "card price")
    tags: Constant = quantity(
        "lines in flight",
        "lines",
        default=Constant("", 1024, "", 256, 4096, "unsourced", "no figure is published; Gen5 x16 needs 250 at 250 ns"),
    )
    rise: Constant = RISE
    bend: Constant = BEND
    wall: Constant = WALL


LINKS = Catalogue("cxl-link", Link)


def _link_name(generation: int) -> str:
    """Return the name of the link of a generation; raises BadKnob if no link has it."""
    name = f"generation-{generation}"
    if name not in LINKS:
        raise BadKnob(
            f"pmem.link-generation={generation} is not the generation of a CXL link; write one of {joined_words(generations())}."
        )
    return name


def generations() -> list[str]:
    """Return the known generations of CXL links, as texts."""
    return sorted((name.rpartition("-")[2] for name in LINKS), key=int)


def payload_rate(machine: MachineKnobs) -> float:
    """Return the payload bytes per second of one expander's link, one direction."""
    if machine.cxl_bandwidth_GBps is not None:
        return machine.cxl_bandwidth_GBps * GB
    return lanes_rate(machine, machine.cxl_generation, machine.cxl_lanes)


def lanes_rate(machine: MachineKnobs, generation: int, lanes: int) -> float:
    """Return the payload bytes per second of `lanes` lanes of a generation, one direction."""
    return _rates(machine, generation, lanes)[1]


def products(machine: MachineKnobs) -> Iterator[tuple[str, float, float]]:
    """Yield name, raw rate and payload rate of each link that cards have.

    Rates are in bytes per second, in one direction; a name is as in "×8 Gen4".
    """
    for generation in map(int, generations()):
        yield from ((f"×{lanes} Gen{generation}", *_rates(machine, generation, lanes)) for lanes in CARDS)


def _rates(machine: MachineKnobs, generation: int, lanes: int) -> tuple[float, float]:
    """Return the raw and the payload bytes per second of so many lanes, one direction."""
    link = LINKS[_link_name(generation)]
    lane, efficiency = (assumed_value(machine, "cxl", constant) for constant in (link.lane, link.efficiency))
    return lanes * lane * GB, lanes * lane * efficiency * GB


def link_latency(machine: MachineKnobs) -> float:
    """Return the nanoseconds of one unloaded access through the link.

    The latency of the memory behind the link is not included.
    """
    return LATENCY_NS if machine.cxl_latency_ns is None else machine.cxl_latency_ns


def joint_rate(machine: MachineKnobs) -> float:
    """Return the payload bytes per second of all expanders' links together, one direction."""
    return expanders(machine) * payload_rate(machine)


class LinkRates(NamedTuple):
    """Rates of the links of all expanders.

    links: number of links.
    service: seconds that one link works on a line.
    tags: lines in flight on one link.
    curves: for each memory behind the link, how the latency of its answer rises with load.
    answer: for each memory behind the link, the time from request to answer without load [ns].
    way: time on switches and retimers [ns].
    bit: energy at either end [pJ/bit].
    """

    links: float
    service: float
    tags: float
    curves: Mapping[str, LoadCurve]
    answer: Mapping[str, float]
    way: float
    bit: float


def move_seconds(links: LinkRates, work: Move) -> Any:
    """Return the seconds of lines over the links; tags limit the lines in flight."""
    lines, idle = work.nbytes / LINE / links.links, np.maximum(links.answer[work.source_memory], 1e-3)
    answer = loaded_latency(idle, links.service / NS, lines, links.tags, links.curves[work.source_memory]) + links.way
    return access_seconds(lines, links.service, answer * NS, links.tags)


SECONDS: Mapping[type, Cost] = {Move: move_seconds}
JOULES: Mapping[type, Cost] = {Move: lambda links, work: over_link(work.nbytes, links.bit)}


def build(machine: MachineKnobs) -> Device:
    """Return the links of all expanders as one device.

    The two directions are separate lanes, and all links lie behind one switch.
    """
    name, count = _link_name(machine.cxl_generation), expanders(machine)
    link = assumed_part(machine, "cxl", LINKS[name], LINKS.kind, name)
    rate = joint_rate(machine)
    memory_latencies = {"": 0.0, "pmem": pmem_latency(machine), "expander-dram": expander_latency(machine)}
    card_curve = latency_points("expander", machine.expander) if machine.expander else None  # a card is measured with its link
    rates = LinkRates(
        links=float(count),
        service=LINE * count / rate,
        tags=float(link.tags.value),
        curves={memory: load_curve(link, card_curve if memory == "expander-dram" else None) for memory in memory_latencies},
        answer={memory: link_latency(machine) + latency for memory, latency in memory_latencies.items()},
        way=machine.cxl_switch_hops * link.hop.value + machine.cxl_retimers * link.retimer.value,
        bit=link.phy.value,
    )
    idle = count * link.controller.value + (link.switch.value if machine.cxl_switch_hops else 0.0)
    return Device(
        name="cxl",
        title=f"CXL link, {f'{count} x ' if count > 1 else ''}{figures.figure(rate / count / GB, 'GB/s')}",
        helps="a faster CXL link would shorten it",
        rates=rates,
        seconds=SECONDS,
        joules=JOULES,
        idle_watts=idle,
        full_watts=idle + over_link(DIRECTIONS * rate, link.phy.value),
        bill=(BillItem("cxl-link", name, count, link.card, key="card-price"),),
        constants=fields_of(link),
    )


DEVICE = DeviceKind(
    "CXL link",
    build,
    lambda: {name.replace("-", " "): fields_of(link) for name, link in LINKS.items()},
    knob_names=(
        "cxl_bandwidth_GBps",
        "cxl_generation",
        "cxl_lanes",
        "cxl_latency_ns",
        "cxl_switch_hops",
        "cxl_retimers",
        "num_expanders",
        "expander",
        "prices",
    ),
)
