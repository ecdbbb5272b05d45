"""The CXL link between accelerator and memory: hardware moves lines, no software takes part."""

from dataclasses import dataclass
from typing import Any

from engine.assumptions import assumed, fields_of
from engine.constants import Confidence, Constant
from engine.device import Device, Kind, some
from engine.machine import Machine
from engine.units import GB, NS
from engine.work import Move

DIRECTIONS = 2


@dataclass(frozen=True)
class Link:
    """What the knobs leave open of a CXL link."""

    lane: Constant
    efficiency: Constant = Constant(
        "flit efficiency", 0.82, "of raw", 0.75, 0.87, "derived", "CXL specification: 68 B flits, headers"
    )
    hop: Constant = Constant("switch hop", 75, "ns", 50, 120, "secondary", "XConn measurements; 70 ns in Pond")
    retimer: Constant = Constant("retimer", 10, "ns", 10, 60, "secondary", "The Next Platform: low-latency parts 10, others 60")
    phy: Constant = Constant("link energy", 7.5, "pJ/bit", 4, 10, "stated", "XHarvest, CXL/PCIe PHY", "counted at both ends")
    controller: Constant = Constant("controller power", 10, "W", 5, 20, "unsourced", "expander controller")
    switch: Constant = Constant("switch power", 30, "W", 15, 80, "unsourced", "whole switch")
    card: Constant = Constant("card price", 500, "USD", 200, 1500, "unsourced", "expander without memory")


def _lane(sixteen: float, high: float, confidence: Confidence, source: str) -> Constant:
    return Constant("raw lane rate", sixteen / 16, "GB/s", sixteen / 16, high / 16, confidence, source)


LINKS = {
    4: Link(_lane(31.5, 31.5, "derived", "16 GT/s in 128 of 130 bits")),
    5: Link(_lane(63, 63, "derived", "32 GT/s in 128 of 130 bits")),
    6: Link(_lane(121, 128, "secondary", "stas00/ml-engineering: 64 GT/s; error correction already taken off")),
}


def payload_rate(machine: Machine) -> float:
    """Return the payload bytes per second of one expander's link, one direction."""
    if machine.cxl_bandwidth_GBps is not None:
        return machine.cxl_bandwidth_GBps * GB
    link = assumed(machine, "cxl", LINKS[machine.cxl_generation])
    return machine.cxl_lanes * link.lane.value * link.efficiency.value * GB


def joint_rate(machine: Machine) -> float:
    """Return the payload bytes per second of all expanders' links together, one direction."""
    return machine.num_expanders * payload_rate(machine)


def build(machine: Machine) -> Device:
    """Build the links of all expanders as one; its two directions are separate lanes, and all lie behind one switch."""
    link, count = assumed(machine, "cxl", LINKS[machine.cxl_generation]), machine.num_expanders
    latency = (machine.cxl_latency_ns + machine.cxl_switch_hops * link.hop.value + machine.cxl_retimers * link.retimer.value) * NS
    rate = joint_rate(machine)
    idle = count * link.controller.value + (link.switch.value if machine.cxl_switch_hops else 0.0)

    def energy(nbytes: Any) -> Any:
        return nbytes * 8 * 2 * link.phy.value * 1e-12

    return Device(
        name="cxl",
        title=f"CXL link, {f'{count} x ' if count > 1 else ''}{rate / count / GB:.3g} GB/s",
        helps="a faster CXL link would shorten it",
        seconds={Move: lambda work: some(work.nbytes) * latency + work.nbytes / rate},
        joules={Move: lambda work: energy(work.nbytes)},
        idle_watts=idle,
        full_watts=idle + energy(DIRECTIONS * rate),
        price=count * link.card.value,
        constants=fields_of(link),
    )


DEVICE = Kind(
    "CXL link",
    build,
    lambda: {f"generation {number}": fields_of(link) for number, link in LINKS.items()},
    knobs=(
        "machine.cxl_bandwidth_GBps",
        "machine.cxl_generation",
        "machine.cxl_lanes",
        "machine.cxl_latency_ns",
        "machine.cxl_switch_hops",
        "machine.cxl_retimers",
        "machine.num_expanders",
    ),
)
